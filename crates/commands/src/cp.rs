//! `garland cp`: copies files, trees and streams to nodes or from them.

mod arguments;
mod failed_list;
mod filters;
mod from_nodes;
mod join;
mod objects;
mod on_nodes;
mod options;
mod out;
mod refusal;
pub mod resume;
mod sources;
pub mod spooled;
mod task;

use garland_fleet::context::Context;
use garland_state::failed_copy::FailedCopy;
use garland_state::places::Places;
use garland_terminal::failure::{Exit, Failure};

pub use self::options::Cp;
use self::task::Task;

/// Runs one copy and prints its result. Nodes that fail are part of the result, not errors.
pub fn run(context: &Context, args: &Cp) -> Result<Exit, Failure> {
    let task = Task::new(args)?;
    let spec = arguments::parse(args, &task)?;
    let destination = args.destination();
    let copied = match &task {
        Task::Join(run) => return join::run(context, args, run),
        Task::In(sources) => from_nodes::run(context, &spec, sources, destination),
        Task::Out => out::run(context, &spec, destination),
    };
    if let Err(failure) = &copied
        && !spec.run.is_dry
    {
        let failed = FailedCopy { error: failure.message().to_owned() };
        // The error itself is what the user must see.
        let _ = Places::open().and_then(|places| failed.keep(&places));
    }
    copied
}
