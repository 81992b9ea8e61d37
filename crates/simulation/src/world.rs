//! A simulated cluster.

use garland_protocol::copy::Policy;

/// What a receiver does with the received bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SinkKind {
    /// Writes the bytes, and can read them back.
    #[default]
    File,
    /// Drops the bytes.
    Null,
    /// Passes the bytes on in order.
    Stream,
    /// Extracts a tree from the bytes in order. Blocks that the receiver had before the copy are
    /// used when their turn comes; afterwards all blocks can be read back.
    Tree,
}

impl SinkKind {
    /// Returns whether the receiver uses blocks in order.
    #[must_use]
    pub fn is_ordered(self) -> bool {
        matches!(self, Self::Stream | Self::Tree)
    }
}

/// The speed and the kind of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeWorld {
    /// The rate of the node's disk in bytes per second.
    pub disk_rate: u64,
    /// The rate at which the node's writer opens and writes blocks, in bytes per second of CPU
    /// time.
    pub cpu_rate: u64,
    /// The rate of the node's wire in each direction and lane, in bytes per second.
    pub wire_rate: u64,
    /// What the node does with the received bytes.
    pub sink: SinkKind,
    /// The share of blocks that the node has before the copy, in thousandths; only for a file or a
    /// tree.
    pub has: u32,
}

/// Links, disks and delays. Times are in nanoseconds, rates in bytes per second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// The rate of the head's wire in each direction and lane.
    pub link_rate: u64,
    /// The latency from one end of a link to the other; at least 1.
    pub latency_ns: u64,
    /// The number of bytes that a relay forwards at a time.
    pub slice: u32,
    /// The number of whole blocks that fit into a link's socket buffers.
    pub window: usize,
    /// The time to open a link, in addition to the latency.
    pub connect_ns: u64,
    /// The time for which an agent keeps a link whose route has not arrived.
    pub accept_ns: u64,
    /// The latency of control messages.
    pub control_ns: u64,
    /// The maximum of the random additional delay of control messages; their order is kept.
    pub control_jitter_ns: u64,
    /// The interval between heartbeats.
    pub heartbeat_ns: u64,
    /// Whether the source is a stream: its end is not known before it is read, and the head keeps
    /// only blocks that some node lacks.
    pub stream: bool,
    /// The number of slots of a node's writer.
    pub room: usize,
    /// The time from the commit to the final name.
    pub commit_ns: u64,
    /// The receivers, in the order of the plan.
    pub nodes: Vec<NodeWorld>,
    /// The time in nanoseconds after which an unfinished run counts as stuck.
    pub limit_ns: u64,
}

impl World {
    /// Returns a world of `receivers` equal nodes on links of `link_rate` bytes per second: 50 µs
    /// latency, slices of 64 KiB, 0.2 ms to connect, disks with 2 GiB/s, and unlimited CPUs.
    #[must_use]
    pub fn uniform(receivers: usize, link_rate: u64) -> Self {
        let disk_rate = 2 << 30;
        let cpu_rate = u64::MAX;
        let wire_rate = link_rate;
        let node = NodeWorld { disk_rate, cpu_rate, wire_rate, ..NodeWorld::default() };
        Self {
            link_rate,
            latency_ns: 50_000,
            slice: 64 << 10,
            window: 2,
            connect_ns: 200_000,
            accept_ns: 1_000_000_000,
            control_ns: 100_000,
            control_jitter_ns: 0,
            heartbeat_ns: Policy::for_nodes(receivers).heartbeat_ns,
            stream: false,
            room: 8,
            commit_ns: 1_000_000,
            nodes: vec![node; receivers],
            limit_ns: 3_600_000_000_000,
        }
    }
}

/// Returns the time that `bytes` bytes need at `rate` bytes per second, in nanoseconds.
pub(crate) fn nanoseconds(bytes: u64, rate: u64) -> u64 {
    let ns = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}
