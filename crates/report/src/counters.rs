//! The kernel's counters in a trace, as series of numbers with a name and a unit.

use garland_core::trace::{Direction, Disk, Probe, Record, Socket, Stage, Thread};

use crate::format::Unit;

/// The object that a counter measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Of {
    /// A connection of a lane to the node `peer`; `up` if `peer` is the sender.
    Socket { lane: u16, peer: u16, up: bool },
    /// A thread, by number, and its stage.
    Thread { thread: u16, what: Stage },
    /// The disk below the source or the destination.
    Disk,
    /// The head's probe of another node's clock.
    Clock { peer: u16 },
}

/// A counter and its value at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The object that the counter measures.
    pub(crate) of: Of,
    /// The counter's name.
    pub(crate) what: &'static str,
    /// The unit of `value`.
    pub(crate) unit: Unit,
    pub(crate) value: u64,
}

impl Of {
    /// Returns the object's name. `peer` is the name of the other node, if the object has one.
    pub(crate) fn name(self, peer: &str) -> String {
        match self {
            Self::Socket { lane, up: true, .. } => format!("link from {peer}, lane {lane}"),
            Self::Socket { lane, up: false, .. } => format!("link to {peer}, lane {lane}"),
            Self::Thread { thread, what } => format!("thread {thread} ({what})"),
            Self::Disk => "disk".to_owned(),
            Self::Clock { .. } => format!("clock of {peer}"),
        }
    }

    /// Returns the other node's index in the plan; `None` if the object concerns only one node.
    pub(crate) fn peer(self) -> Option<u16> {
        match self {
            Self::Socket { peer, .. } | Self::Clock { peer } => Some(peer),
            Self::Thread { .. } | Self::Disk => None,
        }
    }
}

/// Returns the time of a record by its node's clock in nanoseconds, and its counters; `None` for
/// spans.
pub(crate) fn readings(record: &Record) -> Option<(u64, Vec<Reading>)> {
    match record {
        Record::Socket(socket) => Some((socket.at_ns, of_socket(socket))),
        Record::Thread(thread) => Some((thread.at_ns, of_thread(thread))),
        Record::Disk(disk) => Some((disk.at_ns, of_disk(disk))),
        Record::Probe(probe) => Some((probe.sent_ns, vec![of_probe(probe)])),
        Record::Span(_) | Record::Lost(_) => None,
    }
}

fn all<const N: usize>(of: Of, rows: [(&'static str, Unit, u64); N]) -> Vec<Reading> {
    rows.into_iter().map(|(what, unit, value)| Reading { of, what, unit, value }).collect()
}

fn of_socket(socket: &Socket) -> Vec<Reading> {
    let Socket { lane, peer, direction, .. } = *socket;
    let us = |us: u64| us.saturating_mul(1000);
    all(
        Of::Socket { lane, peer, up: direction == Direction::Up },
        [
            ("bytes", Unit::Bytes, socket.bytes),
            ("busy", Unit::Time, us(socket.busy_us)),
            ("receiver's window full", Unit::Time, us(socket.rwnd_limited_us)),
            ("send buffer too small", Unit::Time, us(socket.sndbuf_limited_us)),
            ("segments sent again", Unit::Count, u64::from(socket.retransmitted)),
            ("round trip", Unit::Time, us(u64::from(socket.rtt_us))),
            ("segments under way at most", Unit::Count, u64::from(socket.cwnd)),
            ("delivery rate", Unit::Rate, u64::from(socket.delivery_kb_s) * 1000),
        ],
    )
}

fn of_thread(thread: &Thread) -> Vec<Reading> {
    all(
        Of::Thread { thread: thread.thread, what: thread.what },
        [
            ("running", Unit::Time, thread.running_ns),
            ("waiting for a processor", Unit::Time, thread.waiting_ns),
        ],
    )
}

fn of_disk(disk: &Disk) -> Vec<Reading> {
    let ms = |ms: u32| u64::from(ms) * 1_000_000;
    all(
        Of::Disk,
        [
            ("operations under way", Unit::Count, u64::from(disk.in_flight)),
            ("read", Unit::Bytes, disk.read_bytes),
            ("written", Unit::Bytes, disk.written_bytes),
            ("reads", Unit::Count, u64::from(disk.reads)),
            ("writes", Unit::Count, u64::from(disk.writes)),
            ("time of reads", Unit::Time, ms(disk.read_ms)),
            ("time of writes", Unit::Time, ms(disk.write_ms)),
            ("flushes", Unit::Count, u64::from(disk.flushes)),
            ("time of flushes", Unit::Time, ms(disk.flush_ms)),
            ("busy", Unit::Time, ms(disk.busy_ms)),
            ("time of all operations", Unit::Time, ms(disk.queue_ms)),
        ],
    )
}

/// Returns the round-trip time of a clock probe, without the time that the other node took to
/// reply.
fn of_probe(probe: &Probe) -> Reading {
    let whole = probe.back_ns.saturating_sub(probe.sent_ns);
    let there = probe.answered_ns.saturating_sub(probe.received_ns);
    Reading {
        of: Of::Clock { peer: probe.peer },
        what: "round trip",
        unit: Unit::Time,
        value: whole.saturating_sub(there),
    }
}
