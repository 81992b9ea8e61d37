//! `garland net verify`: compares the cabling and configuration of a real network with its plan.

mod outcome;
mod pairs;
mod report;
mod rounds;
mod surveying;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use garland_control::{Agent, Survey};
use garland_core::cluster::Node;
use garland_fleet::args::DEFAULT_LAB;
use garland_fleet::builder::FleetBuilder;
use garland_fleet::context::Context;
use garland_fleet::inventory::{Inventory, LAB_PREFIX};
use garland_fleet::launch::{END_TIMEOUT, lab};
use garland_lab::Lab;
use garland_results::head::{Head, Phases, tell};
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::process;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_topology::verify::judge;
use garland_topology::{Topology, scenarios};

use self::report::{VerifyResult, node_results};
use self::surveying::Surveying;
use crate::args::NetVerify;

/// Runs `garland net verify`.
pub fn run(context: &Context, options: &NetVerify) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("cannot catch Ctrl-C")?);
    let topology = scenarios::load(&options.topology)?;
    let places = Places::open()?;
    let inventory = Inventory::open(context)?;
    let prefix = if is_of_lab(&places, &topology, options)? { LAB_PREFIX } else { "" };
    let nodes = find_nodes(&inventory, &topology, prefix)?;
    let lab = options.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin(&places, "net-verify")?;
    let quiet = options.quiet || context.json;
    let builder = FleetBuilder {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet,
        out_of_band: true,
        ..FleetBuilder::new(&nodes, &inventory, &places, &options.launch, &run, lab.as_ref())
    };
    phases.end("set-up");
    let fleet = builder.assemble()?;
    phases.end("start");
    let reasons = fleet.agents.iter().map(|agent| agent.as_ref().err().cloned()).collect();
    let known = fleet.agents.iter().enumerate();
    let known = known.filter_map(|(node, agent)| Some((node, agent.as_ref().ok()?)));
    let address = |(node, agent): (usize, &Agent)| {
        agent.addresses.iter().map(move |address| (node, address.ip())).collect::<Vec<_>>()
    };
    let addresses: BTreeSet<(usize, IpAddr)> = known.flat_map(address).collect();
    let survey = Survey::new(fleet.agents, Some(&interrupts));
    let mut surveying = Surveying::new(&topology, survey, quiet, reasons);
    surveying.all(&mut phases, &addresses).map_err(gave_up)?;
    let (seen, cabling) = surveying.into_seen();
    let findings = judge(&topology, &seen.observed, &cabling);
    fleet.children.end(END_TIMEOUT, |_| false);
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
    Failure::nothing(format!("cannot query the agents: {}", garland_sys::error::reason(&error)))
}

/// Whether the lab of `--lab`, or the default lab, was built from this topology.
///
/// # Errors
/// If a lab other than the default one is named, and cannot be opened or was built from another
/// topology.
fn is_of_lab(places: &Places, topology: &Topology, options: &NetVerify) -> Result<bool, Failure> {
    let name = options.launch.lab();
    match Lab::open(&lab::state(places)?, name) {
        Ok(lab) if lab.spec().topology == *topology => Ok(true),
        Ok(_) if name != DEFAULT_LAB => {
            Err(Failure::usage(format!("lab {name} was built from another topology"))
                .hint("give the file that it was built from; see `garland lab status`"))
        }
        Err(error) if name != DEFAULT_LAB => Err(Failure::nothing(error)),
        Ok(_) | Err(_) => Ok(false),
    }
}

/// Returns the topology's nodes, under the names by which the launcher reaches them. `prefix` is
/// that of the lab; empty for real nodes.
fn find_nodes(
    inventory: &Inventory,
    topology: &Topology,
    prefix: &str,
) -> Result<Vec<Node>, Failure> {
    let own = process::host_name();
    let node = |name: &str| {
        if prefix.is_empty() && name == own {
            return Ok(Node::named(name));
        }
        let mut found = inventory.nodes(&format!("{prefix}{name}"))?;
        found.pop().ok_or_else(|| Failure::usage(format!("{name} is not the name of a node")))
    };
    topology.nodes.iter().map(|known| node(&known.name)).collect()
}
