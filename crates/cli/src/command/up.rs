//! `garland up`, `down`, `status`: agents that stay.

use std::collections::BTreeSet;
use std::path::PathBuf;

use garland_core::cluster::{Node, nodelist};
use garland_lab::Lab;
use garland_node::{count_links, shut_down, stand_chain};
use garland_sys::clock;
use serde::Serialize;

use super::fold_reasons;
use crate::args::{Args, Nodes, Status, Up};
use crate::failure::{Exit, Failure, OrFailure};
use crate::fleet::Muster;
use crate::launch::lab;
use crate::nodes::Inventory;
use crate::places::Places;
use crate::run::Run;
use crate::standing::{Shelf, Standing};

/// The result object `garland.up/1`.
#[derive(Serialize)]
struct UpResult {
    schema: &'static str,
    elapsed_ns: u64,
    nodes: Vec<NodeState>,
}

#[derive(Serialize)]
struct NodeState {
    name: String,
    verdict: &'static str,
    reason: Option<String>,
    /// Where its agent writes what no head is there to hear, a file on the node's host.
    log: Option<PathBuf>,
    /// Connections that it keeps to nodes behind it, for copies to come.
    links: Option<u32>,
    /// Nodes behind it that it can't reach, and why.
    unlinked: Vec<String>,
}

/// What is known of a node's agent.
#[derive(Default)]
struct Known {
    reason: Option<String>,
    log: Option<PathBuf>,
    links: Option<u32>,
    unlinked: Vec<String>,
}

/// Starts agents that stay.
pub fn up(args: &Args, up: &Up) -> Result<Exit, Failure> {
    let started = clock::now_ns();
    let inventory = Inventory::open(args)?;
    let nodes = inventory.nodes(&up.nodes)?;
    let places = Places::open()?;
    let lab = lab::enter(&nodes, &places, &up.launch.lab)?;
    let run = Run::begin(&places, "up")?;
    let muster = Muster {
        nodes: &nodes,
        cluster: inventory.cluster(),
        places: &places,
        launch: &up.launch,
        logs: run.folder().to_owned(),
        lab: lab.as_ref(),
        stay: Some(up.idle),
    };
    let fleet = muster.assemble()?;
    let shelf = Shelf::open(&places, lab.as_ref().map(Lab::name))?;
    let mut known: Vec<Known> = Vec::new();
    for (agent, log) in fleet.agents.iter().zip(logs(&nodes, &shelf)) {
        known.push(Known { reason: agent.as_ref().err().cloned(), log, ..Known::default() });
    }
    // The chain in the nodes' order is what the next copy takes, unless it asks for another.
    let agents = fleet.agents.into_iter().map(Result::ok).collect();
    let links = stand_chain(agents).or_nothing("linking the nodes")?;
    for (known, links) in known.iter_mut().zip(links) {
        known.links = Some(links.count).filter(|_| known.reason.is_none());
        known.unlinked = links.failed;
    }
    tell(args, "up", &nodes, known, started)
}

/// Ends agents that stay.
pub fn down(args: &Args, down: &Nodes) -> Result<Exit, Failure> {
    let started = clock::now_ns();
    let inventory = Inventory::open(args)?;
    let nodes = inventory.nodes(&down.nodes)?;
    let places = Places::open()?;
    let lab = lab::enter(&nodes, &places, &down.lab)?;
    let shelf = Shelf::open(&places, lab.as_ref().map(Lab::name))?;
    let keys = places.controller_keys()?;
    let records: Vec<Option<Standing>> =
        nodes.iter().map(|node| Standing::find(&shelf, &node.name)).collect();
    let agents = records.iter().map(|record| match record {
        Some(record) => record.connect(&keys),
        None => Err(String::new()),
    });
    let failed = shut_down(agents.collect()).or_nothing("ending the agents")?;
    let mut reasons: Vec<Option<String>> = vec![None; nodes.len()];
    for (id, reason) in failed {
        // No record, or nobody there: the agent is down, which is what was asked for.
        let there = records[id.index() - 1].as_ref().is_some_and(|r| r.connect(&keys).is_ok());
        reasons[id.index() - 1] = Some(reason).filter(|_| there);
    }
    let ended = records.iter().zip(&reasons).filter(|(_, reason)| reason.is_none());
    ended.for_each(|(record, _)| record.iter().for_each(|record| record.forget(&shelf)));
    let known = reasons.into_iter().map(|reason| Known { reason, ..Known::default() });
    tell(args, "down", &nodes, known.collect(), started)
}

