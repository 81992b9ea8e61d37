//! What a simulated cluster is like.

/// What a receiver does with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkKind {
    /// It writes them, and can read them back.
    File,
    /// It drops them.
    Null,
    /// It passes them on in their order.
    Stream,
    /// It makes a tree of them, in their order; what it had before it takes at its turn, and then it
    /// can read all back.
    Tree,
}

impl SinkKind {
    /// Whether it takes blocks in their order.
    #[must_use]
    pub fn is_ordered(self) -> bool {
        matches!(self, Self::Stream | Self::Tree)
    }
}

/// One receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeWorld {
    /// Bytes a second that its disk takes.
    pub disk_rate: u64,
    /// Bytes a second for which its writer gets a CPU, to open and write them.
    pub cpu_rate: u64,
    /// Bytes a second that its wire carries in each direction, a lane.
    pub wire_rate: u64,
    /// What it does with the bytes.
    pub sink: SinkKind,
    /// What of the blocks it has before the copy begins, in thousandths, if it is a file or a tree.
    pub has: u32,
}

/// Links, disks and delays. All times are in nanoseconds, all rates in bytes a second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// What the head's wire carries in each direction, a lane.
    pub link_rate: u64,
    /// From one end of a link to the other; at least 1.
    pub latency_ns: u64,
    /// What a relay passes on at a time, in bytes.
    pub slice: u32,
    /// How many whole blocks wait in a link's socket buffers before its sender has to.
    pub window: usize,
    /// To open a link, beside the latency.
    pub connect_ns: u64,
    /// How long an agent keeps a link whose route it hasn't been told yet.
    pub accept_ns: u64,
    /// From the head to an agent or back.
    pub control_ns: u64,
    /// A control message takes up to this much longer, by chance; order is kept.
    pub control_jitter_ns: u64,
    /// Between two heartbeats.
    pub heartbeat_ns: u64,
    /// Whether the source is a stream, whose end nobody knows before it comes, and of which the head
    /// keeps only what some node still lacks.
    pub stream: bool,
    /// How many blocks a node's writer may have before it makes receiving wait.
    pub room: usize,
    /// From the commit to the final name.
    pub commit_ns: u64,
    /// Of each receiver, in the plan's order.
    pub nodes: Vec<NodeWorld>,
    /// A run that hasn't ended by then is stuck.
    pub limit_ns: u64,
}

impl World {
    /// `receivers` equal nodes on links of `link_rate` bytes a second: 50 µs latency, slices of
    /// 64 KiB, 0.2 ms to connect, disks that take 2 GiB/s, and CPUs to spare.
    #[must_use]
    pub fn uniform(receivers: usize, link_rate: u64) -> Self {
        Self {
            link_rate,
            latency_ns: 50_000,
            slice: 64 << 10,
            window: 2,
            connect_ns: 200_000,
            accept_ns: 1_000_000_000,
            control_ns: 100_000,
            control_jitter_ns: 0,
            heartbeat_ns: 100_000_000,
            stream: false,
            room: 8,
            commit_ns: 1_000_000,
            nodes: vec![
                NodeWorld {
                    disk_rate: 2 << 30,
                    cpu_rate: u64::MAX,
                    wire_rate: link_rate,
                    sink: SinkKind::File,
                    has: 0,
                };
                receivers
            ],
            limit_ns: 3_600_000_000_000,
        }
    }
}

/// How long `bytes` take at `rate` bytes a second.
pub(crate) fn nanoseconds(bytes: u64, rate: u64) -> u64 {
    let ns = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}
