//! The interface of engines, which run jobs and record how each ends.

use std::sync::Arc;

use garland_core::farm::Job;
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::Failure;

use super::ledger::Ledger;
use super::settings::Settings;
use crate::args::FarmRun;
use crate::result::NodeAccount;

/// The parameters of a run, for its engine.
pub struct Work<'a> {
    /// The options of all commands.
    pub context: &'a Context,
    /// The options of `garland farm run`.
    pub asked: &'a FarmRun,
    /// The settings of the run, which are stored so that the run can be resumed.
    pub settings: &'a Settings,
    /// The run's directory.
    pub run: &'a Run,
    /// The state directory.
    pub places: &'a Places,
    /// Resolves node lists.
    pub inventory: &'a Inventory,
    /// The user's interrupts, which the engine polls.
    pub interrupts: &'a Arc<Interrupts>,
    /// The start of the run in monotonic nanoseconds; for a resumed run, the time of resumption
    /// minus the time that the run had taken before.
    pub began_ns: u64,
    /// Whether the output of jobs is printed.
    pub prints_output: bool,
}

/// The result of an engine's run.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// The nodes of the run, as far as the engine knows them.
    pub nodes: Vec<NodeAccount>,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
}

/// An engine, which runs jobs.
pub trait Driver {
    /// Runs the jobs, and records the end of each in `ledger`.
    ///
    /// # Errors
    /// When no job can run: the engine is not installed, or no node can be reached.
    fn run(&self, work: &Work<'_>, jobs: Vec<Job>, ledger: &mut Ledger) -> Result<Ending, Failure>;
}
