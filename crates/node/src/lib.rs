//! What runs on nodes: the agent, and the processes that it starts of its own program. These are
//! hidden commands of `garland`, and all that the smaller program `garland-node` has, which is sent
//! to nodes. Neither option parsers nor anything of the head belong here: every byte travels to
//! every node.
//!
//! # Where to change what
//!
//! - The hidden commands are here; `cli/src/bin/garland-node.rs` is all of the smaller program.

#![forbid(unsafe_code)]

mod agent;
mod arguments;
mod bridge;
mod window;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use garland_core::printable;
use garland_sys::inherited;
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// Runs a hidden command if `words` (the program's name first) begin with one: `agent ARGUMENTS`,
/// `bridge ADDRESS:PORT`, `farm guard` or `farm window DIRECTORY`. Returns `None` for all other
/// words.
pub fn main(words: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let words: Vec<OsString> = words.into_iter().skip(1).collect();
    let done = match words.split_first()? {
        (first, arguments) if first == "agent" => agent::run(arguments),
        (first, [address]) if first == "bridge" => bridge(address),
        (first, [second]) if first == "farm" && second == "guard" => guard(),
        (first, [second, folder]) if first == "farm" && second == "window" => {
            window::serve(Path::new(folder))
        }
        _ => return None,
    };
    Some(match done {
        Ok(exit) => exit.into(),
        Err(failure) => {
            garland_terminal::output::warn(&failure);
            failure.exit().into()
        }
    })
}

/// Passes bytes on between this login and the agent at `address`.
fn bridge(address: &OsStr) -> Result<Exit, Failure> {
    let parsed = address.to_str().and_then(|text| text.parse().ok());
    let shown = printable::path(address);
    bridge::run(parsed.ok_or_else(|| Failure::usage(format!("{shown} is no ADDRESS:PORT")))?)
}

/// Kills the jobs of an agent when standard input ends, from which it learns them.
fn guard() -> Result<Exit, Failure> {
    let words = inherited::input().or_nothing("cannot guard jobs")?;
    // It fails for no open descriptor.
    garland_agent::guard(words, || drop(inherited::close_output()));
    Ok(Exit::Done)
}
