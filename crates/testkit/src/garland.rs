//! Runs the built `garland` in a scratch directory.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::processes::Process;
use crate::run_output::RunOutput;
use crate::running::Running;
use crate::scratch::Scratch;
use crate::waiting::await_some;
use crate::wire::Wire;

/// The built binary. Its state, its working directory and the directories of its local nodes are in
/// a scratch directory. Of the test's environment, it gets only `GARLAND_TEST_RUN`,
/// `GARLAND_PROCESSORS` and `TMPDIR`.
#[derive(Debug)]
pub struct Garland<'a> {
    binary: PathBuf,
    scratch: &'a Scratch,
    wire: Option<Wire>,
    kernel_is_old: bool,
    protocol: Option<u16>,
}

/// The program that runs another one as on Linux 4.18, by a seccomp filter.
const OLD_KERNEL: &str = include_str!("../old_kernel.py");

impl<'a> Garland<'a> {
    /// Creates a runner for the file `binary` in `scratch`.
    #[must_use]
    pub fn new(binary: impl Into<PathBuf>, scratch: &'a Scratch) -> Self {
        Self { binary: binary.into(), scratch, wire: None, kernel_is_old: false, protocol: None }
    }

    /// Makes all commands run in a network namespace whose loopback device is `wire`.
    #[must_use]
    pub fn over(mut self, wire: Wire) -> Self {
        self.wire = Some(wire);
        self
    }

    /// Makes all commands run as on Linux 4.18, without the system calls that came later.
    #[must_use]
    pub fn on_old_kernel(mut self) -> Self {
        self.kernel_is_old = true;
        self
    }

    /// Makes all commands, and the agents that they start on this machine, claim to be of the
    /// release with this protocol version.
    #[must_use]
    pub fn of_protocol(mut self, protocol: u16) -> Self {
        self.protocol = Some(protocol);
        self
    }

    /// Returns the command `garland ARGUMENTS`, not yet started.
    #[must_use]
    pub fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let program = if self.kernel_is_old { Path::new("python3") } else { &self.binary };
        let mut command = match &self.wire {
            Some(wire) => wire.command(program),
            None => Command::new(program),
        };
        if self.kernel_is_old {
            command.args(["-c", OLD_KERNEL]).arg(&self.binary);
        }
        command
            .args(arguments)
            .current_dir(self.scratch.folder())
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", self.scratch.folder())
            .env("GARLAND_STATE", self.scratch.state());
        if let Some(protocol) = self.protocol {
            command.env("GARLAND_PROTOCOL", protocol.to_string());
        }
        for kept in ["TMPDIR", "GARLAND_TEST_RUN", "GARLAND_PROCESSORS"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        command
    }

    /// Returns the command `garland ARGUMENTS` as started by the shell's `line`, in which `"$0"
    /// "$@"` stands for it.
    #[must_use]
    pub fn by_shell<A: AsRef<OsStr>>(&self, line: &str, arguments: &[A]) -> Command {
        let inner = self.command(arguments);
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).arg(inner.get_program()).args(inner.get_args());
        shell.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.current_dir(self.scratch.folder());
        shell
    }

    /// Starts `garland ARGUMENTS` in the background.
    #[must_use]
    pub fn start<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Running {
        Running::start(self.command(arguments))
    }

    /// Runs `garland ARGUMENTS` and waits until it ends.
    #[must_use]
    pub fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> RunOutput {
        self.start(arguments).end()
    }

    /// Starts `garland cp ARGUMENTS` in the background. Local nodes have their directories in the
    /// scratch directory.
    #[must_use]
    pub fn start_cp<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Running {
        self.start_cp_reading(arguments, Stdio::null())
    }

    /// Starts `garland cp ARGUMENTS` as [`start_cp`](Self::start_cp) does, with the standard input
    /// `input`.
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

    /// Runs `garland cp ARGUMENTS` as [`start_cp`](Self::start_cp) does, and waits until it ends.
    #[must_use]
    pub fn cp<A: AsRef<OsStr>>(&self, arguments: &[A]) -> RunOutput {
        self.start_cp(arguments).end()
    }

    /// Waits until the agent of the local node `name` runs, and returns its process.
    #[must_use]
    pub fn agent(&self, name: &str) -> Process {
        let root = self.scratch.root(name);
        await_some(&format!("the agent of {name}"), || {
            self.scratch.processes().into_iter().find(|process| process.is_agent(Some(&root)))
        })
    }

    /// Returns the directories of the stored runs, sorted by name.
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
