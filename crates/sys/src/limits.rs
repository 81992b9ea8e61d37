//! How many descriptors this process may have: all that the user may, while the programs that it starts
//! for others keep the limit that it was given.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit that this process was started with, if it has raised it.
static GIVEN: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit of open files to the hard one: a node is one or several descriptors, and 1024,
/// which is what most systems give, are not enough for some hundred nodes.
///
/// # Errors
/// When the system refuses. Fewer descriptors are no reason to stop.
pub fn raise_open_files() -> io::Result<()> {
    let given = getrlimit(Resource::Nofile);
    if given.current.is_none() || given.current == given.maximum {
        return Ok(());
    }
    // A program that is started meanwhile gets the old limit back.
    let _ = GIVEN.set(given);
    let raised = Rlimit { current: given.maximum, maximum: given.maximum };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

/// Gives the process that `command` starts the limit of open files that this one was started with: a
/// program may use `select`, or go through all descriptors that it may have.
pub fn restore_open_files_in(command: &mut Command) {
    let Some(given) = GIVEN.get().cloned() else { return };
    let restore = move || Ok(setrlimit(Resource::Nofile, given)?);
    // SAFETY: between fork and exec only one system call is made, which may be made there.
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
