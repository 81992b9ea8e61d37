use serde::{Deserialize, Serialize};

use super::Stage;

/// The number that means no lane or no peer.
pub const NONE: u16 = u16::MAX;

/// The number that means no block.
pub const NO_BLOCK: u32 = u32::MAX;

/// A record of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// A period of work or waiting.
    Span(Span),
    /// A sample of a connection's counters.
    Socket(Socket),
    /// Four clock readings of a round trip, which compare two clocks.
    Probe(Probe),
    /// A sample of a thread's scheduler counters.
    Thread(Thread),
    /// A sample of a disk's counters.
    Disk(Disk),
    /// The sums of spans that did not fit in the buffer and were discarded.
    Lost(Lost),
}

/// A period in which a thread was at one stage, working or waiting.
///
/// `busy_ns == end_ns - begin_ns` unless the stage alternated with others (bytes are received and
/// forwarded in turns) or neighbouring spans were merged: then the busy time is spread between
/// start and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// What the thread did, or waited for.
    pub stage: Stage,
    /// The lane's number; [`NONE`] if the span concerns all lanes.
    pub lane: u16,
    /// The other node's index in the plan; [`NONE`] if no other node is involved.
    pub peer: u16,
    /// The number of the thread, which is unique in this node.
    pub thread: u16,
    /// The start, in nanoseconds of this node's monotonic clock.
    pub begin_ns: u64,
    /// The end, in nanoseconds of this node's monotonic clock.
    pub end_ns: u64,
    /// The time spent in this stage, in nanoseconds.
    pub busy_ns: u64,
    /// The number of bytes processed.
    pub bytes: u64,
    /// The index of the block in the copy, or of the first block if there are several; [`NO_BLOCK`]
    /// if there is none.
    pub block: u32,
    /// The number of blocks, at least 1.
    pub count: u32,
    /// The number, from 1, of the operation (`--op-size`) in which the first block begins; 0
    /// without operations.
    pub operation: u16,
}

/// The kind of exchange in a [`Stage::Control`] span, as the number in its `block`.
///
/// At the head, a span lasts from sending the order to receiving the answer. At an agent it is the
/// execution of the order. `Operation` is a wait of one lane, at the head or at an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exchange {
    /// The exchange of the messages `Begin` and `Ready`.
    Begin,
    /// The exchange of the messages `Commit` and `Committed`.
    Commit,
    /// The exchange of the messages `Close` and `Closed`.
    Close,
    /// The messages `Queue` and `Admitted`: other copies used the node's memory in the meantime.
    Queue,
    /// A lane waited for permission to send: its downstream must first request the blocks, or write
    /// those of an earlier operation.
    Operation,
}

impl Exchange {
    /// Returns the number of this exchange in the `block` of a span.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Returns the exchange with this number; `None` if there is none.
    pub fn of_number(number: u32) -> Option<Self> {
        let all = [Self::Begin, Self::Commit, Self::Close, Self::Queue, Self::Operation];
        all.get(number as usize).copied()
    }
}

/// One of the two links of a node in a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// The link from the upstream.
    #[default]
    Up,
    /// The link to the downstream.
    Down,
}

/// A sample of a connection's counters (`TCP_INFO`), which are 0 when the connection is opened.
/// Links outlive copies, so only differences between samples are meaningful.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Socket {
    /// The lane's number.
    pub lane: u16,
    /// The index of the node at the other end.
    pub peer: u16,
    /// Which of the node's two links in the lane the connection is.
    pub direction: Direction,
    /// The time of the sample, in nanoseconds of this node's monotonic clock.
    pub at_ns: u64,
    /// Bytes that the downstream has acknowledged, or that were received from the upstream.
    pub bytes: u64,
    /// Microseconds with unsent or unacknowledged data.
    pub busy_us: u64,
    /// Microseconds of `busy_us` in which the other end's receive window was full.
    pub rwnd_limited_us: u64,
    /// Microseconds of `busy_us` in which this end's send buffer was too small.
    pub sndbuf_limited_us: u64,
    /// Retransmitted segments since the connection was opened.
    pub retransmitted: u32,
    /// Smoothed round-trip time in microseconds.
    pub rtt_us: u32,
    /// The congestion window in segments.
    pub cwnd: u32,
    /// The most recent delivery rate, in units of 1000 bytes per second.
    pub delivery_kb_s: u32,
}

/// A clock probe: four readings of two clocks in a round trip from the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The index of the probed node.
    pub peer: u16,
    /// When the request was sent, by the head's clock.
    pub sent_ns: u64,
    /// When the request arrived, by the node's clock.
    pub received_ns: u64,
    /// When the reply was sent, by the node's clock.
    pub answered_ns: u64,
    /// When the reply arrived, by the head's clock.
    pub back_ns: u64,
}

/// A sample of a thread's scheduler counters (`/proc/thread-self/schedstat`), which are 0 when the
/// thread is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The thread's number in this node, as in its spans.
    pub thread: u16,
    /// The stage in which the thread mainly works.
    pub what: Stage,
    /// The time of the sample, in nanoseconds of this node's monotonic clock.
    pub at_ns: u64,
    /// Nanoseconds in which the thread ran on a CPU.
    pub running_ns: u64,
    /// Nanoseconds in which the thread was runnable but had no CPU.
    pub waiting_ns: u64,
}

/// A sample of the counters of the source's or destination's disk
/// (`/sys/dev/block/MAJOR:MINOR/stat`) since the start of the copy. The counters include other
/// users of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// The time of the sample, in nanoseconds of this node's monotonic clock.
    pub at_ns: u64,
    /// The number of operations in flight at the time of the sample.
    pub in_flight: u32,
    /// Bytes read from the disk.
    pub read_bytes: u64,
    /// Bytes written to the disk.
    pub written_bytes: u64,
    /// The number of completed reads.
    pub reads: u32,
    /// The number of completed writes.
    pub writes: u32,
    /// The total time of the completed reads, in milliseconds.
    pub read_ms: u32,
    /// The total time of the completed writes, in milliseconds.
    pub write_ms: u32,
    /// The number of completed flushes.
    pub flushes: u32,
    /// The total time of the completed flushes, in milliseconds.
    pub flush_ms: u32,
    /// Milliseconds with at least one operation in flight.
    pub busy_ms: u32,
    /// The total time of operations in flight, in milliseconds.
    pub queue_ms: u32,
}

/// The sums of discarded spans of one stage, lane and peer, so that totals stay exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The stage of the discarded spans.
    pub stage: Stage,
    /// The lane's number; [`NONE`] if the spans concern all lanes.
    pub lane: u16,
    /// The other node's index in the plan; [`NONE`] if no other node is involved.
    pub peer: u16,
    /// The number of blocks of the discarded spans.
    pub count: u64,
    /// The sum of the busy times, in nanoseconds.
    pub busy_ns: u64,
    /// The number of bytes of the discarded spans.
    pub bytes: u64,
}

impl Record {
    /// Returns the time of the record in nanoseconds: the start of a span or a round trip, the time
    /// of a sample; `None` for [`Record::Lost`].
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

    /// Returns whether the record's times are in order, which is true of every record that garland
    /// writes.
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
