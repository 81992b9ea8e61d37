//! `garland cp`: copies files, trees and streams to nodes or from them.

mod arguments;
mod attempt;
mod chain;
mod changes;
pub mod command_line;
pub mod elsewhere;
mod ends;
mod filters;
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
pub mod resume;
mod shape;
pub mod site;
pub mod source;
pub mod spec;
mod task;
mod tell;

use self::spec::CopySpec;
use self::task::Task;
use crate::args::Cp;
use garland_fleet::context::Context;
use garland_terminal::failure::{Exit, Failure};

/// Runs one copy and prints its result. Nodes that fail are part of the result, not errors.
pub fn run(context: &Context, args: &Cp) -> Result<Exit, Failure> {
    let task = Task::new(args)?;
    let spec = CopySpec::parse(args, &task)?;
    let destination = args.destination();
    match &task {
        Task::Join(run) => join::run(context, args, run),
        Task::In { list, path } => gathering::run(context, &spec, list, path, destination),
        Task::Out => out::run(context, &spec, destination),
    }
}
