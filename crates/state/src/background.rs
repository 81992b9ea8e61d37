//! Processes of this program in the background.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use garland_core::printable;
use garland_sys::random;
use garland_terminal::failure::{Failure, OrFailure};

/// The running program, also if its file was replaced.
pub const PROGRAM: &str = "/proc/self/exe";

/// Returns a random file name for the log of a background process.
pub fn log_name() -> String {
    random::bytes::<4>().map(|byte| format!("{byte:02x}")).concat() + ".log"
}

/// Starts this program with `arguments` in the background. Its standard error is appended to the
/// file `log`. Waits for the first line of its standard output, and returns the process and this
/// line; the line is empty if the process ended without output.
pub fn start(
    arguments: impl Iterator<Item = OsString>,
    log: &Path,
) -> Result<(Child, String), Failure> {
    // The log is also readable, since an agent shortens a long log to its last part.
    let file = OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(log);
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(file.or_nothing(format!("cannot open the log {}", printable::path(log)))?)
        .spawn()
        .or_nothing("cannot start a background process")?;
    let output = child.stdout.take().ok_or_else(|| Failure::nothing("no output to read"))?;
    let mut line = String::new();
    BufReader::new(output)
        .read_line(&mut line)
        .or_nothing("cannot wait for a background process")?;
    Ok((child, line))
}
