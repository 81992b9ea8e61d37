//! Starts this program as the keeper, warden or probe of a lab.

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The subcommand of the keeper.
pub(crate) const KEEPER: &str = "lab-keeper";
/// The subcommand of the warden.
pub(crate) const WARDEN: &str = "lab-warden";
/// The subcommand of the probe.
pub(crate) const PROBE: &str = "lab-probe";

/// Returns a command that runs this program with the hidden subcommand `part` for the lab `name`.
/// It executes `/proc/self/exe`, so that both processes are the same version even if the program on
/// disk was updated.
pub(crate) fn command(part: &str, name: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("garland").args([part, name]);
    command
}

/// Writes a value as a line of JSON.
pub(crate) fn write_line(output: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Reads a value from a line of JSON.
pub(crate) fn read_line<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<T> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Err(io::Error::other("the other process ended without an error message"));
    }
    Ok(serde_json::from_str(&line)?)
}
