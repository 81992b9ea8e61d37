//! The status of a mount, which consists of counters.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::Mount;

/// The counters of a mount since it began: requests by the kernel, and the traffic with the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Reads by the kernel, without the reads that the kernel's page cache served.
    pub reads: u64,
    /// Reads that the read-ahead served without waiting.
    pub reads_ahead: u64,
    /// Writes by the kernel.
    pub writes: u64,
    /// Lookups of names by the kernel.
    pub lookups: u64,
    /// Files that were opened or created.
    pub opens: u64,
    /// Opens of files whose cached pages the kernel kept, since the files were unchanged.
    pub opens_unchanged: u64,
    /// Inodes that the kernel knows now.
    pub known: u64,
    /// Files and directories that are open now.
    pub open: u64,
    /// The nodes, in the order of the node list.
    pub nodes: Vec<NodeAccount>,
}

/// The counters of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAccount {
    /// The node's name.
    pub name: String,
    /// Whether the mount is connected to the node now.
    pub connected: bool,
    /// Why the node is not connected; `None` if it is, or if no connection was tried.
    pub reason: Option<String>,
    /// Requests that were sent to the node.
    pub asked: u64,
    /// Payload bytes received from the node.
    pub bytes_read: u64,
    /// Payload bytes sent to the node.
    pub bytes_written: u64,
    /// Written bytes that the node has not acknowledged yet.
    pub bytes_behind: u64,
    /// The number of times that an established connection was lost.
    pub lost: u64,
}

impl Mount {
    /// Returns the current counters.
    pub fn account(&self) -> Account {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let nodes = self.peers.iter().zip(&self.windows).map(|(peer, window)| {
            let (connected, reason) = peer.standing();
            NodeAccount {
                name: peer.name.clone(),
                connected,
                reason,
                asked: of(&peer.traffic.asked),
                bytes_read: of(&peer.traffic.read),
                bytes_written: of(&peer.traffic.written),
                bytes_behind: window.used() as u64,
                lost: of(&peer.traffic.lost),
            }
        });
        let figures = &self.figures;
        Account {
            reads: of(&figures.reads),
            reads_ahead: of(&figures.ahead),
            writes: of(&figures.writes),
            lookups: of(&figures.lookups),
            opens: of(&figures.opens),
            opens_unchanged: of(&figures.kept),
            known: self.inodes.count() as u64,
            open: self.opens.count() as u64,
            nodes: nodes.collect(),
        }
    }
}
