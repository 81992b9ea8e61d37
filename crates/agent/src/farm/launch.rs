//! How the processes of a job are started, and where its files are.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use garland_core::farm::Text;
use garland_sys::mark::Mark;
use garland_sys::signal;

/// The variable in the environment of a job that has its number.
pub const JOB: &str = "GARLAND_JOB";

/// Returns a shell that runs this line.
pub fn shell(line: &Text) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(OsStr::from_bytes(line.bytes()));
    command
}

/// Prepares `command` as a process of the job with this number, in the directory `folder`.
pub fn prepare(command: &mut Command, job: u32, folder: Option<&Path>, mark: &Mark) {
    // A process group of its own, so that all its processes can be killed together. Those that
    // leave it are found by the mark.
    command.stdin(Stdio::null()).process_group(0).env(JOB, job.to_string());
    mark.put_on(command);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    signal::release_in(command);
}

/// Returns the path of a job's file.
pub fn path_of(name: &Text, folder: Option<&Path>) -> PathBuf {
    let name = Path::new(OsStr::from_bytes(name.bytes()));
    folder.map_or_else(|| name.to_owned(), |folder| folder.join(name))
}
