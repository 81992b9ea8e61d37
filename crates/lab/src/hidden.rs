//! The hidden subcommands that run the keeper, warden and probe processes. Keeper and probe need a
//! single-threaded process, so this program executes itself again.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::role::{KEEPER, PROBE, WARDEN};
use crate::{keeper, probe, takedown};

/// Runs the keeper, the warden or the probe if `arguments` (the program's name first) select one of
/// them; returns `None` otherwise. A program that uses labs must call this first in its `main`,
/// before it starts a thread.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    match arguments.into_iter().nth(1)?.to_str()? {
        KEEPER => Some(keeper::main()),
        WARDEN => Some(takedown::main()),
        PROBE => Some(probe::main()),
        _ => None,
    }
}
