//! The hidden subcommands through which the running binary starts itself again as a lab's keeper,
//! warden or probe. Keeper and probe must begin life single-threaded, which only an exec grants.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use crate::{keeper, probe, warden};

pub(crate) const KEEPER: &str = "lab-keeper";
pub(crate) const WARDEN: &str = "lab-warden";
pub(crate) const PROBE: &str = "lab-probe";

/// The first thing in `main` of a program that uses labs, before it makes a thread: plays the part
/// of keeper, warden or probe when the arguments (the program's name first) say so, and gives `None` for
/// every other command.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let part = arguments.into_iter().nth(1)?;
    if part == OsStr::new(KEEPER) {
        Some(keeper::main())
    } else if part == OsStr::new(WARDEN) {
        Some(warden::main())
    } else if part == OsStr::new(PROBE) {
        Some(probe::main())
    } else {
        None
    }
}

/// A command that starts this program in one of its hidden parts for the lab `name`. It goes by
/// `/proc/self/exe`, so that an update of the file on disk can't mix two versions.
pub(crate) fn command(part: &str, name: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("garland").args([part, name]);
    command
}
