//! `garland net verify`: is the real network cabled and set up as planned?

mod outcome;
mod pairs;
mod report;
mod rounds;
mod surveying;

use garland_fleet::args::DEFAULT_LAB;
use std::collections::BTreeSet;
use std::sync::Arc;

use garland_control::{Agent, Survey};
use garland_core::cluster::Node;
use garland_lab::Lab;
use garland_sys::process;
use garland_sys::signal::Interrupts;
use garland_topology::Topology;
use garland_topology::verify::judge;

use self::report::{VerifyResult, node_results};
use self::surveying::Surveying;
use crate::args::NetVerify;
use crate::topology;
use garland_fleet::builder::FleetBuilder;
use garland_fleet::context::Context;
use garland_fleet::inventory::{Inventory, LAB_PREFIX};
use garland_fleet::launch::{FAREWELL, lab};
use garland_results::head::{Head, Phases, tell};
use garland_results::places::Places;
use garland_results::run::Run;
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// Compares a network with its plan.
pub fn run(context: &Context, options: &NetVerify) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let topology = topology::load(&options.topology)?;
    let places = Places::open()?;
    let inventory = Inventory::open(context)?;
    let prefix = if is_of_lab(&places, &topology, options)? { LAB_PREFIX } else { "" };
    let nodes = nodes(&inventory, &topology, prefix)?;
    let lab = options.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin(&places, "net-verify")?;
    let quiet = options.quiet || context.json;
    let muster = FleetBuilder {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet,
        out_of_band: true,
        ..FleetBuilder::new(&nodes, &inventory, &places, &options.launch, &run, lab.as_ref())
    };
    phases.end("set-up");
    let fleet = muster.assemble()?;
    phases.end("start");
    let reached = Reached::of(fleet.agents);
    let survey = Survey::new(reached.agents, Some(&interrupts));
    let mut surveying = Surveying::new(&topology, survey, quiet, reached.reasons);
    surveying.all(&mut phases, &reached.addresses).map_err(gave_up)?;
    let (seen, cabling) = surveying.into_seen();
    let findings = judge(&topology, &seen.observed, &cabling);
    fleet.children.end(FAREWELL, |_| false);
    phases.end("teardown");
    let result = VerifyResult {
        head: Head::new("garland.net-verify/2", Some(&run), phases),
        topology: topology.name.clone(),
        evidence: seen.evidence,
        nodes: node_results(&topology, &seen),
        links: report::links(&topology, &seen.observed, &cabling, &findings),
        pairs: seen.observed.bursts.len(),
        all_pairs: topology.nodes.len() * (topology.nodes.len() - 1),
        findings: findings.into_iter().map(Into::into).collect(),
    };
    tell(&run, context.json, &result)?;
    Ok(result.exit())
}

fn gave_up(error: std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::Interrupted {
        return Failure::interrupted("comparing the network with its plan");
    }
    Failure::nothing(format!("asking agents: {}", garland_sys::error::reason(&error)))
}

/// Whether the lab of the name that is asked for was built from this topology.
fn is_of_lab(places: &Places, topology: &Topology, options: &NetVerify) -> Result<bool, Failure> {
    let name = options.launch.lab();
    match Lab::open(&lab::state(places)?, name) {
        Ok(lab) if lab.spec().topology == *topology => Ok(true),
        Ok(_) if name != DEFAULT_LAB => {
            Err(Failure::usage(format!("lab {name} was built from another topology"))
                .hint("name the file that it was built from: garland lab status"))
        }
        Err(error) if name != DEFAULT_LAB => Err(Failure::nothing(error)),
        Ok(_) | Err(_) => Ok(false),
    }
}

/// The topology's nodes as their launcher knows them.
fn nodes(inventory: &Inventory, topology: &Topology, prefix: &str) -> Result<Vec<Node>, Failure> {
    let own = process::host_name();
    let node = |name: &str| {
        if prefix.is_empty() && name == own {
            return Ok(Node::named(name));
        }
        let mut found = inventory.nodes(&format!("{prefix}{name}"))?;
        found.pop().ok_or_else(|| Failure::usage(format!("{name} is no node's name")))
    };
    topology.nodes.iter().map(|known| node(&known.name)).collect()
}

/// The agents, or why there are none.
struct Reached {
    agents: Vec<Option<Agent>>,
    reasons: Vec<Option<String>>,
    /// Where agents take orders: a node's place, and an address there.
    addresses: BTreeSet<(usize, std::net::IpAddr)>,
}

impl Reached {
    fn of(all: Vec<Result<Agent, String>>) -> Self {
        let (mut agents, mut reasons) = (Vec::new(), Vec::new());
        let mut addresses = BTreeSet::new();
        for (place, agent) in all.into_iter().enumerate() {
            let known = agent.iter().flat_map(|agent| &agent.addresses);
            addresses.extend(known.map(|address| (place, address.ip())));
            reasons.push(agent.as_ref().err().cloned());
            agents.push(agent.ok());
        }
        Self { agents, reasons, addresses }
    }
}
