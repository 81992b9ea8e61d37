//! Sets up a measurement: its run, its lab if it has one, and an agent on each node.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use garland_control::{Agent, link_neighbours};
use garland_core::cluster::{Node, nodelist};
use garland_core::unreached::UnreachedHops;
use garland_fleet::args::Launch;
use garland_fleet::builder::{Children, Fleet, FleetBuilder};
use garland_fleet::inventory::{Inventory, LAB_PREFIX, is_local};
use garland_fleet::launch::{END_TIMEOUT, INTERRUPTED_END_TIMEOUT};
use garland_lab::Lab;
use garland_protocol::measure::DiskPlace;
use garland_results::head::Phases;
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

/// The agents of a measurement, with the run and the lab it takes place in.
pub struct Gathered {
    /// The phases of the run; the first one, `set-up`, has ended.
    pub phases: Phases,
    /// The signals by which the user interrupts the command.
    pub interrupts: Arc<Interrupts>,
    /// The lab of the nodes, whose network namespace this process has joined; none without a lab.
    pub lab: Option<Lab>,
    /// The run whose directory the result is stored in.
    pub run: Run,
    /// The agents of the nodes.
    pub fleet: Fleet,
}

/// The path of control messages to agents in a lab. It has no effect for nodes outside of labs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    /// Over the lab's wires, as on a real network. Few messages are sent while wires are measured.
    OverWires,
    /// Bypassing the lab's wires: on slow wires, control messages would distort the measurement.
    /// Data between agents still goes over the wires.
    BesideWires,
}

/// Starts an agent on each of `nodes` for `command`. With `quiet`, prints nothing to the terminal.
pub fn gather(
    command: &str,
    nodes: &[Node],
    inventory: &Inventory,
    launch: &Launch,
    quiet: bool,
    talk: Talk,
    mut phases: Phases,
) -> Result<Gathered, Failure> {
    let interrupts =
        Arc::new(Interrupts::catch().or_nothing("cannot install a handler for Ctrl-C")?);
    let places = Places::open()?;
    let lab = launch.enter_lab(nodes, &places)?;
    let beside = lab.as_ref().filter(|_| talk == Talk::BesideWires);
    let run = Run::begin(&places, command)?;
    let builder = FleetBuilder {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet,
        out_of_band: beside.is_some(),
        ..FleetBuilder::new(nodes, inventory, &places, launch, &run, lab.as_ref())
    };
    let mut fleet = builder.assemble()?;
    if let Some(lab) = beside {
        let agents = fleet.agents.into_iter().zip(nodes);
        fleet.agents = agents.map(|(agent, node)| on_wires(agent?, lab, node)).collect();
    }
    phases.end("set-up");
    Ok(Gathered { phases, interrupts, lab, run, fleet })
}

impl Gathered {
    /// Refuses to measure wires between `nodes` if none of them reaches the next one: each pair
    /// would be waited for in vain. Only nodes that are reached through ssh are asked.
    ///
    /// # Errors
    /// When no node reaches the next one, or this machine cannot wait for the agents.
    pub fn ensure_links(&mut self, nodes: &[Node]) -> Result<(), Failure> {
        if !self.fleet.agents.iter().flatten().any(Agent::is_behind_login) {
            return Ok(());
        }
        let agents = std::mem::take(&mut self.fleet.agents);
        let mut hops = UnreachedHops::default();
        let linked = link_neighbours(agents, &mut hops, Some(&self.interrupts))
            .or_nothing("cannot ask which nodes reach each other")?;
        self.fleet.agents = linked.agents;
        let present = self.fleet.agents.iter().flatten().count();
        let unreached = linked.unreached.iter().filter(|is_unreached| **is_unreached).count();
        if present < 2 || unreached + 1 < present {
            return Ok(());
        }
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        Err(Failure::nothing(format!(
            "cannot measure: no node of {} reaches the next one at its agent's port (a firewall?)",
            nodelist::fold(&names)
        ))
        .hint("open a TCP port on the nodes, and name it with --port"))
    }
}

/// Ends all agents and waits until they exit, for a shorter time if the user interrupted. Then ends
/// the phase `teardown`.
pub fn end_agents(children: Children, interrupted: bool, phases: &mut Phases) {
    children.end(if interrupted { INTERRUPTED_END_TIMEOUT } else { END_TIMEOUT }, |_| false);
    phases.end("teardown");
}

/// The fraction of CPU time above which the machine that emulates nodes may itself limit rates.
const BUSY: f64 = 0.9;

/// Returns a warning if the nodes are emulated and the CPUs of this machine may have been the
/// bottleneck. `cpu` is the fraction of CPU time that was used, and `remedy` the advice to give.
pub fn emulator<'a>(
    mut names: impl Iterator<Item = &'a str>,
    cpu: f64,
    remedy: &str,
) -> Option<String> {
    let is_emulated = names.any(|name| name.starts_with(LAB_PREFIX) || is_local(name));
    (is_emulated && cpu > BUSY).then(|| {
        let percent = cpu * 100.0;
        format!(
            "this machine's CPUs were busy for {percent:.0} % of the time, so the emulator may be the \
             bottleneck: {remedy}"
        )
    })
}

/// Returns the disks that several nodes share: for each, the device and the folded names of these
/// nodes.
pub fn shared_disks<'a>(
    places: impl Iterator<Item = (&'a str, Option<&'a DiskPlace>)>,
) -> Vec<(&'a str, String)> {
    let mut groups: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (name, place) in places {
        if let Some(place) = place.filter(|place| !place.device.is_empty()) {
            groups.entry((&place.machine, &place.device)).or_default().push(name);
        }
    }
    let shared = groups.into_iter().filter(|(_, names)| names.len() > 1);
    shared.map(|((_, device), names)| (device, nodelist::fold(&names))).collect()
}

/// Replaces the addresses of an agent, which bypass the lab's wires, with those at which other
/// nodes reach the agent over the wires.
fn on_wires(agent: Agent, lab: &Lab, node: &Node) -> Result<Agent, String> {
    let Some(first) = agent.addresses.first() else { return Ok(agent) };
    let name = node.name.strip_prefix(LAB_PREFIX).unwrap_or(&node.name);
    let rails = lab.rails(name).map_err(|error| error.to_string())?;
    let port = first.port();
    let addresses = rails.into_iter().map(|rail| SocketAddr::new(rail.into(), port)).collect();
    Ok(Agent { addresses, ..agent })
}
