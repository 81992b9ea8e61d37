//! `garland up`, `down`, `status`: agents that stay.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use garland_core::cluster::{Node, nodelist};
use garland_lab::Lab;
use garland_node::shut_down;
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
}

/// How it is with one node.
#[derive(Clone, PartialEq, Eq)]
enum End {
    /// As was asked for: `up` or `down`.
    Done(&'static str),
    /// There was nothing to do, and why.
    Skipped(&'static str),
    /// Not as was asked for, and why.
    Failed(String),
}

impl End {
    fn verdict(&self) -> &'static str {
        match self {
            Self::Done(verdict) => verdict,
            Self::Skipped(_) => "skipped",
            Self::Failed(_) => "failed",
        }
    }

    fn reason(&self) -> Option<&str> {
        match self {
            Self::Done(_) => None,
            Self::Skipped(reason) => Some(reason),
            Self::Failed(reason) => Some(reason),
        }
    }
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
    let ends = fleet.agents.iter().map(|agent| match agent {
        Ok(_) => End::Done("up"),
        Err(reason) => End::Failed(reason.clone()),
    });
    let shelf = Shelf::open(&places, lab.as_ref().map(Lab::name))?;
    tell(args, &nodes, &ends.collect::<Vec<_>>(), &logs(&nodes, &shelf), started)
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
    let mut ends = vec![End::Skipped("no agent was up"); nodes.len()];
    let mut agents = Vec::new();
    for (record, end) in records.iter().zip(&mut ends) {
        agents.push(match record.as_ref().map(|record| record.connect(&keys)) {
            Some(Ok(agent)) => {
                *end = End::Done("down");
                Ok(agent)
            }
            Some(Err(error)) if !error.is_nobody() => {
                *end = End::Failed(error.to_string());
                Err(error.to_string())
            }
            Some(Err(_)) | None => Err(String::new()),
        });
    }
    for (id, reason) in shut_down(agents).or_nothing("ending the agents")? {
        let end = &mut ends[id.index() - 1];
        if *end == End::Done("down") {
            *end = End::Failed(reason);
        }
    }
    let over = records.iter().zip(&ends).filter(|(_, end)| !matches!(end, End::Failed(_)));
    over.for_each(|(record, _)| record.iter().for_each(|record| record.forget(&shelf)));
    tell(args, &nodes, &ends, &vec![None; nodes.len()], started)
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
    let end = |node: &Node| match Standing::find(&shelf, &node.name) {
        None => End::Failed("no agent stays there".to_owned()),
        Some(record) => match record.connect(&keys) {
            Ok(_) => End::Done("up"),
            Err(error) => End::Failed(error.to_string()),
        },
    };
    let ends: Vec<End> = nodes.iter().map(end).collect();
    let logs = logs(&nodes, &shelf);
    if !args.json {
        let folders = logs.iter().flatten().filter_map(|log| log.parent());
        for folder in folders.collect::<BTreeSet<_>>() {
            println!("logs    in {}", folder.display());
        }
    }
    tell(args, &nodes, &ends, &logs, started)
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
    nodes: &[Node],
    ends: &[End],
    logs: &[Option<PathBuf>],
    started: u64,
) -> Result<Exit, Failure> {
    if args.json {
        let states = nodes.iter().zip(ends).zip(logs);
        let states = states.map(|((node, end), log)| NodeState {
            name: node.name.clone(),
            verdict: end.verdict(),
            reason: end.reason().map(str::to_owned),
            log: log.clone(),
        });
        let elapsed_ns = clock::now_ns() - started;
        let result = UpResult { schema: "garland.up/1", elapsed_ns, nodes: states.collect() };
        println!("{}", serde_json::to_string_pretty(&result).or_nothing("writing the result")?);
    } else {
        let named = || nodes.iter().map(|node| node.name.as_str()).zip(ends);
        let mut fine: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for (name, end) in named().filter(|(_, end)| !matches!(end, End::Failed(_))) {
            let group = (end.verdict(), end.reason().unwrap_or_default());
            fine.entry(group).or_default().push(name);
        }
        for ((verdict, reason), names) in fine {
            let colon = if reason.is_empty() { "" } else { ": " };
            println!("{verdict:<7} {}{colon}{reason}", nodelist::fold(&names));
        }
        fold_reasons(named().filter_map(|(name, end)| match end {
            End::Failed(reason) => Some((name.to_owned(), reason.clone())),
            End::Done(_) | End::Skipped(_) => None,
        }));
    }
    let failed = ends.iter().filter(|end| matches!(end, End::Failed(_))).count();
    Ok(match failed {
        0 => Exit::Done,
        all if all == nodes.len() => Exit::Nothing,
        _ => Exit::SomeFailed,
    })
}
