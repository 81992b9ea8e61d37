//! Mounts in the background: a separate process serves the mount, and reports when it is ready.

use std::io::{self, Write};

use garland_state::background;
use garland_state::places::Places;
use garland_sys::process;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

/// The line that the process prints once it has mounted.
const MOUNTED: &str = "mounted";

/// Starts the same command in the background, and waits until the directory is mounted. Messages of
/// the process until then are printed.
pub fn start() -> Result<Exit, Failure> {
    let log = Places::open()?.folder("mounts")?.join(background::log_name());
    let arguments = std::env::args_os().skip(1).chain(["--background".into()]);
    let (mut child, line) = background::start(arguments, &log)?;
    output::warn(std::fs::read_to_string(&log).unwrap_or_default());
    if line.trim_end() == MOUNTED {
        return Ok(Exit::Done);
    }
    let status = child.wait().or_nothing("cannot wait for the mount's process")?;
    // Its messages have been printed.
    let _ = std::fs::remove_file(log);
    Ok(Exit::Code(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(3)))
}

/// Reports to the command that started this process that the directory is mounted.
pub fn report_ready() {
    // Ctrl-C on the terminal must not reach it any more. This fails if it leads a session already.
    let _ = process::leave_session();
    // The command may have ended.
    let _ = writeln!(io::stdout(), "{MOUNTED}").and_then(|()| io::stdout().flush());
}
