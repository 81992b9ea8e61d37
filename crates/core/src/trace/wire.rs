//! The encoding of a record in 64 bytes: the kind, then fields at fixed offsets, little endian,
//! padded with zeros.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::record::{Direction, Disk, Lost, Probe, Record, Socket, Span, Thread};
use super::stage::Stage;

/// The length of a record in a file, in bytes.
pub const RECORD_LEN: usize = 64;

/// The kind of the end record, which holds the number of records before it.
const END: u8 = 0xff;

/// A decoded record of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A record of the trace.
    Record(Record),
    /// The end record, with the number of records before it.
    End(u64),
}

macro_rules! wire {
    ($name:ident { $($field:ident: $kind:ty),* $(,)? }) => {
        #[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        struct $name {
            $($field: $kind),*
        }
        const _: () = assert!(size_of::<$name>() == RECORD_LEN);
    };
}

wire!(WireSpan {
    kind: u8,
    stage: u8,
    lane: U16,
    peer: U16,
    thread: U16,
    begin_ns: U64,
    end_ns: U64,
    busy_ns: U64,
    bytes: U64,
    block: U32,
    count: U32,
    operation: U16,
    zeros: [u8; 14],
});

wire!(WireSocket {
    kind: u8,
    direction: u8,
    lane: U16,
    peer: U16,
    zeros: [u8; 2],
    at_ns: U64,
    bytes: U64,
    busy_us: U64,
    rwnd_limited_us: U64,
    sndbuf_limited_us: U64,
    retransmitted: U32,
    rtt_us: U32,
    cwnd: U32,
    delivery_kb_s: U32,
});

wire!(WireProbe {
    kind: u8,
    zeros: u8,
    peer: U16,
    more_zeros: [u8; 4],
    sent_ns: U64,
    received_ns: U64,
    answered_ns: U64,
    back_ns: U64,
    rest: [u8; 24],
});

wire!(WireThread {
    kind: u8,
    what: u8,
    thread: U16,
    zeros: [u8; 4],
    at_ns: U64,
    running_ns: U64,
    waiting_ns: U64,
    rest: [u8; 32],
});

wire!(WireDisk {
    kind: u8,
    zeros: [u8; 3],
    in_flight: U32,
    at_ns: U64,
    read_bytes: U64,
    written_bytes: U64,
    reads: U32,
    writes: U32,
    read_ms: U32,
    write_ms: U32,
    flushes: U32,
    flush_ms: U32,
    busy_ms: U32,
    queue_ms: U32,
});

wire!(WireLost {
    kind: u8,
    stage: u8,
    lane: U16,
    peer: U16,
    zeros: [u8; 2],
    count: U64,
    busy_ns: U64,
    bytes: U64,
    rest: [u8; 32],
});

wire!(WireEnd { kind: u8, zeros: [u8; 7], records: U64, rest: [u8; 48] });

/// Encodes a record.
pub fn to_bytes(record: &Record) -> [u8; RECORD_LEN] {
    match record {
        Record::Span(span) => span_bytes(span),
        Record::Socket(socket) => socket_bytes(socket),
        Record::Probe(probe) => probe_bytes(probe),
        Record::Thread(thread) => thread_bytes(thread),
        Record::Disk(disk) => disk_bytes(disk),
        Record::Lost(lost) => lost_bytes(lost),
    }
}

/// Encodes the end record after `records` records.
pub fn end_bytes(records: u64) -> [u8; RECORD_LEN] {
    fixed(&WireEnd { kind: END, zeros: [0; 7], records: records.into(), rest: [0; 48] })
}

/// Decodes 64 bytes; `None` if they are not a record.
pub fn read(bytes: &[u8; RECORD_LEN]) -> Option<Line> {
    let record = match bytes[0] {
        1 => read_span(bytes)?,
        2 => read_socket(bytes)?,
        3 => read_probe(bytes)?,
        4 => read_thread(bytes)?,
        5 => read_disk(bytes)?,
        6 => read_lost(bytes)?,
        END => {
            let end = WireEnd::read_from_bytes(bytes).ok()?;
            return Some(Line::End(end.records.get()));
        }
        _ => return None,
    };
    Some(Line::Record(record))
}

fn fixed<T: IntoBytes + Immutable>(wire: &T) -> [u8; RECORD_LEN] {
    let mut bytes = [0; RECORD_LEN];
    bytes.copy_from_slice(wire.as_bytes());
    bytes
}

fn span_bytes(span: &Span) -> [u8; RECORD_LEN] {
    fixed(&WireSpan {
        kind: 1,
        stage: span.stage.number(),
        lane: span.lane.into(),
        peer: span.peer.into(),
        thread: span.thread.into(),
        begin_ns: span.begin_ns.into(),
        end_ns: span.end_ns.into(),
        busy_ns: span.busy_ns.into(),
        bytes: span.bytes.into(),
        block: span.block.into(),
        count: span.count.into(),
        operation: span.operation.into(),
        zeros: [0; 14],
    })
}

fn read_span(bytes: &[u8]) -> Option<Record> {
    let wire = WireSpan::read_from_bytes(bytes).ok()?;
    Some(Record::Span(Span {
        stage: Stage::of_number(wire.stage)?,
        lane: wire.lane.get(),
        peer: wire.peer.get(),
        thread: wire.thread.get(),
        begin_ns: wire.begin_ns.get(),
        end_ns: wire.end_ns.get(),
        busy_ns: wire.busy_ns.get(),
        bytes: wire.bytes.get(),
        block: wire.block.get(),
        count: wire.count.get(),
        operation: wire.operation.get(),
    }))
}

