//! The kernel's counters in the network namespace of the media.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// The kernel's counters of a port. Their bytes exclude frame check sequences, preambles and gaps,
/// and include the headers of a large segment only once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PortCounters {
    /// Bytes that the station sent through the port.
    pub sent: u64,
    /// Bytes that the station received through the port.
    pub received: u64,
    /// Frames to the station that were dropped because the port's buffer was full.
    pub lost: u64,
}

/// The counters of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct QueueCounters {
    /// Bytes sent, as the kernel counts them.
    #[serde(default)]
    pub(crate) bytes: u64,
    /// Frames sent; the kernel may count a large segment as one frame.
    #[serde(default)]
    pub(crate) packets: u64,
    /// Frames dropped.
    #[serde(default)]
    pub(crate) drops: u64,
    /// Bytes that are queued now.
    #[serde(default)]
    pub(crate) backlog: u64,
}

/// The counters of all ports and root queues at one moment.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    ports: HashMap<String, PortCounters>,
    roots: HashMap<String, QueueCounters>,
}

impl Counters {
    /// Creates the counters from the output of `ip` and `tc`.
    pub(crate) fn new(links: Vec<Link>, queues: Vec<Queue>) -> Self {
        let ports = links.into_iter().map(|Link { ifname, stats64: LinkStats { rx, tx } }| {
            (ifname, PortCounters { sent: rx.bytes, received: tx.bytes, lost: 0 })
        });
        let roots = queues.into_iter().filter(|queue| queue.root);
        Self {
            ports: ports.collect(),
            roots: roots.map(|queue| (queue.dev, queue.counters)).collect(),
        }
    }

    /// Returns the counters of a port; zeros for an unknown device.
    pub(crate) fn port(&self, device: &str) -> PortCounters {
        let lost = self.root(device).drops;
        PortCounters { lost, ..self.ports.get(device).copied().unwrap_or_default() }
    }

    /// Returns the counters of a device's root queue; zeros if it has none.
    pub(crate) fn root(&self, device: &str) -> QueueCounters {
        self.roots.get(device).copied().unwrap_or_default()
    }
}

/// A link in the output of `ip -j -s link`.
#[derive(Deserialize)]
pub(crate) struct Link {
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
}

/// A queue in the output of `tc -j -s qdisc`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Queue {
    /// The kind of queueing discipline: `tbf`, `htb`, `bfifo`.
    pub(crate) kind: String,
    /// The device; empty if only one device was queried.
    #[serde(default)]
    pub(crate) dev: String,
    /// Whether it is the device's root queue.
    #[serde(default)]
    pub(crate) root: bool,
    /// The counters of the queue.
    #[serde(flatten)]
    pub(crate) counters: QueueCounters,
}
