//! The limit of open files. This process raises its own limit to the maximum, and restores the
//! original one for programs that it starts on behalf of users.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The original limit of open files of this process; set when the limit is raised.
static GIVEN: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit of open files to the hard limit. Each node takes one or more descriptors,
/// and 1024, the usual default, is too low for some hundred nodes.
///
/// # Errors
/// When the system refuses. The caller may continue with the lower limit.
pub fn raise_open_files() -> io::Result<()> {
    let given = getrlimit(Resource::Nofile);
    if given.current.is_none() || given.current == given.maximum {
        return Ok(());
    }
    // Set before the limit is raised, so that a program started meanwhile gets the original limit.
    let _ = GIVEN.set(given);
    let raised = Rlimit { current: given.maximum, maximum: given.maximum };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

/// Returns the number of files that this process may have open.
#[must_use]
pub fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Gives the process that `command` starts the original limit of open files. With a higher limit,
/// programs that use select(2) may fail, and programs that close all possible descriptors are slow.
pub fn restore_open_files_in(command: &mut Command) {
    let Some(given) = GIVEN.get().cloned() else { return };
    let restore = move || Ok(setrlimit(Resource::Nofile, given)?);
    // SAFETY: between fork and exec only setrlimit(2) is called, which is allowed there.
    unsafe {
        command.pre_exec(restore);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_here_and_restored_in_children() {
        let given = getrlimit(Resource::Nofile);
        let low = Rlimit { current: Some(300), maximum: given.maximum };
        setrlimit(Resource::Nofile, low).unwrap();
        raise_open_files().unwrap();
        assert_eq!(getrlimit(Resource::Nofile).current, given.maximum);
        let soft = |restored: bool| {
            let mut command = Command::new("sh");
            command.args(["-c", "ulimit -S -n"]);
            if restored {
                restore_open_files_in(&mut command);
            }
            String::from_utf8(command.output().unwrap().stdout).unwrap()
        };
        assert_eq!(soft(true), "300\n");
        assert_ne!(soft(false), "300\n");
        setrlimit(Resource::Nofile, given).unwrap();
    }
}
