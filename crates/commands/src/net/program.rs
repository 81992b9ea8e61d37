//! Programs of the system that change its network.

use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;

use garland_sys::signal::release_in;
use serde::{Deserialize, Serialize};

use garland_terminal::failure::{Failure, OrFailure};

/// A command of the system: a program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    program: String,
    words: Vec<String>,
    /// Whether a failure is ignored, such as that of a command that removes a missing device.
    may_fail: bool,
}

impl Command {
    /// Creates a command whose failure is an error.
    pub fn new<'a>(program: &str, words: impl IntoIterator<Item = &'a str>) -> Self {
        let words = words.into_iter().map(str::to_owned).collect();
        Self { program: program.to_owned(), words, may_fail: false }
    }

    /// Returns the command with failures ignored.
    pub fn may_fail(self) -> Self {
        Self { may_fail: true, ..self }
    }

    /// Runs the command and waits for its end.
    pub fn run(&self) -> Result<(), Failure> {
        match output(self) {
            Err(_) if self.may_fail => Ok(()),
            other => other.map(drop),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.program, self.words.join(" "))
    }
}

/// Returns a command that removes the addresses of a device. The kernel then removes the routes
/// over these addresses.
pub fn flush(device: &str) -> Command {
    Command::new("ip", ["-4", "address", "flush", "dev", device, "scope", "global"])
}

/// Returns the path of a program. It is searched in `PATH`, and then in the system directories,
/// which the `PATH` of ordinary users often lacks.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
}

/// Runs a command, waits for its end, and returns its standard output.
///
/// # Errors
/// If the program is not installed, or its exit status is not 0.
pub fn output(command: &Command) -> Result<String, Failure> {
    let program = find(&command.program).ok_or_else(|| {
        Failure::usage(format!("cannot run {}: it is not installed", command.program))
    })?;
    let mut child = std::process::Command::new(program);
    release_in(&mut child);
    let output = child
        .args(&command.words)
        .stdin(Stdio::null())
        .output()
        .or_nothing(format!("starting `{command}`"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(Failure::nothing(format!("`{command}` failed ({}): {words}", output.status)))
}
