//! Emulated machines: a head and nodes, each with a network, a host name and files of its own.
//!
//! All machines depend on one process whose standard input is a pipe from the test. When the test
//! ends, even if it is killed, the pipe closes and the process exits. It is the first process of a
//! PID namespace, so the kernel then kills all other processes in it. Networks, mounts and files
//! exist only as long as these processes.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// The directory of the machines' files, as the machines see it: a file system in memory.
pub const FILES: &str = "/mnt";

/// A running head and its nodes, connected by one switch.
#[derive(Debug)]
pub struct Machines {
    head: u32,
    nodes: Vec<u32>,
    _holder: Holder,
}

/// The process that keeps the machines alive.
#[derive(Debug)]
struct Holder {
    child: Child,
    input: Option<ChildStdin>,
}

impl Machines {
    /// Starts a head with the address 10.99.0.254, and nodes n1, n2 and so on with the addresses
    /// 10.99.0.1 and up. Each node has its own `/mnt/home`, `/dev/shm` and `/tmp`, and does not see
    /// the directory `hidden`.
    ///
    /// # Errors
    /// When this process is not root, or a program is missing.
    pub fn start(nodes: u8, hidden: &Path) -> Result<Self> {
        let me = Command::new("id").arg("-u").output().context("start `id`")?;
        ensure!(me.stdout == b"0\n", "this test makes namespaces: run it as root");
        let holder = Holder::start()?;
        let head = holder.first_process()?;
        let mut machines = Self { head, nodes: Vec::new(), _holder: holder };
        let hosts: String = (1..=nodes).map(|n| format!("10.99.0.{n} n{n}\n")).collect();
        std::fs::write(machines.seen(0, "/mnt/hosts"), format!("127.0.0.1 localhost\n{hosts}"))
            .context("write the hosts file")?;
        machines.shell(
            0,
            "mount --bind /mnt/hosts /etc/hosts; mkdir -p /mnt/head /run/sshd; \
             ip link set lo up; ip link add br0 type bridge forward_delay 0; \
             ip addr add 10.99.0.254/24 dev br0; ip link set br0 up",
        )?;
        for node in 1..=nodes {
            machines.add(node, hidden)?;
        }
        Ok(machines)
    }

    fn add(&mut self, node: u8, hidden: &Path) -> Result<()> {
        let mut command = self.command(0, "unshare");
        command.args(["--mount", "--uts", "--net", "sh", "-c", "echo up; exec sleep infinity"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("its output is a pipe")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        ensure!(line == "up\n", "node {node} didn't start");
        // nsenter forks to enter the PID namespace: the node is its child.
        let pid = only_child(child.id())?;
        std::thread::spawn(move || child.wait());
        self.nodes.push(pid);
        let inner = self.inner(pid)?;
        self.shell(
            0,
            &format!(
                "ip link add v{node} type veth peer name eth0 netns {inner}; \
                 ip link set v{node} master br0 up"
            ),
        )?;
        self.shell(
            node,
            &format!(
                "hostname n{node}; ip link set lo up; ip link set eth0 up; \
                 ip addr add 10.99.0.{node}/24 dev eth0; mkdir -p /mnt/home /mnt/n{node}; \
                 mount --bind /mnt/n{node} /mnt/home; \
                 sed 's,^root:.*,root:x:0:0:root:/mnt/home:/bin/sh,' /etc/passwd >/mnt/passwd; \
                 mount --bind /mnt/passwd /etc/passwd; mount -t tmpfs none '{}'; \
                 mount -t tmpfs none /dev/shm; mount -t tmpfs none /tmp",
                hidden.display()
            ),
        )
    }

    /// Returns the process number, in the machines' PID namespace, of the process that has the
    /// number `pid` in the namespace of the test.
    fn inner(&self, pid: u32) -> Result<u32> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let last = line.and_then(|numbers| numbers.split_whitespace().last());
        last.and_then(|number| number.parse().ok()).context("no NSpid in /proc")
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u8 {
        u8::try_from(self.nodes.len()).unwrap_or(u8::MAX)
    }

    fn pid(&self, machine: u8) -> u32 {
        match machine {
            0 => self.head,
            node => self.nodes[usize::from(node) - 1],
        }
    }

    /// Returns a command that runs `program` on a machine. Machine 0 is the head; others are nodes.
    #[must_use]
    pub fn command(&self, machine: u8, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let target = self.pid(machine).to_string();
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &target, "--net", "--uts", "--mount", "--pid", "--wd=/mnt", "--"])
            .arg(program)
            .stdin(Stdio::null());
        command
    }

    /// Runs a shell script on a machine, and waits until it ends.
    ///
    /// # Errors
    /// When a command of the script fails; the error contains the output.
    pub fn shell(&self, machine: u8, script: &str) -> Result<()> {
        let output = self.command(machine, "sh").args(["-e", "-c", script]).output()?;
        ensure!(output.status.success(), "`{script}` on machine {machine}: {}", said(&output));
        Ok(())
    }

    /// Returns the path at which the test sees the file `path` of a machine.
    #[must_use]
    pub fn seen(&self, machine: u8, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.pid(machine)))
    }

    /// Starts a daemon on a machine, and waits until a line of its standard error contains `sign`.
    ///
    /// # Errors
    /// When the daemon ends without such a line; the error contains its standard error.
    pub fn daemon(&self, machine: u8, words: &[&str], sign: &str) -> Result<()> {
        let mut child = self
            .command(machine, words[0])
            .args(&words[1..])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {}", words[0]))?;
        let mut errors = BufReader::new(child.stderr.take().context("a pipe")?);
        let mut heard = String::new();
        while !heard.contains(sign) {
            if errors.read_line(&mut heard)? == 0 {
                bail!("{} on machine {machine} ended: {heard}", words[0]);
            }
        }
        std::thread::spawn(move || {
            // The daemon would block if its pipe were full.
            let mut rest = Vec::new();
            let _ = errors.read_to_end(&mut rest);
            child.wait()
        });
        Ok(())
    }

    /// Returns the command lines of all processes on the machines.
    ///
    /// # Errors
    /// When `ps` is missing.
    pub fn processes(&self) -> Result<Vec<String>> {
        let output = self.command(0, "ps").args(["-eo", "args="]).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
    }
}

impl Holder {
    fn start() -> Result<Self> {
        let script = format!("mount -t tmpfs none {FILES} && mount -t tmpfs none /run && read end");
        let mut child = Command::new("unshare")
            .args(["--mount", "--pid", "--net", "--uts", "--fork", "--mount-proc"])
            .args(["--propagation", "private", "sh", "-c", &script])
            .stdin(Stdio::piped())
            .spawn()
            .context("start `unshare`")?;
        let input = child.stdin.take();
        Ok(Self { child, input })
    }

    /// Waits until the first process has set up the file systems, and returns its process ID.
    fn first_process(&self) -> Result<u32> {
        const LOOK_INTERVAL: std::time::Duration = std::time::Duration::from_millis(10);
        for _ in 0..6000 {
            if let Ok(pid) = only_child(self.child.id()) {
                let mounts = std::fs::read_to_string(format!("/proc/{pid}/mounts"));
                if mounts.is_ok_and(|mounts| mounts.contains("none /run tmpfs")) {
                    return Ok(pid);
                }
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        bail!("the machines' first process didn't start")
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.input.take());
        // `unshare` exits after the last process of its namespace.
        let _ = self.child.wait();
    }
}

/// Returns the exit status and the output of a program as text.
#[must_use]
pub fn said(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn only_child(pid: u32) -> Result<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    children.split_whitespace().next().and_then(|pid| pid.parse().ok()).context("it has no child")
}
