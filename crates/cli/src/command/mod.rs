//! The commands, one file each.

mod agent;
mod copy_result;
mod cp;
mod shell;

use crate::args::{Args, Command};
use crate::failure::{Exit, Failure};

/// Does what the user asked for.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        Command::Cp(cp) => cp::run(args, cp),
        Command::Agent(agent) => agent::run(agent),
        Command::Completions { shell } => shell::completions(*shell),
        Command::Man => shell::manual(),
        _ => Err(Failure::usage("not built yet")),
    }
}
