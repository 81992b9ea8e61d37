use serde::{Deserialize, Serialize};

use super::Stage;

/// No lane, no peer.
pub const NONE: u16 = u16::MAX;

/// No block.
pub const NO_BLOCK: u32 = u32::MAX;

/// One line of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// A stage at work or waiting.
    Span(Span),
    /// What the kernel knew of a connection.
    Socket(Socket),
    /// A round trip between two clocks.
    Probe(Probe),
    /// What the scheduler knew of a thread.
    Thread(Thread),
    /// What the kernel knew of a disk.
    Disk(Disk),
    /// What there was no room for.
    Lost(Lost),
}

/// A stage at work or waiting.
///
/// One span has `busy_ns == end_ns - begin_ns` unless the stage shared its time with others (bytes
/// are received and passed on in turns) or neighbors were merged: then its busy time lies somewhere
/// between its begin and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Which stage.
    pub stage: Stage,
    /// The lane's number; [`NONE`] where it is for all lanes.
    pub lane: u16,
    /// The other node's place in the plan; [`NONE`] where the stage concerns this node alone.
    pub peer: u16,
    /// The thread's number in this node.
    pub thread: u16,
    /// When it began, in nanoseconds of this node's monotonic clock.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Nanoseconds of it that belong to this stage.
    pub busy_ns: u64,
    /// Bytes that went through it.
    pub bytes: u64,
    /// The (first) block's number in the copy, or [`NO_BLOCK`].
    pub block: u32,
    /// How many blocks, at least 1.
    pub count: u32,
    /// The operation of `--op-size` that the (first) block begins in, counted from 1; 0 without one.
    pub operation: u16,
}

/// What a [`Stage::Control`] span is about: the number in its `block`.
///
/// At the head a span begins with the order's sending and ends with the answer. At an agent it is
/// the obeying. `Operation` is a lane's own, at either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exchange {
    /// From `Begin` to `Ready`.
    Begin,
    /// From `Commit` to `Committed`.
    Commit,
    /// From `Close` to `Closed`.
    Close,
    /// From `Queue` to `Admitted`: the node's memory was others'.
    Queue,
    /// A lane that could send and may not yet: its downstream has to ask for the blocks first, or
    /// to write those of an earlier operation.
    Operation,
}

impl Exchange {
    /// Its number, as a span's `block`.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The exchange of this number.
    #[must_use]
    pub fn of_number(number: u32) -> Option<Self> {
        let all = [Self::Begin, Self::Commit, Self::Close, Self::Queue, Self::Operation];
        all.get(number as usize).copied()
    }
}

/// Which of a node's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From the upstream.
    Up,
    /// To the downstream.
    Down,
}

/// What the kernel knew of a connection (`TCP_INFO`), counted from its beginning. A link that stood
/// before the copy has counts from before it: only differences between samples mean anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Socket {
    /// The lane's number.
    pub lane: u16,
    /// The node at its other end.
    pub peer: u16,
    /// Which link of the lane.
    pub direction: Direction,
    /// When it was asked.
    pub at_ns: u64,
    /// Bytes that were acknowledged by the other end (down), or received (up).
    pub bytes: u64,
    /// Microseconds with something to send or unacknowledged.
    pub busy_us: u64,
    /// Of these, with the other end's window full.
    pub rwnd_limited_us: u64,
    /// Of these, with the own send buffer too small.
    pub sndbuf_limited_us: u64,
    /// Segments that were sent again.
    pub retransmitted: u32,
    /// Smoothed round-trip time in microseconds.
    pub rtt_us: u32,
    /// Segments that may be under way.
    pub cwnd: u32,
    /// The latest delivery rate, in units of 1000 bytes per second.
    pub delivery_kb_s: u32,
}

/// A round trip of the head's question what time it is: four readings of two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The node that was asked.
    pub peer: u16,
    /// When the head asked, by its clock.
    pub sent_ns: u64,
    /// When the question had come, by the node's clock.
    pub received_ns: u64,
    /// When it was answered, by the node's clock.
    pub answered_ns: u64,
    /// When the answer had come, by the head's clock.
    pub back_ns: u64,
}

/// What the scheduler knew of a thread (`/proc/thread-self/schedstat`), counted from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The thread's number in this node, as in its spans.
    pub thread: u16,
    /// The stage that it is there for.
    pub what: Stage,
    /// When it was asked.
    pub at_ns: u64,
    /// Nanoseconds that it ran.
    pub running_ns: u64,
    /// Nanoseconds that it could have run and had no processor.
    pub waiting_ns: u64,
}

/// The kernel's counters of the disk below the source or the destination
/// (`/sys/dev/block/MAJOR:MINOR/stat`), from the copy's begin. They include all users of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// When it was asked.
    pub at_ns: u64,
    /// Operations under way just then.
    pub in_flight: u32,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Reads that have ended.
    pub reads: u32,
    /// Writes that have ended.
    pub writes: u32,
    /// Milliseconds of these reads, summed.
    pub read_ms: u32,
    /// Milliseconds of these writes, summed.
    pub write_ms: u32,
    /// Flushes that have ended.
    pub flushes: u32,
    /// Milliseconds of these flushes, summed.
    pub flush_ms: u32,
    /// Milliseconds with anything under way.
    pub busy_ms: u32,
    /// Milliseconds that operations were under way, summed over all of them.
    pub queue_ms: u32,
}

/// Spans that are known by their sums only, so that sums stay right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Their stage.
    pub stage: Stage,
    /// Their lane.
    pub lane: u16,
    /// Their peer.
    pub peer: u16,
    /// How many blocks.
    pub count: u64,
    /// Their busy nanoseconds.
    pub busy_ns: u64,
    /// Bytes of these spans.
    pub bytes: u64,
}

impl Record {
    /// When it was: a span's begin, a sample's time, a round trip's begin; none of what was lost.
    #[must_use]
    pub fn at_ns(&self) -> Option<u64> {
        match self {
            Self::Span(span) => Some(span.begin_ns),
            Self::Socket(socket) => Some(socket.at_ns),
            Self::Probe(probe) => Some(probe.sent_ns),
            Self::Thread(thread) => Some(thread.at_ns),
            Self::Disk(disk) => Some(disk.at_ns),
            Self::Lost(_) => None,
        }
    }

    /// Whether its times are in order, as those of every record that was written are.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        match self {
            Self::Span(span) => span.begin_ns <= span.end_ns && span.count > 0,
            Self::Probe(probe) => {
                probe.sent_ns <= probe.back_ns && probe.received_ns <= probe.answered_ns
            }
            _ => true,
        }
    }
}
