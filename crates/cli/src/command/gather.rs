//! How every command that measures begins: its run, its lab if it has one, and an agent on each node.

use std::sync::Arc;

use garland_core::cluster::Node;
use garland_lab::Lab;
use garland_sys::signal::Interrupts;

use crate::args::Launch;
use crate::failure::{Failure, OrFailure};
use crate::fleet::{Fleet, Muster};
use crate::nodes::Inventory;
use crate::places::Places;
use crate::result::Phases;
use crate::run::Run;

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

/// Starts what `command` measures `nodes` with; nothing is said on the terminal if it is `quiet`.
pub fn gather(
    command: &str,
    nodes: &[Node],
    inventory: &Inventory,
    launch: &Launch,
    quiet: bool,
    mut phases: Phases,
) -> Result<Gathered, Failure> {
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let places = Places::open()?;
    let lab = launch.enter_lab(nodes, &places)?;
    let run = Run::begin(&places, command)?;
    let muster = Muster {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet,
        ..Muster::new(nodes, inventory, &places, launch, &run, lab.as_ref())
    };
    let fleet = muster.assemble()?;
    phases.end("set-up");
    Ok(Gathered { phases, interrupts, lab, run, fleet })
}
