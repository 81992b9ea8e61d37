//! The interface of engines: they take jobs, and note what becomes of each.

use std::sync::Arc;

use garland_core::farm::Job;
use garland_sys::signal::Interrupts;

use super::ledger::Ledger;
use super::settings::Settings;
use crate::args::FarmRun;
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_results::places::Places;
use garland_results::run::Run;
use garland_terminal::failure::Failure;

/// The run, for an engine.
pub struct Work<'a> {
    /// The options of all commands.
    pub context: &'a Context,
    /// The options of `garland farm run`.
    pub asked: &'a FarmRun,
    /// The settings of the run, which a resumption reads back.
    pub settings: &'a Settings,
    /// The run's directory.
    pub run: &'a Run,
    /// The state directory.
    pub places: &'a Places,
    /// The known nodes.
    pub inventory: &'a Inventory,
    /// Requests to end.
    pub interrupts: &'a Arc<Interrupts>,
    /// Start of the run in nanoseconds of the monotonic clock; earlier parts of a resumed run count in.
    pub began_ns: u64,
}

/// A node after the run.
#[derive(Clone, Debug)]
pub struct NodeWas {
    /// The node's name.
    pub name: String,
    /// Processors for jobs, if known.
    pub cores: Option<u32>,
    /// Memory in bytes, if known.
    pub memory: Option<u64>,
    /// Processor clock in MHz, if known.
    pub mhz: Option<f64>,
    /// The share of a processor that each slot has; 1 if unknown.
    pub share: f64,
    /// Why the node was lost, if it was.
    pub gone: Option<String>,
}

/// What an engine reports at its end.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// The nodes that the engine knew.
    pub nodes: Vec<NodeWas>,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
}

/// An engine.
pub trait Driver {
    /// Runs the jobs, and notes what becomes of each as it happens.
    ///
    /// # Errors
    /// If no job can be run at all: the engine is not installed, or no node can be reached.
    fn run(&self, work: &Work<'_>, jobs: Vec<Job>, ledger: &mut Ledger) -> Result<Ending, Failure>;
}
