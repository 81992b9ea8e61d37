//! The emulated cluster that peers run on: a lab with a head `n0` and nodes `n1..nN` on one switch.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use garland_lab::{Lab, Spec, StateDir};

use super::cpu::Group;
use super::processes::{Nodes, alone, name};

/// The directory of all files of a run, a tmpfs in the sandbox.
pub(crate) const DIR: &str = "/run/garland-bench";
/// Garland's state directory in a run, the value of `GARLAND_STATE`.
pub(crate) const STATE: &str = "/run/garland-bench/state";
/// The lab's name.
pub(crate) const LAB: &str = "bench";

/// The emulated cluster; dropping it kills all processes on its nodes and removes it.
pub(crate) struct Field {
    /// Number of receiving nodes; node 0 is the head.
    pub(crate) receivers: usize,
    lab: Option<Lab>,
    groups: Vec<Group>,
}

impl Field {
    /// Builds a head and `receivers` nodes with links of `rate` bit/s for the benchmark `run`.
    pub(crate) fn up(
        run: u32,
        receivers: usize,
        rate: Option<u64>,
        congestion: &str,
    ) -> Result<Self> {
        let nodes = u32::try_from(receivers).context("too many nodes")?;
        let spec = Spec { roots: Some(PathBuf::from(DIR)), ..Spec::switch(LAB, nodes, rate) };
        let lab = Lab::up(&state()?, spec).context("failed to start the lab")?;
        let groups = (0..=receivers).map(|node| Group::new(run, &name(node)));
        let field = Self { receivers, groups: groups.collect::<Result<_>>()?, lab: Some(lab) };
        for node in 0..=receivers {
            field
                .suit(node, congestion)
                .with_context(|| format!("failed to set up {}", name(node)))?;
        }
        field.write_shell()?;
        Ok(field)
    }

    /// Returns a command that runs on `node`, is counted in the node's control group, and writes to
    /// its log.
    pub(crate) fn command(&self, node: usize, program: &str) -> Result<Command> {
        let mut command = self.lab()?.command(&name(node), "sh")?;
        self.count(node, &mut command)?;
        command.arg(program).current_dir(self.dir(node));
        Ok(command)
    }

    /// Returns a command that runs outside of the lab, but is counted in the head's control group.
    pub(crate) fn outside(&self, program: &str) -> Result<Command> {
        let mut command = Command::new("sh");
        self.count(0, &mut command)?;
        command.arg(program).current_dir(DIR).env("GARLAND_STATE", STATE);
        Ok(command)
    }

    /// Returns the IP address of `node`.
    pub(crate) fn address(&self, node: usize) -> Result<String> {
        Ok(self.lab()?.address(&name(node))?.to_string())
    }

    /// Returns the directory of `node`, which receives the copy.
    pub(crate) fn dir(&self, node: usize) -> PathBuf {
        self.roots().join(name(node))
    }

    /// Returns the parent of all nodes' directories.
    pub(crate) fn roots(&self) -> PathBuf {
        PathBuf::from(DIR).join(format!("garland-lab-{LAB}"))
    }

    /// Returns the path of a program like rsh(1): its first argument is a node's address, the
    /// others are the command.
    pub(crate) fn shell(&self) -> String {
        format!("{DIR}/shell")
    }

    /// Returns the control group of `node`.
    pub(crate) fn group(&self, node: usize) -> &Group {
        &self.groups[node]
    }

    /// Moves all processes in a node's network namespace into that node's control group.
    pub(crate) fn adopt(&self) -> Result<()> {
        for node in 1..=self.receivers {
            for pid in self.residents(node)? {
                self.group(node).take(&pid)?;
            }
        }
        Ok(())
    }

    /// Returns the processes in a node's network namespace.
    pub(crate) fn residents(&self, node: usize) -> Result<Vec<String>> {
        let network = self.network(node)?;
        let mut pids = Vec::new();
        for entry in fs::read_dir("/proc").context("failed to list processes")?.flatten() {
            let there = fs::read_link(entry.path().join("ns/net"));
            if there.is_ok_and(|there| there == Path::new(&network)) {
                pids.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(pids)
    }

    /// Returns the identity of a node's network namespace, as in the links `/proc/PID/ns/net`.
    fn network(&self, node: usize) -> Result<String> {
        let mut command = self.lab()?.command(&name(node), "readlink")?;
        let output =
            command.arg("/proc/self/ns/net").output().context("failed to start readlink")?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Configures the congestion control, and multicast and a broadcast address, which some peers
    /// need.
    fn suit(&self, node: usize, congestion: &str) -> Result<()> {
        let address = self.address(node)?;
        let script = format!(
            "set -e; sysctl -q -w net.ipv4.tcp_congestion_control={congestion}; \
             prefix=$(ip -4 -o address show dev eth0 | grep -o '{address}/[0-9]*'); \
             ip address del $prefix dev eth0; ip address add $prefix broadcast + dev eth0; \
             ip route add 224.0.0.0/4 dev eth0"
        );
        let mut command = self.command(node, "sh")?;
        command.args(["-c", &script]);
        alone(self, node, command)
    }

    /// Completes `command`, which runs `sh`: the shell joins the node's control group, then
    /// executes the arguments that the caller appends.
    fn count(&self, node: usize, command: &mut Command) -> Result<()> {
        let path = log(node);
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(&path)
            .with_context(|| format!("failed to open {}", path.display()))?;
        command
            .args(["-c", "echo 0 >\"$1\"; shift; exec \"$@\"", "sh"])
            .arg(self.groups[node].entry())
            .stdin(Stdio::null())
            .stdout(log.try_clone().context("failed to duplicate the log's file descriptor")?)
            .stderr(log);
        Ok(())
    }

    fn lab(&self) -> Result<&Lab> {
        self.lab.as_ref().context("the emulated cluster has not been built")
    }

    fn write_shell(&self) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;

        let own = std::env::current_exe().context("find this program")?;
        let own = own.display();
        let folder = state()?.0;
        let mut script = "#!/bin/sh\nhost=$1; shift\ncase $host in\n".to_owned();
        for (node, group) in self.groups.iter().enumerate() {
            let address = self.address(node)?;
            let procs = group.entry();
            script += &format!("{address}) node={} procs={} ;;\n", name(node), procs.display());
        }
        script += &format!("esac\nexec {own} {SHELL} {} $node $procs \"$*\"\n", folder.display());
        fs::write(self.shell(), script).context("failed to write the shell")?;
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.shell(), executable)
            .context("failed to create the shell executable")
    }
}

impl Nodes for Field {
    fn said(&self, node: usize) -> String {
        let text = fs::read_to_string(log(node)).unwrap_or_default();
        let lines: Vec<_> = text.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
    }

