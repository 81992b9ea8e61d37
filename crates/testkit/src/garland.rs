//! The built `garland` in a scratch directory.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::processes::Process;
use crate::run_output::RunOutput;
use crate::running::Running;
use crate::scratch::Scratch;
use crate::waiting::await_some;
use crate::wire::Wire;

/// The built binary. Its state, its local nodes' directories and its working directory are in a scratch
/// directory; it gets nothing of the user's environment.
#[derive(Debug)]
pub struct Garland<'a> {
    binary: PathBuf,
    scratch: &'a Scratch,
    wire: Option<Wire>,
}

impl<'a> Garland<'a> {
    /// The binary at `binary`, in `scratch`.
    #[must_use]
    pub fn new(binary: impl Into<PathBuf>, scratch: &'a Scratch) -> Self {
        Self { binary: binary.into(), scratch, wire: None }
    }

    /// Runs commands behind a slow wire, in a network namespace of its own.
    #[must_use]
    pub fn over(mut self, wire: Wire) -> Self {
        self.wire = Some(wire);
        self
    }

    /// The command `garland ARGUMENTS`.
    #[must_use]
    pub fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = match &self.wire {
            Some(wire) => wire.command(&self.binary),
            None => Command::new(&self.binary),
        };
        command
            .args(arguments)
            .current_dir(self.scratch.folder())
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", self.scratch.folder())
            .env("GARLAND_STATE", self.scratch.state());
        for kept in ["TMPDIR", "GARLAND_TEST_RUN"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        command
    }

    /// Starts `garland ARGUMENTS`.
    #[must_use]
    pub fn start<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Running {
        Running::start(self.command(arguments))
    }

    /// Runs `garland ARGUMENTS` to its end.
    #[must_use]
    pub fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> RunOutput {
        self.start(arguments).end()
    }

    /// Starts `garland cp ARGUMENTS` with the local nodes' directories in the scratch directory.
    #[must_use]
    pub fn start_cp<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Running {
        self.start_cp_reading(arguments, Stdio::null())
    }

    /// Starts `garland cp ARGUMENTS` as [`start_cp`](Self::start_cp) does, with `input` as standard input.
    #[must_use]
    pub fn start_cp_reading<A: AsRef<OsStr>>(
        &self,
        arguments: &[A],
        input: impl Into<Stdio>,
    ) -> Running {
        let roots = self.scratch.path("roots");
        let first = [OsStr::new("cp"), OsStr::new("--local-root"), roots.as_os_str()];
        let arguments = arguments.iter().map(AsRef::as_ref);
        let command = self.command(&first.into_iter().chain(arguments).collect::<Vec<_>>());
        Running::start_reading(command, input)
    }

    /// Runs `garland cp ARGUMENTS` to its end.
    #[must_use]
    pub fn cp<A: AsRef<OsStr>>(&self, arguments: &[A]) -> RunOutput {
        self.start_cp(arguments).end()
    }

    /// Waits for the agent of the local node `name`.
    #[must_use]
    pub fn agent(&self, name: &str) -> Process {
        let root = self.scratch.root(name);
        await_some(&format!("the agent of {name}"), || {
            self.scratch.processes().into_iter().find(|process| process.is_agent(Some(&root)))
        })
    }

    /// The directories of the runs that it has kept, sorted.
    #[must_use]
    pub fn runs(&self) -> Vec<PathBuf> {
        let mut runs: Vec<PathBuf> = entries(&self.scratch.state())
            .iter()
            .flat_map(|host| entries(&host.join("runs")))
            .collect();
        runs.sort();
        runs
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
