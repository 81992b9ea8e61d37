//! The parameters of a copy on one node.

use std::sync::Arc;

use garland_core::plan::NodeId;
use garland_protocol::copy::{Begin, CopyId, DigestKey};
use garland_protocol::wire::Secret;
use garland_sys::mptcp::Transport;
use garland_transport::link_pool::LinkPool;

use super::Notice;
use crate::awake::Awake;
use crate::compress::Packing;
use crate::faults::Faults;
use crate::recorder::Collector;
use crate::store::Store;

/// The parameters of a [`CopyContext`](super::CopyContext).
pub struct CopyConfig {
    /// The ID of the copy.
    pub id: CopyId,
    /// This node's index in the plan.
    pub me: NodeId,
    /// The secret of the copy, from which its keys are derived.
    pub secret: Secret,
    /// The key with which the source signs the digests of blocks; on other nodes, the key to verify
    /// them.
    pub digest_key: DigestKey,
    /// Whether blocks are encrypted.
    pub sealed: bool,
    /// Whether this node is the source.
    pub is_source: bool,
    /// The number of blocks that each lane may have in memory; none derives it from the block size.
    pub buffers: Option<u16>,
    /// Whether the node reports every block that it has written.
    pub acknowledge: bool,
    /// How the blocks that are read here are compressed.
    pub packing: Packing,
    /// The number of lanes that this node is on.
    pub lane_count: usize,
    /// The destination of the blocks on this node.
    pub store: Box<dyn Store>,
    /// The congestion control algorithms to use for links, best first.
    pub congestion: Vec<String>,
    /// The transport of the links that this node opens.
    pub transport: Transport,
    /// The rate limit of each link in bytes per second; 0 for no limit.
    pub pace: u64,
    /// The pool that idle links go to after the copy; none if links end with the copy.
    pub link_pool: Option<Arc<LinkPool>>,
    /// Collects the trace of the copy on this node.
    pub trace: Arc<Collector>,
    /// The faults that are injected into this node.
    pub faults: Faults,
    /// Measures how long the busiest thread of the agent's copies is awake.
    pub awake: Arc<Awake>,
    /// Called with each report of a thread of the copy, on that thread.
    pub notices: Box<dyn Fn(Notice) + Send + Sync>,
}

impl CopyConfig {
    /// Returns the parameters of an agent's copy, as the head describes it in `begin`. Links are
    /// not kept after the copy.
    pub fn from_begin(
        begin: &Begin,
        is_source: bool,
        store: Box<dyn Store>,
        trace: Arc<Collector>,
        awake: &Arc<Awake>,
        notices: Box<dyn Fn(Notice) + Send + Sync>,
    ) -> Self {
        Self {
            id: begin.copy,
            me: begin.me,
            secret: begin.secret.clone(),
            digest_key: begin.digest_key.clone(),
            sealed: begin.sealed,
            is_source,
            buffers: Some(begin.buffers).filter(|&buffers| buffers > 0),
            acknowledge: begin.acknowledge,
            packing: Packing::None,
            lane_count: begin.own_lanes().count(),
            store,
            congestion: begin.congestion.clone(),
            transport: Transport::mptcp_if(begin.mptcp),
            pace: begin.pace,
            link_pool: None,
            trace,
            faults: Faults::new(&begin.injections),
            awake: Arc::clone(awake),
            notices,
        }
    }
}
