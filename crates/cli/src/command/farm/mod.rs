//! `garland farm`: many jobs on many nodes.

mod access;
mod account;
mod agent_log;
mod agents;
mod driver;
mod ledger;
mod list;
mod parallel;
mod rounds;
mod run;
mod settings;
mod slurm;
mod stage;
mod task;
mod window;
mod worker;

use super::farm_compare;
use crate::args::{Args, Farm, FarmCommand};
use crate::failure::{Exit, Failure};

/// Does what the user wants of a farm.
pub fn run(args: &Args, farm: &Farm) -> Result<Exit, Failure> {
    match &farm.command {
        FarmCommand::Run(asked) => run::run(args, asked),
        FarmCommand::Guard { mark } => {
            garland_agent::guard(std::io::stdin(), mark);
            Ok(Exit::Done)
        }
        FarmCommand::Work(asked) => worker::run(asked),
        FarmCommand::Compare(asked) => farm_compare::run(args, asked),
        FarmCommand::Window { dir } => window::serve(dir),
    }
}
