//! The hidden subcommands of the keeper, warden and probe processes. Keeper and probe must be started by
//! an exec, since they need a single-threaded process.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use crate::role::{KEEPER, PROBE, WARDEN};
use crate::{keeper, probe, takedown};

/// Runs the keeper, the warden or the probe if `arguments` (with the program's name first) are those of
/// one; returns `None` otherwise. A program that uses labs calls this first in its `main`, before it
/// makes a thread.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let part = arguments.into_iter().nth(1)?;
    if part == OsStr::new(KEEPER) {
        Some(keeper::main())
    } else if part == OsStr::new(WARDEN) {
        Some(takedown::main())
    } else if part == OsStr::new(PROBE) {
        Some(probe::main())
    } else {
        None
    }
}
