//! The emulated cluster that peers run on: a head `n0` and nodes `n1..nN` on one switch.
//!
//! Everything that knows how nodes are made and entered is in this file.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::cpu::Group;
use super::sandbox::command;

/// Where all files of a run are: a tmpfs of the sandbox.
pub(crate) const DIR: &str = "/tmp/garland-bench";

/// The cluster while it is up.
pub(crate) struct Field {
    /// Receiving nodes; node 0 is the head.
    pub(crate) receivers: usize,
    groups: Vec<Group>,
}

impl Field {
    /// Brings up a head and `receivers` nodes with links of `rate` bit/s.
    pub(crate) fn up(receivers: usize, rate: Option<u64>, congestion: &str) -> Result<Self> {
        command(&["ip", "netns", "add", "switch"])?;
        let bridge = ["type", "bridge", "mcast_snooping", "0", "forward_delay", "0"];
        let mut words = vec!["ip", "-n", "switch", "link", "add", "br0"];
        words.extend(bridge);
        command(&words)?;
        command(&["ip", "-n", "switch", "link", "set", "br0", "up"])?;
        let mut groups = Vec::new();
        for node in 0..=receivers {
            groups.push(Group::new(&name(node))?);
            add(node, rate).with_context(|| format!("set up {}", name(node)))?;
            let set = format!("net.ipv4.tcp_congestion_control={congestion}");
            command(&["nsenter", &entrance(node), "sysctl", "-q", "-w", &set])?;
        }
        let field = Self { receivers, groups };
        field.write_shell()?;
        Ok(field)
    }

    /// A command that will run on `node`, be counted there, and write to a log.
    pub(crate) fn command(&self, node: usize, program: &str) -> Result<Command> {
        let log = log(node);
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("open {}", log.display()))?;
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo 0 >\"$1\"; shift; exec \"$@\"", "sh"])
            .arg(self.groups[node].entry())
            .args(["nsenter", &entrance(node), program])
            .current_dir(self.dir(node))
            .stdin(Stdio::null())
            .stdout(log.try_clone().context("share a log")?)
            .stderr(log);
        Ok(command)
    }

    /// The address of `node`.
    pub(crate) fn address(&self, node: usize) -> String {
        address(node).to_string()
    }

    /// The directory of `node`, where the copy goes.
    pub(crate) fn dir(&self, node: usize) -> PathBuf {
        PathBuf::from(DIR).join(name(node))
    }

    /// A program that runs its words on the node whose address is its first, as rsh does.
    pub(crate) fn shell(&self) -> String {
        format!("{DIR}/shell")
    }

    /// The control group of `node`.
    pub(crate) fn group(&self, node: usize) -> &Group {
        &self.groups[node]
    }

    /// What has been logged last on `node`.
    pub(crate) fn said(&self, node: usize) -> String {
        let text = fs::read_to_string(log(node)).unwrap_or_default();
        let lines: Vec<_> = text.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
    }

    /// Ends every process on every node.
    pub(crate) fn kill(&self) {
        for group in &self.groups {
            group.kill();
        }
    }

    fn write_shell(&self) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;

        let mut script = "#!/bin/sh\nhost=$1; shift\ncase $host in\n".to_owned();
        for (node, group) in self.groups.iter().enumerate() {
            let (address, name) = (address(node), name(node));
            let (procs, net) = (group.entry(), entrance(node));
            script += &format!(
                "{address}) echo 0 >{}; exec unshare --uts nsenter {net} \
                 sh -c \"hostname {name}; $*\" ;;\n",
                procs.display()
            );
        }
        script += "esac\necho \"no node has the address $host\" >&2; exit 255\n";
        fs::write(self.shell(), script).context("write the shell")?;
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.shell(), executable).context("make the shell executable")
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        self.kill();
        let nodes = (0..=self.receivers).map(name);
        for name in nodes.chain(["switch".to_owned()]) {
            if let Err(error) = command(&["ip", "netns", "del", &name]) {
                eprintln!("{error:#}");
            }
        }
    }
}

/// Waits until process `child` on its node listens on `port`.
pub(crate) fn wait_listening(child: &mut Child, protocol: &str, port: u16) -> Result<()> {
    let table = format!("/proc/{}/net/{protocol}", child.id());
    let own = fs::read_link("/proc/self/ns/net").context("look at our own network")?;
    let network = format!("/proc/{}/ns/net", child.id());
    let local = format!(":{port:04X}");
    for _ in 0..20_000 {
        if let Some(status) = child.try_wait().context("look after a child")? {
            bail!("it ended before it listened on {protocol} port {port}: {status}");
        }
        let inside = fs::read_link(&network).is_ok_and(|network| network != own);
        let text = fs::read_to_string(&table).unwrap_or_default();
        let listens = text.lines().skip(1).any(|line| {
            let mut fields = line.split_whitespace().skip(1);
            fields.next().is_some_and(|address| address.ends_with(&local))
        });
        if inside && listens {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_micros(500));
    }
    bail!("it didn't listen on {protocol} port {port} within 10 s");
}

/// The name of `node`.
pub(crate) fn name(node: usize) -> String {
    format!("n{node}")
}

fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 87, 0, u8::try_from(node + 1).unwrap_or(u8::MAX))
}

fn entrance(node: usize) -> String {
    format!("--net=/run/netns/{}", name(node))
}

fn log(node: usize) -> PathBuf {
    PathBuf::from(DIR).join(format!("{}.log", name(node)))
}

fn add(node: usize, rate: Option<u64>) -> Result<()> {
    let (name, port) = (name(node), format!("p{node}"));
    let address = format!("{}/24", address(node));
    fs::create_dir_all(PathBuf::from(DIR).join(&name)).context("make its directory")?;
    command(&["ip", "netns", "add", &name])?;
    let mut words = vec!["ip", "-n", "switch", "link", "add", &port, "type", "veth"];
    words.extend(["peer", "name", "eth0", "netns", &name]);
    command(&words)?;
    for words in [
        ["-n", "switch", "link", "set", &port, "master", "br0", "up"].as_slice(),
        &["-n", &name, "link", "set", "lo", "up"],
        &["-n", &name, "link", "set", "eth0", "up"],
        &["-n", &name, "address", "add", &address, "broadcast", "+", "dev", "eth0"],
        &["-n", &name, "route", "add", "224.0.0.0/4", "dev", "eth0"],
    ] {
        command(&[&["ip"], words].concat())?;
    }
    if let Some(rate) = rate {
        let (rate, burst) = (rate.to_string(), (rate / 8_000).max(20_000).to_string());
        for (namespace, device) in [("switch", port.as_str()), (name.as_str(), "eth0")] {
            let mut words = vec!["tc", "-n", namespace, "qdisc", "add", "dev", device, "root"];
            words.extend(["tbf", "rate", &rate, "burst", &burst, "limit", "2000000"]);
            words.extend(["mpu", "84", "overhead", "24"]);
            command(&words)?;
        }
    }
    Ok(())
}
