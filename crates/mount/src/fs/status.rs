//! The status of a mount.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::Mount;

/// The counters of a mount: the kernel's requests, and the traffic to the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Reads by the kernel, which don't include hits in its page cache.
    pub reads: u64,
    /// Reads that the read-ahead served at once.
    pub reads_ahead: u64,
    /// Writes.
    pub writes: u64,
    /// Lookups of names.
    pub lookups: u64,
    /// Opened files.
    pub opens: u64,
    /// Opened files whose cached pages the kernel kept, since they were unchanged.
    pub opens_unchanged: u64,
    /// Inodes that the kernel knows.
    pub known: u64,
    /// Open files and directories.
    pub open: u64,
    /// The nodes, in the list's order.
    pub nodes: Vec<NodeAccount>,
}

/// The traffic to one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAccount {
    /// The node.
    pub name: String,
    /// Whether it is connected.
    pub connected: bool,
    /// The reason why it is not connected, if a connection was tried.
    pub reason: Option<String>,
    /// Requests.
    pub asked: u64,
    /// Payload bytes received.
    pub bytes_read: u64,
    /// Payload bytes sent.
    pub bytes_written: u64,
    /// Written bytes that the node has not acknowledged.
    pub bytes_behind: u64,
    /// Lost connections.
    pub lost: u64,
}

impl Mount {
    /// Returns the counters so far.
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
