//! `garland cp`: copies files, trees and streams to nodes or from them.

mod attempt;
mod chain;
mod changes;
pub mod command_line;
pub mod elsewhere;
mod ends;
mod gathering;
mod handling;
mod incremental;
mod injections;
mod join;
pub mod limit;
mod lists;
pub mod objects;
mod options;
pub mod out;
pub mod overtime;
mod planning;
mod progress;
mod progress_lines;
pub mod request;
mod shape;
pub mod site;
pub mod source;
mod task;
mod tell;

use self::request::CopyRequest;
use self::task::Task;
use crate::args::Cp;
use garland_fleet::context::Context;
use garland_terminal::failure::{Exit, Failure};

/// Runs one copy and prints its result. Nodes that fail are part of the result, not errors.
pub fn run(context: &Context, args: &Cp) -> Result<Exit, Failure> {
    let request = CopyRequest::try_from(args)?;
    match &request.task {
        Task::Join(run) => join::run(context, args, run),
        Task::In { list, path } => gathering::run(context, &request, list, path),
        Task::Out => out::run(context, &request),
    }
}