/// Shows agents that stay.
pub fn status(args: &Args, status: &Status) -> Result<Exit, Failure> {
    let started = clock::now_ns();
    let places = Places::open()?;
    let keys = places.controller_keys()?;
    let nodes = match &status.nodes {
        Some(list) => Inventory::open(args)?.nodes(list)?,
        None => standing_nodes(&places, &status.lab)?,
    };
    let lab = lab::enter(&nodes, &places, &status.lab)?;
    let shelf = Shelf::open(&places, lab.as_ref().map(Lab::name))?;
    if nodes.is_empty() && !args.json {
        println!("no agents stay; start some: garland up NODES");
        return Ok(Exit::Done);
    }
    let mut agents = Vec::new();
    let mut known: Vec<Known> = Vec::new();
    for (node, log) in nodes.iter().zip(logs(&nodes, &shelf)) {
        let found = Standing::find(&shelf, &node.name);
        let agent = found.ok_or_else(|| "no agent stays there".to_owned());
        let agent = agent.and_then(|record| record.connect(&keys));
        known.push(Known { reason: agent.as_ref().err().cloned(), log, ..Known::default() });
        agents.push(agent.ok());
    }
    let links = count_links(agents).or_nothing("asking the agents")?;
    known.iter_mut().zip(links).for_each(|(known, links)| known.links = links);
    if !args.json {
        let folders = known.iter().filter_map(|known| known.log.as_ref()?.parent());
        for folder in folders.collect::<BTreeSet<_>>() {
            println!("logs    in {}", folder.display());
        }
    }
    tell(args, "up", &nodes, known, started)
}

/// The real nodes with an agent that stays; a lab's where there are none.
fn standing_nodes(places: &Places, lab: &str) -> Result<Vec<Node>, Failure> {
    let named = |shelf: &Shelf| -> Vec<Node> {
        Standing::all(shelf).iter().map(|record| Node::named(&record.name)).collect()
    };
    let real = named(&Shelf::open(places, None)?);
    if !real.is_empty() || !lab::runs(places, lab) {
        return Ok(real);
    }
    Ok(named(&Shelf::open(places, Some(lab))?))
}

/// The agents' logs, in the nodes' order.
fn logs(nodes: &[Node], shelf: &Shelf) -> Vec<Option<PathBuf>> {
    nodes.iter().map(|node| Standing::find(shelf, &node.name)?.log).collect()
}

fn tell(
    args: &Args,
    done: &'static str,
    nodes: &[Node],
    known: Vec<Known>,
    started: u64,
) -> Result<Exit, Failure> {
    let failed = known.iter().filter(|known| known.reason.is_some()).count();
    let state = |(node, known): (&Node, Known)| NodeState {
        name: node.name.clone(),
        verdict: if known.reason.is_none() { done } else { "failed" },
        reason: known.reason,
        log: known.log,
        links: known.links,
        unlinked: known.unlinked,
    };
    if args.json {
        let nodes = nodes.iter().zip(known).map(state).collect();
        let elapsed_ns = clock::now_ns() - started;
        let result = UpResult { schema: "garland.up/1", elapsed_ns, nodes };
        println!("{}", serde_json::to_string_pretty(&result).or_nothing("writing the result")?);
    } else {
        let fine = nodes.iter().zip(&known).filter(|(_, known)| known.reason.is_none());
        let names: Vec<&str> = fine.map(|(node, _)| node.name.as_str()).collect();
        if !names.is_empty() {
            println!("{done:<7} {}", nodelist::fold(&names));
        }
        let links: u32 = known.iter().filter_map(|known| known.links).sum();
        if links > 0 {
            println!("links   {links} between neighbours");
        }
        for (node, known) in nodes.iter().zip(&known) {
            known.unlinked.iter().for_each(|why| eprintln!("no link from {}: {why}", node.name));
        }
        let pairs = nodes.iter().zip(known);
        let reason = |(node, known): (&Node, Known)| Some((node.name.clone(), known.reason?));
        fold_reasons(pairs.filter_map(reason));
    }
    Ok(match failed {
        0 => Exit::Done,
        all if all == nodes.len() => Exit::Nothing,
        _ => Exit::SomeFailed,
    })
}
