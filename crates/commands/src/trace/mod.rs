//! `garland trace`: exports what a copy recorded.

mod clocks;
mod export;
mod path;
mod result;
mod target;
mod timeline;

use garland_fleet::context::Context;
use garland_terminal::failure::{Exit, Failure};

pub use target::Target;
pub use timeline::timeline;

use crate::args::TraceCommand;

/// Runs a `garland trace` command.
pub fn run(context: &Context, command: &TraceCommand) -> Result<Exit, Failure> {
    match command {
        TraceCommand::Export(export) => export::run(context, export),
    }
}
