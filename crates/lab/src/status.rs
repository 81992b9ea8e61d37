use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use garland_sys::identity;
use serde::{Deserialize, Serialize};

use crate::tool::Tool;
use crate::{Lab, LabError, Spec, plan};

/// A lab as it is now.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// What was asked for.
    pub spec: Spec,
    /// The process number of its keeper.
    pub keeper: u32,
    /// Whether it lives in a user namespace.
    pub rootless: bool,
    /// Seconds since it was started.
    pub age: f64,
    /// Its nodes, the head first.
    pub nodes: Vec<NodeStatus>,
}

/// A node as it is now.
#[derive(Debug, Clone, Serialize)]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its root folder, on the host.
    pub root: PathBuf,
    /// What runs there, by the host's process numbers.
    pub processes: Vec<u32>,
    /// What its link has carried.
    pub link: PortCounters,
}

/// Counters of one node's link, taken at the switch's port, as the kernel counts (no check sums,
/// preambles, gaps; a large segment counts its headers once).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PortCounters {
    /// Bytes that came from the node.
    pub sent: u64,
    /// Bytes that went to the node.
    pub received: u64,
    /// Frames lost because the port's buffer was full.
    pub dropped: u64,
}

/// The part of `ip -j -s link` that counts.
#[derive(Deserialize)]
struct Link {
    ifname: String,
    stats64: LinkStats,
}

#[derive(Deserialize)]
struct LinkStats {
    rx: Direction,
    tx: Direction,
}

#[derive(Deserialize)]
struct Direction {
    bytes: u64,
    dropped: u64,
}

impl Lab {
    /// Everything about the lab as it is now.
    pub fn status(&self) -> Result<Status, LabError> {
        let links = self.links()?;
        let nodes = self.nodes().map(|name| {
            Ok(NodeStatus {
                address: self.address(&name)?,
                root: self.root(&name)?,
                processes: self.processes(&name)?,
                link: self.counters(&links, &name)?,
                name,
            })
        });
        Ok(Status {
            spec: self.spec().clone(),
            keeper: self.keeper().pid,
            rootless: self.keeper().rootless,
            age: identity::age(&self.keeper().identity()).unwrap_or(0.0),
            nodes: nodes.collect::<Result<_, LabError>>()?,
        })
    }

    /// The host's numbers of the lab's processes in a node's network: agents and what they started.
    pub fn processes(&self, node: &str) -> Result<Vec<u32>, LabError> {
        let entry = self.entry(node)?;
        let net = entry.net.as_ref().expect("a node has a network");
        let wanted = net.inode().map_err(|source| LabError::Enter {
            lab: self.name().to_owned(),
            node: node.to_owned(),
            source,
        })?;
        // Proxies outside of the lab and who has only entered the network aren't the lab's.
        let lab = namespace_of(self.keeper().pid, "pid");
        let proc = std::path::Path::new("/proc");
        let entries = fs::read_dir(proc).map_err(LabError::file("read folder", proc))?;
        let mut found: Vec<u32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| namespace_of(*pid, "net") == Some(wanted))
            .filter(|pid| namespace_of(*pid, "pid") == lab)
            .collect();
        found.sort_unstable();
        Ok(found)
    }

    fn links(&self) -> Result<Vec<Link>, LabError> {
        let mut command = std::process::Command::new(Tool::Ip.find()?);
        command.args(["-j", "-s", "link", "show"]);
        self.switch_entry()?.attach(&mut command);
        let text = Tool::Ip.run(command, "", "switch")?;
        serde_json::from_slice(&text).map_err(|error| LabError::Tool {
            tool: "ip",
            place: "switch".to_owned(),
            reason: format!("unknown output: {error}"),
        })
    }

    fn counters(&self, links: &[Link], node: &str) -> Result<PortCounters, LabError> {
        let port = plan::port(self.number(node)?);
        let link = links.iter().find(|link| link.ifname == port);
        Ok(link.map_or_else(PortCounters::default, |link| PortCounters {
            sent: link.stats64.rx.bytes,
            received: link.stats64.tx.bytes,
            dropped: link.stats64.tx.dropped,
        }))
    }
}

/// The inode of a process's namespace; `None` for one that has ended or isn't ours to see.
fn namespace_of(pid: u32, kind: &str) -> Option<u64> {
    let metadata = fs::metadata(format!("/proc/{pid}/ns/{kind}")).ok()?;
    Some(metadata.ino())
}
