//! A mount of the head's files on a node, served by a child process that exits with this one.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use garland_core::printable;
use garland_protocol::farm::Opening;
use garland_sys::clock::after;
use garland_sys::{clock, private_file};

use crate::error::{OrderError, cannot};

/// The running program; mounting is one of its hidden commands.
const PROGRAM: &str = "/proc/self/exe";

/// Timeout for unmounting; then the child process is killed.
const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(8);

/// A mount of the head's files.
pub struct Window {
    child: Child,
    folder: PathBuf,
}

impl Window {
    /// Mounts the head's files on the directory `folder`, which is created if missing.
    pub fn open(folder: &Path, opening: &Opening) -> Result<Self, OrderError> {
        private_file::create_folder(folder)
            .map_err(cannot(format!("create the directory {}", printable::path(folder))))?;
        let failed = |error| cannot("mount the head's files")(error);
        let mut command = Command::new(PROGRAM);
        command.args(["farm", "window"]).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        if let Some(input) = &mut child.stdin {
            // Errors are ignored: a process that has exited has reported the reason.
            let _ = input.write_all(&opening.told());
        }
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(failed)?;
        }
        let window = Self { child, folder: folder.to_owned() };
        if line == "mounted\n" { Ok(window) } else { Err(window.why()) }
    }

    fn why(mut self) -> OrderError {
        let mut said = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            // If reading fails, use the lines that were read so far.
            let _ = errors.read_to_string(&mut said);
        }
        let line = said.lines().next().unwrap_or("the mount process exited without a message");
        format!("cannot mount the head's files: {}", line.trim_start_matches("error: ")).into()
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        const POLL_INTERVAL: Duration = Duration::from_millis(10);
        drop(self.child.stdin.take());
        let deadline = after(UNMOUNT_TIMEOUT);
        while matches!(self.child.try_wait(), Ok(None)) {
            if clock::now_ns() > deadline {
                // Processes that use the mount get errors from now on.
                let _ = self.child.kill();
                let _ = self.child.wait();
                break;
            }
            garland_sys::threads::sleep(POLL_INTERVAL);
        }
        // Fails unless the directory is empty: files below a mount that is still there must not be
        // removed.
        let _ = fs::remove_dir(&self.folder);
    }
}