    fn kill(&self) {
        for group in &self.groups {
            group.kill();
        }
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        self.kill();
        let down = self.lab.take().map(Lab::down);
        if let Some(Err(error)) = down {
            eprintln!("failed to remove the emulated cluster: {error}");
        }
    }
}

/// The hidden argument for [`shell`].
pub(crate) const SHELL: &str = "node-shell";

/// Runs a shell command on a node of the lab, for the program at [`Field::shell`]. The arguments
/// are the directory where labs are recorded, the node's name, the `cgroup.procs` file of its
/// control group, and the command.
///
/// # Errors
/// If the lab or the node does not exist, or the command failed.
pub(crate) fn shell(args: &[String]) -> Result<()> {
    let [state, node, procs, line] = args else {
        bail!("{SHELL} needs four arguments: DIRECTORY NODE CGROUP_PROCS COMMAND")
    };
    let lab = Lab::open(&StateDir(PathBuf::from(state)), LAB)?;
    let mut command = lab.command(node, "sh")?;
    let status = command
        .args(["-c", "echo 0 >\"$1\"; exec sh -c \"$2\"", "sh", procs, line])
        .status()
        .context("failed to start sh")?;
    if !status.success() {
        bail!("`{line}` failed on {node}: {status}");
    }
    Ok(())
}

/// Returns the directory where Garland's commands find labs; creates it if it is missing.
fn state() -> Result<StateDir> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname")
        .context("failed to read the host's name")?;
    let dir = Path::new(STATE).join(host.trim()).join("lab");
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir);
    made.with_context(|| format!("failed to create {}", dir.display()))?;
    Ok(StateDir(dir))
}

/// Waits until the process `child` listens on `port` on its node, over IPv4 or IPv6. `protocol` is
/// `tcp` or `udp`.
pub(crate) fn wait_listening(child: &mut Child, protocol: &str, port: u16) -> Result<()> {
    let tables = ["", "6"].map(|ip| format!("/proc/{}/net/{protocol}{ip}", child.id()));
    let own = fs::read_link("/proc/self/ns/net")
        .context("failed to read the network namespace of this process")?;
    let network = format!("/proc/{}/ns/net", child.id());
    let inside = || fs::read_link(&network).is_ok_and(|network| network != own);
    wait(child, protocol, port, || {
        let text = tables.each_ref().map(|table| fs::read_to_string(table).unwrap_or_default());
        inside() && text.iter().any(|text| listens(text, &format!(":{port:04X}")))
    })
}

/// Waits until the process `child`, which is outside of the lab, listens on `port`.
pub(crate) fn wait_listening_outside(child: &mut Child, protocol: &str, port: u16) -> Result<()> {
    let table = format!("/proc/self/net/{protocol}");
    wait(child, protocol, port, || {
        let text = fs::read_to_string(&table).unwrap_or_default();
        listens(&text, &format!(":{port:04X}"))
    })
}

fn wait(child: &mut Child, protocol: &str, port: u16, listens: impl Fn() -> bool) -> Result<()> {
    for _ in 0..20_000 {
        if let Some(status) =
            child.try_wait().context("failed to query the state of the server process")?
        {
            bail!("the server ended before it listened on {protocol} port {port}: {status}");
        }
        if listens() {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_micros(500));
    }
    bail!("timed out after 10 s waiting for the server to listen on {protocol} port {port}");
}

/// Returns whether `table`, in the format of proc_pid_net(5), has a socket that listens on an
/// address that ends with `local`. State 0A is a listening TCP socket, 07 a UDP socket without a
/// peer.
fn listens(table: &str, local: &str) -> bool {
    table.lines().skip(1).any(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        matches!(fields[..], [_, address, _, "0A" | "07", ..] if address.ends_with(local))
    })
}

fn log(node: usize) -> PathBuf {
    PathBuf::from(DIR).join(format!("{}.log", name(node)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_listen() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
                     \x20  0: 0A00580A:0369 0B00580A:C350 06 00000000:00000000\n";
        assert!(!listens(table, ":0369"));
        assert!(listens(&table.replace(" 06 ", " 0A "), ":0369"));
        assert!(!listens(&table.replace(" 06 ", " 0A "), ":0370"));
    }
}
