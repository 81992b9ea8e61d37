//! The subcommands of `garland farm`, and the engines.

mod access;
mod account;
mod agent_log;
mod agents;
mod driver;
mod json_lines;
mod ledger;
mod list;
mod rounds;
mod settings;
mod slurm;
mod task;
mod whole;
mod window;
mod worker;

use garland_fleet::context::Context;
use garland_terminal::failure::{Exit, Failure};

use crate::args::{Farm, FarmCommand};
use crate::compare;

/// Runs a subcommand of `garland farm`.
pub fn run(context: &Context, farm: &Farm) -> Result<Exit, Failure> {
    match &farm.command {
        FarmCommand::Run(asked) => whole::run(context, asked),
        FarmCommand::Work(asked) => worker::run(asked),
        FarmCommand::Compare(asked) => compare::run(context, asked),
    }
}
