//! `garland farm`: many jobs on many nodes.

mod agents;
mod driver;
mod ledger;
mod list;
mod result;
mod run;
mod settings;
mod stage;
mod task;
mod window;

use crate::args::{Args, Farm, FarmCommand};
use crate::failure::{Exit, Failure};

/// Does what the user wants of a farm.
pub fn run(args: &Args, farm: &Farm) -> Result<Exit, Failure> {
    match &farm.command {
        FarmCommand::Run(asked) => run::run(args, asked),
        FarmCommand::Window { dir } => window::serve(dir),
    }
}