fn socket_bytes(socket: &Socket) -> [u8; RECORD_LEN] {
    fixed(&WireSocket {
        kind: 2,
        direction: match socket.direction {
            Direction::Up => 0,
            Direction::Down => 1,
        },
        lane: socket.lane.into(),
        peer: socket.peer.into(),
        zeros: [0; 2],
        at_ns: socket.at_ns.into(),
        bytes: socket.bytes.into(),
        busy_us: socket.busy_us.into(),
        rwnd_limited_us: socket.rwnd_limited_us.into(),
        sndbuf_limited_us: socket.sndbuf_limited_us.into(),
        retransmitted: socket.retransmitted.into(),
        rtt_us: socket.rtt_us.into(),
        cwnd: socket.cwnd.into(),
        delivery_kb_s: socket.delivery_kb_s.into(),
    })
}

fn read_socket(bytes: &[u8]) -> Option<Record> {
    let wire = WireSocket::read_from_bytes(bytes).ok()?;
    let direction = match wire.direction {
        0 => Direction::Up,
        1 => Direction::Down,
        _ => return None,
    };
    Some(Record::Socket(Socket {
        lane: wire.lane.get(),
        peer: wire.peer.get(),
        direction,
        at_ns: wire.at_ns.get(),
        bytes: wire.bytes.get(),
        busy_us: wire.busy_us.get(),
        rwnd_limited_us: wire.rwnd_limited_us.get(),
        sndbuf_limited_us: wire.sndbuf_limited_us.get(),
        retransmitted: wire.retransmitted.get(),
        rtt_us: wire.rtt_us.get(),
        cwnd: wire.cwnd.get(),
        delivery_kb_s: wire.delivery_kb_s.get(),
    }))
}

fn probe_bytes(probe: &Probe) -> [u8; RECORD_LEN] {
    fixed(&WireProbe {
        kind: 3,
        zeros: 0,
        peer: probe.peer.into(),
        more_zeros: [0; 4],
        sent_ns: probe.sent_ns.into(),
        received_ns: probe.received_ns.into(),
        answered_ns: probe.answered_ns.into(),
        back_ns: probe.back_ns.into(),
        rest: [0; 24],
    })
}

fn read_probe(bytes: &[u8]) -> Option<Record> {
    let wire = WireProbe::read_from_bytes(bytes).ok()?;
    Some(Record::Probe(Probe {
        peer: wire.peer.get(),
        sent_ns: wire.sent_ns.get(),
        received_ns: wire.received_ns.get(),
        answered_ns: wire.answered_ns.get(),
        back_ns: wire.back_ns.get(),
    }))
}

fn thread_bytes(thread: &Thread) -> [u8; RECORD_LEN] {
    fixed(&WireThread {
        kind: 4,
        what: thread.what.number(),
        thread: thread.thread.into(),
        zeros: [0; 4],
        at_ns: thread.at_ns.into(),
        running_ns: thread.running_ns.into(),
        waiting_ns: thread.waiting_ns.into(),
        rest: [0; 32],
    })
}

fn read_thread(bytes: &[u8]) -> Option<Record> {
    let wire = WireThread::read_from_bytes(bytes).ok()?;
    Some(Record::Thread(Thread {
        thread: wire.thread.get(),
        what: Stage::of_number(wire.what)?,
        at_ns: wire.at_ns.get(),
        running_ns: wire.running_ns.get(),
        waiting_ns: wire.waiting_ns.get(),
    }))
}

fn disk_bytes(disk: &Disk) -> [u8; RECORD_LEN] {
    fixed(&WireDisk {
        kind: 5,
        zeros: [0; 3],
        in_flight: disk.in_flight.into(),
        at_ns: disk.at_ns.into(),
        read_bytes: disk.read_bytes.into(),
        written_bytes: disk.written_bytes.into(),
        reads: disk.reads.into(),
        writes: disk.writes.into(),
        read_ms: disk.read_ms.into(),
        write_ms: disk.write_ms.into(),
        flushes: disk.flushes.into(),
        flush_ms: disk.flush_ms.into(),
        busy_ms: disk.busy_ms.into(),
        queue_ms: disk.queue_ms.into(),
    })
}

fn read_disk(bytes: &[u8]) -> Option<Record> {
    let wire = WireDisk::read_from_bytes(bytes).ok()?;
    Some(Record::Disk(Disk {
        at_ns: wire.at_ns.get(),
        in_flight: wire.in_flight.get(),
        read_bytes: wire.read_bytes.get(),
        written_bytes: wire.written_bytes.get(),
        reads: wire.reads.get(),
        writes: wire.writes.get(),
        read_ms: wire.read_ms.get(),
        write_ms: wire.write_ms.get(),
        flushes: wire.flushes.get(),
        flush_ms: wire.flush_ms.get(),
        busy_ms: wire.busy_ms.get(),
        queue_ms: wire.queue_ms.get(),
    }))
}

fn lost_bytes(lost: &Lost) -> [u8; RECORD_LEN] {
    fixed(&WireLost {
        kind: 6,
        stage: lost.stage.number(),
        lane: lost.lane.into(),
        peer: lost.peer.into(),
        zeros: [0; 2],
        count: lost.count.into(),
        busy_ns: lost.busy_ns.into(),
        bytes: lost.bytes.into(),
        rest: [0; 32],
    })
}

fn read_lost(bytes: &[u8]) -> Option<Record> {
    let wire = WireLost::read_from_bytes(bytes).ok()?;
    Some(Record::Lost(Lost {
        stage: Stage::of_number(wire.stage)?,
        lane: wire.lane.get(),
        peer: wire.peer.get(),
        count: wire.count.get(),
        busy_ns: wire.busy_ns.get(),
        bytes: wire.bytes.get(),
    }))
}
