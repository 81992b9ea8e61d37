//! A machine with NICs and the files of a real one, which a test may change.
//!
//! All of it hangs on one shell whose input is a pipe from the test: when the test ends, killed or
//! not, the shell ends, and its network and mounts with it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use garland_testkit::{Scratch, await_some, said};
use garland_topology::Topology;

/// Whose files may be changed: they are copies. `/sys` is read-only, which tells the tools that no
/// udev is there.
const FILES: &str = "mount -t tmpfs none /mnt && cp -a /etc /mnt/etc && mount --bind /mnt/etc /etc && \
    rm -f /etc/network/interfaces.d/* /etc/systemd/network/* && \
    mount -t tmpfs none /run && mkdir -p /run/network /run/dbus /run/systemd && mount -t tmpfs none /var/lib && \
    mkdir -p /var/lib/NetworkManager && mount -t sysfs -o ro none /sys && ip link set lo up";

/// A machine.
pub struct Stage<'a> {
    pub scratch: &'a Scratch,
    shell: Child,
    input: Option<ChildStdin>,
}

impl<'a> Stage<'a> {
    /// A machine with these NICs, each plugged in somewhere.
    pub fn new(scratch: &'a Scratch, nics: &[&str]) -> Self {
        assert_eq!(
            garland_sys::process::user_id(),
            0,
            "this test makes namespaces: run it as root"
        );
        let plug = |nic: &&str| {
            format!(" && ip link add {nic} type veth peer name {nic}p && ip link set {nic}p up")
        };
        let plugs: String = nics.iter().map(plug).collect();
        let mut shell = Command::new("unshare")
            .args(["--net", "--mount", "--propagation", "private", "sh", "-c"])
            .arg(format!("{FILES}{plugs} && echo up && read end"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare starts");
        let output = shell.stdout.take().expect("its output is a pipe");
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).expect("it can be read");
        assert_eq!(line, "up\n", "the machine didn't start");
        let input = shell.stdin.take();
        Self { scratch, shell, input }
    }

    /// A machine with the NICs of a topology's node.
    pub fn from_topology(scratch: &'a Scratch, topology: &Topology, node: usize) -> Self {
        let nics: Vec<&str> = topology.nics_of(node).map(|(_, nic)| nic.name.as_str()).collect();
        Self::new(scratch, &nics)
    }

    /// A command on the machine.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &self.shell.id().to_string(), "--net", "--mount", "--"])
            .arg(program)
            .stdin(Stdio::null())
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("GARLAND_STATE", self.scratch.state());
        command
    }

    /// `garland WORDS` on the machine.
    pub fn garland(&self, words: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_garland"));
        command.args(words);
        command
    }

    /// Runs `garland WORDS`, which must end with `code`; gives what it said.
    #[track_caller]
    pub fn run(&self, words: &[&str], code: i32) -> String {
        let output = self.garland(words).output().expect("garland starts");
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        format!("{out}{err}")
    }

    /// Runs a script, which must succeed; gives what it printed.
    #[track_caller]
    pub fn shell(&self, script: &str) -> String {
        let output = self.try_shell(script);
        assert!(output.status.success(), "`{script}`: {}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn try_shell(&self, script: &str) -> Output {
        self.command("sh").args(["-ec", script]).output().expect("sh starts")
    }

    /// A file of the machine, as the test sees it.
    pub fn seen(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.shell.id()))
    }

    /// Starts a daemon, and waits until `script` succeeds.
    pub fn daemon(&self, words: &[&str], script: &str) -> Daemon {
        let log =
            self.scratch.path(format!("{}.log", words[0].rsplit('/').next().unwrap_or("log")));
        let file = std::fs::File::create(&log).expect("a log can be made");
        let mut command = self.command(words[0]);
        command.args(&words[1..]).stdout(file.try_clone().expect("it can be shared")).stderr(file);
        command.env("SYSTEMD_LOG_LEVEL", "info").env("SYSTEMD_LOG_TARGET", "console");
        let daemon = Daemon { child: command.spawn().expect("the daemon starts"), log };
        await_some(&format!("{} to be ready", words[0]), || {
            self.try_shell(script).status.success().then_some(())
        });
        daemon
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.shell.wait();
    }
}

/// A daemon of a machine; it ends with this.
pub struct Daemon {
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// What it said until now.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).expect("its log is there")).into_owned()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A path as a word of a command.
pub fn path_text(path: &Path) -> String {
    path.to_str().expect("scratch folders have plain names").to_owned()
}
