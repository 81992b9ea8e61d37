//! How every command that measures begins: its run, its lab if it has one, and an agent on each node.

use std::net::SocketAddr;
use std::sync::Arc;

use garland_control::Agent;
use garland_core::cluster::Node;
use garland_lab::Lab;
use garland_sys::signal::Interrupts;

use garland_fleet::args::Launch;
use garland_fleet::builder::{Fleet, FleetBuilder};
use garland_fleet::inventory::{Inventory, LAB_PREFIX};
use garland_results::head::Phases;
use garland_results::places::Places;
use garland_results::run::Run;
use garland_terminal::failure::{Failure, OrFailure};

/// What a command measures with.
pub struct Gathered {
    /// How long its parts take; the first one, `set-up`, is over.
    pub phases: Phases,
    /// What tells that the user gave up.
    pub interrupts: Arc<Interrupts>,
    /// The lab that the nodes belong to, which this process is in now.
    pub lab: Option<Lab>,
    /// Where the result goes.
    pub run: Run,
    /// The agents.
    pub fleet: Fleet,
}

/// How the agents of a lab get their orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    /// Over its wires, as on a real network: little is said while these are measured.
    OverWires,
    /// Beside them: they are slow enough for orders to be seen on them. What agents have for each
    /// other goes over the wires all the same.
    BesideWires,
}

/// Starts what `command` measures `nodes` with; nothing is said on the terminal if it is `quiet`.
pub fn gather(
    command: &str,
    nodes: &[Node],
    inventory: &Inventory,
    launch: &Launch,
    quiet: bool,
    talk: Talk,
    mut phases: Phases,
) -> Result<Gathered, Failure> {
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let places = Places::open()?;
    let lab = launch.enter_lab(nodes, &places)?;
    let beside = lab.as_ref().filter(|_| talk == Talk::BesideWires);
    let run = Run::begin(&places, command)?;
    let muster = FleetBuilder {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet,
        out_of_band: beside.is_some(),
        ..FleetBuilder::new(nodes, inventory, &places, launch, &run, lab.as_ref())
    };
    let mut fleet = muster.assemble()?;
    if let Some(lab) = beside {
        let agents = fleet.agents.into_iter().zip(nodes);
        fleet.agents = agents.map(|(agent, node)| on_wires(agent?, lab, node)).collect();
    }
    phases.end("set-up");
    Ok(Gathered { phases, interrupts, lab, run, fleet })
}

/// An agent that is spoken to beside a lab's wires is reached by its neighbours over them.
fn on_wires(agent: Agent, lab: &Lab, node: &Node) -> Result<Agent, String> {
    let Some(first) = agent.addresses.first() else { return Ok(agent) };
    let name = node.name.strip_prefix(LAB_PREFIX).unwrap_or(&node.name);
    let rails = lab.rails(name).map_err(|error| error.to_string())?;
    let port = first.port();
    let addresses = rails.into_iter().map(|rail| SocketAddr::new(rail.into(), port)).collect();
    Ok(Agent { addresses, ..agent })
}
