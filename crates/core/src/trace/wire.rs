//! The encoding of a record in 64 bytes: the kind, then fields at fixed offsets, little endian,
//! padded with zeros.

use super::record::{Direction, Disk, Lost, Probe, Record, Socket, Span, Thread};
use super::stage::Stage;

/// The length of a record in a file, in bytes.
pub const RECORD_LEN: usize = 64;

/// The kind of the end record, which contains the number of records before it.
const END: u8 = 0xff;

/// The byte range of the number of records in the end record.
const END_COUNT: std::ops::Range<usize> = 8..16;

/// A decoded record of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A record of the trace.
    Record(Record),
    /// The end record, with the number of records before it.
    End(u64),
}

/// Encodes a record in the format of trace files.
pub fn to_bytes(record: &Record) -> [u8; RECORD_LEN] {
    let mut bytes = [0; RECORD_LEN];
    bytes[0] = match record {
        Record::Span(_) => 1,
        Record::Socket(_) => 2,
        Record::Probe(_) => 3,
        Record::Thread(_) => 4,
        Record::Disk(_) => 5,
        Record::Lost(_) => 6,
    };
    let mut cursor = Cursor { rest: &mut bytes[1..], writes: true, is_valid: true };
    cursor.record(&mut { *record });
    bytes
}

/// Encodes the end record after `records` records.
pub fn end_bytes(records: u64) -> [u8; RECORD_LEN] {
    let mut bytes = [0; RECORD_LEN];
    bytes[0] = END;
    bytes[END_COUNT].copy_from_slice(&records.to_le_bytes());
    bytes
}

/// Decodes 64 bytes; `None` if they are neither a record nor an end record.
pub fn read(bytes: &[u8; RECORD_LEN]) -> Option<Line> {
    let mut record = match bytes[0] {
        1 => Record::Span(Span::default()),
        2 => Record::Socket(Socket::default()),
        3 => Record::Probe(Probe::default()),
        4 => Record::Thread(Thread::default()),
        5 => Record::Disk(Disk::default()),
        6 => Record::Lost(Lost::default()),
        END => {
            let count = bytes[END_COUNT].try_into().ok()?;
            return Some(Line::End(u64::from_le_bytes(count)));
        }
        _ => return None,
    };
    let mut bytes = *bytes;
    let mut cursor = Cursor { rest: &mut bytes[1..], writes: false, is_valid: true };
    cursor.record(&mut record);
    cursor.is_valid.then_some(Line::Record(record))
}

/// A position in the bytes of a record. Fields are written to it or read from it, so that their
/// order is the same in both directions.
struct Cursor<'a> {
    rest: &'a mut [u8],
    writes: bool,
    /// Whether all values read so far are valid.
    is_valid: bool,
}

impl Cursor<'_> {
    /// Writes or reads all fields of a record after its kind.
    fn record(&mut self, record: &mut Record) {
        match record {
            Record::Span(it) => {
                self.stage(&mut it.stage);
                self.u16s([&mut it.lane, &mut it.peer, &mut it.thread]);
                self.u64s([&mut it.begin_ns, &mut it.end_ns, &mut it.busy_ns, &mut it.bytes]);
                self.u32s([&mut it.block, &mut it.count]);
                self.u16s([&mut it.operation]);
            }
            Record::Socket(it) => {
                self.direction(&mut it.direction);
                self.u16s([&mut it.lane, &mut it.peer]);
                self.pad::<2>();
                self.u64s([&mut it.at_ns, &mut it.bytes, &mut it.busy_us]);
                self.u64s([&mut it.rwnd_limited_us, &mut it.sndbuf_limited_us]);
                self.u32s([&mut it.retransmitted, &mut it.rtt_us]);
                self.u32s([&mut it.cwnd, &mut it.delivery_kb_s]);
            }
            Record::Probe(it) => {
                self.pad::<1>();
                self.u16s([&mut it.peer]);
                self.pad::<4>();
                self.u64s([&mut it.sent_ns, &mut it.received_ns]);
                self.u64s([&mut it.answered_ns, &mut it.back_ns]);
            }
            Record::Thread(it) => {
                self.stage(&mut it.what);
                self.u16s([&mut it.thread]);
                self.pad::<4>();
                self.u64s([&mut it.at_ns, &mut it.running_ns, &mut it.waiting_ns]);
            }
            Record::Disk(it) => {
                self.pad::<3>();
                self.u32s([&mut it.in_flight]);
                self.u64s([&mut it.at_ns, &mut it.read_bytes, &mut it.written_bytes]);
                self.u32s([&mut it.reads, &mut it.writes, &mut it.read_ms, &mut it.write_ms]);
                self.u32s([&mut it.flushes, &mut it.flush_ms, &mut it.busy_ms, &mut it.queue_ms]);
            }
            Record::Lost(it) => {
                self.stage(&mut it.stage);
                self.u16s([&mut it.lane, &mut it.peer]);
                self.pad::<2>();
                self.u64s([&mut it.count, &mut it.busy_ns, &mut it.bytes]);
            }
        }
    }

    /// Advances by `N` bytes and returns them; when writing, stores `bytes` in them first.
    fn field<const N: usize>(&mut self, bytes: [u8; N]) -> [u8; N] {
        let rest = std::mem::take(&mut self.rest);
        let (field, rest) = rest.split_first_chunk_mut().expect("the fields fit a record");
        self.rest = rest;
        if self.writes {
            *field = bytes;
        }
        *field
    }

    fn pad<const N: usize>(&mut self) {
        self.field([0; N]);
    }

    fn u16s<const N: usize>(&mut self, fields: [&mut u16; N]) {
        for field in fields {
            *field = u16::from_le_bytes(self.field(field.to_le_bytes()));
        }
    }

    fn u32s<const N: usize>(&mut self, fields: [&mut u32; N]) {
        for field in fields {
            *field = u32::from_le_bytes(self.field(field.to_le_bytes()));
        }
    }

    fn u64s<const N: usize>(&mut self, fields: [&mut u64; N]) {
        for field in fields {
            *field = u64::from_le_bytes(self.field(field.to_le_bytes()));
        }
    }

    fn stage(&mut self, stage: &mut Stage) {
        let [number] = self.field([stage.number()]);
        match Stage::of_number(number) {
            Some(read) => *stage = read,
            None => self.is_valid = false,
        }
    }

    fn direction(&mut self, direction: &mut Direction) {
        match self.field([*direction as u8]) {
            [0] => *direction = Direction::Up,
            [1] => *direction = Direction::Down,
            _ => self.is_valid = false,
        }
    }
}
