//! What every engine does: takes jobs, and tells what became of each.

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

/// A run, as every engine sees it.
pub struct Work<'a> {
    /// The command line.
    pub context: &'a Context,
    /// What of it is for runs.
    pub asked: &'a FarmRun,
    /// What the run is.
    pub settings: &'a Settings,
    /// Its folder.
    pub run: &'a Run,
    /// Where state is kept.
    pub places: &'a Places,
    /// What exists.
    pub inventory: &'a Inventory,
    /// What tells that the user gave up.
    pub interrupts: &'a Arc<Interrupts>,
    /// When the run began, by the monotonic clock; what came before a resumption is counted in.
    pub began_ns: u64,
}

/// A node, after a run.
#[derive(Clone, Debug)]
pub struct NodeWas {
    /// Its name.
    pub name: String,
    /// Processors that jobs could have.
    pub cores: Option<u32>,
    /// Memory in bytes.
    pub memory: Option<u64>,
    /// The processors' clock.
    pub mhz: Option<f64>,
    /// The share of a processor that each job can have; 1 where nothing is known.
    pub share: f64,
    /// Why it took no jobs any more.
    pub gone: Option<String>,
}

/// How an engine has ended.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// The nodes that it knew.
    pub nodes: Vec<NodeWas>,
    /// Whether the user ended it.
    pub interrupted: bool,
}

/// An engine. One of another kind, such as HyperQueue, is another type with this trait.
pub trait Driver {
    /// Runs the jobs, and notes what becomes of each as it happens.
    ///
    /// # Errors
    /// When no job can be run at all: the engine isn't installed, no node can be had.
    fn run(&self, work: &Work<'_>, jobs: Vec<Job>, ledger: &mut Ledger) -> Result<Ending, Failure>;
}
