//! What a copy is to be: its plan, its ends, and how it is made.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use garland_core::plan::{Manifest, NodeId, Plan, Stripes};
use garland_dataplane::Tracing;
use garland_protocol::{Cut, Destination, Head, Injection, Origin, Policy, ReadBack};
use garland_sys::mptcp::Transport;

use garland_dataplane::compress::Packing;
use garland_dataplane::source::Content;
use garland_transport::connection::Connection;

/// A node's agent, ready to take orders.
pub struct Agent {
    /// Its control channel.
    pub connection: Connection,
    /// Where neighbours reach it, one address a rail.
    pub addresses: Vec<SocketAddr>,
}

/// A node that comes when the copy is under way.
pub enum Newcomer {
    /// One of the plan's that couldn't be had at first.
    Late(NodeId, Agent),
    /// One that nobody had planned for, by its name; or why it couldn't be had.
    Joins(String, Result<Agent, String>),
}

/// One copy to be made.
pub struct CopyJob<'a> {
    /// What is to happen.
    pub plan: &'a Plan,
    /// Where the bytes come from and where they go.
    pub ends: Ends,
    /// How the nodes' files are stripes of one; none where each has all of it.
    pub stripes: Option<Stripes>,
    /// The digests of the source's blocks, where they were compared with what nodes have.
    pub known: Option<Vec<[u8; 32]>>,
    /// What may be under way at a time.
    pub pipeline: Pipeline,
    /// What is found out about the file, where it goes, before it gets its name.
    pub read_back: ReadBack,
    /// Whether blocks are sealed.
    pub sealed: bool,
    /// How blocks are packed that this machine reads.
    pub packing: Packing,
    /// Congestion controls to ask for, best first.
    pub congestion: Vec<String>,
    /// What data links speak. An agent takes MPTCP only if it was started with it.
    pub transport: Transport,
    /// What the head may decide.
    pub policy: Policy,
    /// Nodes that come when the copy is under way.
    pub late: Option<Receiver<Newcomer>>,
    /// How it is traced; not at all without.
    pub tracing: Option<Tracing>,
    /// Known faults, and the nodes that are to show them.
    pub injections: Vec<(NodeId, Injection)>,
}

/// The two ends of a copy.
pub enum Ends {
    /// From this machine to every node.
    Out {
        /// What is copied.
        source: Arc<dyn Content>,
        /// Where it goes on every node.
        destination: Destination,
        /// What lies beside every stripe, but for the digests; nothing beside whole files.
        manifest: Option<Manifest>,
    },
    /// From every node to this machine.
    In {
        /// What each node gives, in the plan's order.
        origins: Vec<Origin>,
        /// Where it goes here.
        destination: Destination,
        /// The digests that the nodes' parts must have, in their order; empty where nobody knows.
        digests: Vec<[u8; 32]>,
    },
}

/// What may be under way at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pipeline {
    /// Blocks that each lane may have in memory, at each end; by their size where that isn't said.
    pub buffers: Option<u16>,
    /// The operations that the file is cut into; one window over all of it where there are none.
    pub cut: Option<Cut>,
    /// Bytes a second that each link may carry; as many as it can where it is 0.
    pub pace: u64,
}

/// How far a copy is.
pub struct Progress<'a> {
    /// The copy.
    pub head: &'a Head,
    /// Monotonic nanoseconds.
    pub now_ns: u64,
    /// The nodes whose agents are busy with other copies, while this one waits for them.
    pub waiting: Vec<NodeId>,
}

impl CopyJob<'_> {
    /// Whether nodes may come when it is under way: stripes are nothing without one of their servers, and
    /// of a stream what has gone by is gone.
    #[must_use]
    pub fn takes_latecomers(&self) -> bool {
        !self.policy.together && !self.plan.layout.open
    }

    /// The faults that are to be made at a node.
    pub(super) fn injections_at(&self, id: NodeId) -> Vec<Injection> {
        let here = self.injections.iter().filter(|(at, _)| *at == id);
        here.map(|(_, injection)| *injection).collect()
    }
}
