//! Starts this program as the keeper, warden or probe of a lab.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// The subcommand of the keeper.
pub(crate) const KEEPER: &str = "lab-keeper";
/// The subcommand of the warden.
pub(crate) const WARDEN: &str = "lab-warden";
/// The subcommand of the probe.
pub(crate) const PROBE: &str = "lab-probe";

/// Returns a command that runs this program with the hidden subcommand `part` for the lab `name`.
/// It executes `/proc/self/exe`, so that an update of the program on disk cannot mix two versions.
pub(crate) fn command(part: &str, name: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("garland").args([part, name]);
    command
}
