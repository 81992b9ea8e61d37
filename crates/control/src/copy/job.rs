//! The parameters of a copy: its plan, its source and destination, and its options.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use garland_core::plan::{Manifest, NodeId, Plan, Stripes};
use garland_dataplane::compress::Packing;
use garland_dataplane::recorder::Tracing;
use garland_dataplane::source::Content;
use garland_protocol::copy::{Cut, Destination, Head, Injection, Origin, Policy, ReadBack};
use garland_sys::channel::Receiver;
use garland_sys::mptcp::Transport;
use garland_transport::connection::Connection;
use garland_transport::detour;

/// The agent of a node, ready for orders.
pub struct Agent {
    /// The control channel to the agent.
    pub connection: Connection,
    /// The agent's addresses for data links, one per rail.
    pub addresses: Vec<SocketAddr>,
}

impl Agent {
    /// Returns whether the agent is reached by logins on its node, since its port is not.
    #[must_use]
    pub fn is_behind_login(&self) -> bool {
        self.addresses.iter().any(detour::is_taken)
    }
}

/// The nodes that become available while the copy is running.
pub struct Latecomers {
    /// Receives them.
    pub newcomers: Receiver<Newcomer>,
    /// The nodes of the plan without an agent that are still being reached: the copy is not over
    /// before a [`Newcomer::Late`] came for each.
    pub awaited: Vec<NodeId>,
}

/// A node that becomes available while the copy is running.
pub enum Newcomer {
    /// A node of the plan that was not available when the copy began: its agent or error.
    Late(NodeId, Result<Agent, String>),
    /// A node that is not in the plan: its name, and its agent or error.
    Joins(String, Result<Agent, String>),
}

/// The parameters of a copy.
pub struct CopyJob<'a> {
    /// The plan: the nodes, the block layout, and the lanes.
    pub plan: &'a Plan,
    /// The source and the destination.
    pub ends: Ends,
    /// The stripe of each node; `None` if every node receives the whole file.
    pub stripes: Option<Stripes>,
    /// The digests of the source's blocks, if they were computed by a comparison before the copy;
    /// then nodes keep blocks that they already have.
    pub known: Option<Vec<[u8; 32]>>,
    /// Limits of the pipeline of blocks.
    pub pipeline: Pipeline,
    /// What nodes check in the destination file before it gets its final name.
    pub read_back: ReadBack,
    /// Whether blocks are encrypted.
    pub sealed: bool,
    /// How the blocks that this machine reads are compressed.
    pub packing: Packing,
    /// Congestion controls to use, best first.
    pub congestion: Vec<String>,
    /// The transport of data links. An agent accepts MPTCP only if it was started with MPTCP.
    pub transport: Transport,
    /// The timeouts of the head, and the decisions that it may make.
    pub policy: Policy,
    /// The nodes that other ones reach, and so can feed; `None` for all. The head feeds the rest.
    pub reached: Option<BTreeSet<NodeId>>,
    /// The nodes that become available while the copy is running; `None` if no node can.
    pub late: Option<Latecomers>,
    /// The parameters of the trace; `None` for no trace.
    pub tracing: Option<Tracing>,
    /// Faults to inject, each with its node.
    pub injections: Vec<(NodeId, Injection)>,
}

/// The two ends of a copy.
pub enum Ends {
    /// From this machine to all nodes.
    Out {
        /// The contents to send.
        source: Arc<dyn Content>,
        /// The destination on every node.
        destination: Destination,
        /// The manifest of every stripe, without digests; `None` for whole files.
        manifest: Option<Manifest>,
    },
    /// From all nodes to this machine.
    In {
        /// The files that each node sends, in the order of the plan; usually one.
        origins: Vec<Vec<Origin>>,
        /// The destination on this machine.
        destination: Destination,
        /// The expected digests of the nodes' parts, in the order of nodes; empty if unknown.
        digests: Vec<[u8; 32]>,
    },
}

/// Limits of the pipeline of blocks: buffers, operations in flight, and the rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pipeline {
    /// The number of blocks that each lane may have in memory at each end; the default depends on
    /// the block size.
    pub buffers: Option<u16>,
    /// The division of the file into operations; `None` if the whole file is one operation.
    pub cut: Option<Cut>,
    /// The rate limit of each link in bytes per second; 0 for none.
    pub pace: u64,
}

/// The progress of a copy, as the caller observes it.
pub struct Progress<'a> {
    /// The state machine of the copy.
    pub head: &'a Head,
    /// The present time in monotonic nanoseconds.
    pub now_ns: u64,
    /// The nodes that this copy waits for, because their agents are busy with other copies.
    pub waiting: Vec<NodeId>,
}

impl CopyJob<'_> {
    /// Returns whether nodes may join while the copy is running. They may not join a striped copy,
    /// which needs all of its nodes, or a stream, which cannot be repeated.
    #[must_use]
    pub fn takes_latecomers(&self) -> bool {
        !self.policy.together && !self.plan.layout.open
    }

    /// Returns the faults to inject into a node.
    pub(super) fn injections_at(&self, id: NodeId) -> Vec<Injection> {
        let here = self.injections.iter().filter(|(at, _)| *at == id);
        here.map(|(_, injection)| *injection).collect()
    }
}
