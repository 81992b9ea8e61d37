use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use garland_sys::identity;
use garland_topology::{MediumId, MediumKind};
use serde::Serialize;

use crate::counters::{Counters, PortCounters};
use crate::medium::ports;
use crate::{DelayBy, DelayCounters, Lab, LabError, Spec, device};

/// The current state of a lab.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The description of the lab.
    pub spec: Spec,
    /// The process ID of its keeper.
    pub keeper: u32,
    /// Whether the lab is in a user namespace.
    pub rootless: bool,
    /// The time since the keeper was started, in seconds; 0 if unknown.
    pub age: f64,
    /// The lab's media.
    pub media: Vec<MediumStatus>,
    /// What holds the frames of media with a delay; `None` in a lab without them.
    pub delay_by: Option<DelayBy>,
    /// What the lab's own delay line has done; `None` if the lab has none.
    pub delay: Option<DelayCounters>,
    /// The lab's nodes, the head first.
    pub nodes: Vec<NodeStatus>,
}

/// The current state of a medium.
#[derive(Debug, Clone, Serialize)]
pub struct MediumStatus {
    /// The medium's name.
    pub name: String,
    /// The number of its stations: NICs and other media.
    pub stations: usize,
    /// The bytes that stations have sent, as the kernel counts them.
    pub carried: u64,
    /// The frames that were dropped because a buffer of the medium was full, or that the lab's own
    /// delay line has lost.
    pub lost: u64,
}

/// The current state of a node.
#[derive(Debug, Clone, Serialize)]
pub struct NodeStatus {
    /// The node's name.
    pub name: String,
    /// The address by which other nodes reach the node.
    pub address: Ipv4Addr,
    /// The path of the node's root directory on the host.
    pub root: PathBuf,
    /// The process IDs of its processes, as the host sees them.
    pub processes: Vec<u32>,
    /// The NICs of the node.
    pub nics: Vec<NicStatus>,
}

/// The current state of a NIC.
#[derive(Debug, Clone, Serialize)]
pub struct NicStatus {
    /// The device name on the node.
    pub name: String,
    /// The name of the medium that the NIC is plugged into.
    pub medium: String,
    /// The counters of the port that the NIC is plugged into.
    #[serde(flatten)]
    pub port: PortCounters,
}

impl Lab {
    /// Returns the current state of the lab.
    pub fn status(&self) -> Result<Status, LabError> {
        let counters = self.counters()?;
        let delayed = self.delay_counters_by_medium()?;
        let lost_late = |medium: MediumId| {
            delayed.as_ref().map_or(0, |all: &Vec<DelayCounters>| all[medium].lost)
        };
        let topology = &self.spec().topology;
        let nodes = topology.nodes.iter().enumerate().map(|(id, node)| {
            let nics = topology.nics_of(id).map(|(id, nic)| NicStatus {
                name: nic.name.clone(),
                medium: topology.media[nic.medium].name.clone(),
                port: counters.port(&device::port(id)),
            });
            Ok(NodeStatus {
                name: node.name.clone(),
                address: node.address,
                root: self.root(&node.name)?,
                processes: self.processes(&node.name)?,
                nics: nics.collect(),
            })
        });
        Ok(Status {
            keeper: self.keeper().pid,
            rootless: self.keeper().rootless,
            age: identity::age(&self.keeper().identity()).unwrap_or(0.0),
            media: (0..topology.media.len())
                .map(|id| self.medium(id, &counters, lost_late(id)))
                .collect(),
            delay_by: self.keeper().delay.as_ref().map(|delay| delay.by),
            delay: self.delay_counters()?,
            nodes: nodes.collect::<Result<_, LabError>>()?,
            spec: self.spec().clone(),
        })
    }

    fn medium(&self, id: MediumId, counters: &Counters, lost_late: u64) -> MediumStatus {
        let topology = &self.spec().topology;
        let medium = &topology.media[id];
        let attached = ports(topology, id);
        let all = attached.iter().map(|port| counters.port(&port.device));
        let (sent, lost) =
            all.fold((0, 0), |(sent, lost), port| (sent + port.sent, lost + port.lost));
        // The frames of a hub arrive at a port twice: before and after they are queued for the
        // wire.
        let shared = counters.root(&device::shared(id));
        let carried = match medium.kind {
            MediumKind::Hub { .. } => shared.bytes,
            MediumKind::Switch { .. } | MediumKind::Wire => sent,
        };
        MediumStatus {
            name: medium.name.clone(),
            stations: attached.len(),
            carried,
            lost: lost + shared.drops + lost_late,
        }
    }

    /// Returns the process IDs, as the host sees them, of the lab's processes in a node's network
    /// namespace: agents and their children.
    pub fn processes(&self, node: &str) -> Result<Vec<u32>, LabError> {
        let entry = self.entry(node)?;
        let net = entry.net.as_ref().expect("a node has a network");
        let wanted = net.inode().map_err(|source| self.enter_failed(node, source))?;
        // Proxies, and processes that have only entered the network namespace, do not belong to the
        // lab.
        let lab = namespace_of(self.keeper().pid, "pid");
        let proc = std::path::Path::new("/proc");
        let entries = fs::read_dir(proc).map_err(LabError::file("read directory", proc))?;
        let mut found: Vec<u32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| namespace_of(*pid, "net") == Some(wanted))
            .filter(|pid| namespace_of(*pid, "pid") == lab)
            .collect();
        found.sort_unstable();
        Ok(found)
    }
}

/// Returns the inode of a process's namespace; `None` if the process has ended or this user may not
/// see it.
fn namespace_of(pid: u32, kind: &str) -> Option<u64> {
    let stat = fs::metadata(format!("/proc/{pid}/ns/{kind}")).ok()?;
    Some(stat.ino())
}
