use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::record::Record;
use super::wire::{self, Line, RECORD_LEN};

/// The version of the file format; it is incremented when the meaning of a field changes.
pub const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"GARTRACE";

/// The number of bytes before the origin: magic, version, and length of the origin.
const PREFIX: usize = 16;

/// The maximum length of an origin in bytes.
const ORIGIN_MAX: usize = 64 << 10;

/// The trace of one node in one copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The node and the copy of the trace.
    pub origin: Origin,
    /// The records, sorted by [`Record::at_ns`]; [`Record::Lost`] comes last.
    pub records: Vec<Record>,
}

/// Identifies a trace: its node and its copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The node's name in the plan.
    pub node: String,
    /// The node's index in the plan; 0 is the head.
    pub index: u16,
    /// The node's role.
    pub role: Role,
    /// The number of CPUs that the process may use.
    pub processors: u16,
    /// When the node joined the copy, in nanoseconds of its monotonic clock: the start of the
    /// command at the head, the arrival of `Begin` at an agent.
    pub started_ns: u64,
    /// `started_ns` as a time of the node's wall clock, in nanoseconds since 1970-01-01: for
    /// display, and to detect clocks that are far off.
    pub wall_ns: u64,
    /// The identity of the copy, equal in the traces of all its nodes.
    pub copy: [u8; 16],
    /// Whether the node is part of an emulated lab.
    pub emulated: bool,
}

/// The role of a node in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The head controls the copy, and reads the source of a broadcast.
    Head,
    /// An agent executes the head's orders.
    Agent,
}

/// The position where a file is truncated or damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The offset after the last valid record.
    pub at: usize,
    /// The number of unread bytes after that offset.
    pub unread: usize,
}

/// The error for bytes that are not a trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// The magic bytes are missing.
    #[error("the file is not a garland trace")]
    NotTrace,
    /// The file ends before the first record.
    #[error("the trace is truncated before its first record")]
    Empty,
    /// The file has this version, which is not supported.
    #[error(
        "the trace has version {0}, this garland reads version {VERSION}: \
         read it with the garland that wrote it"
    )]
    Version(u32),
    /// The origin cannot be decoded, or is too long.
    #[error("the header of the trace is damaged: its node is unknown")]
    Origin,
}

impl Origin {
    /// Returns the name of the trace's file in the `trace` directory of a run: `head.trace`, or the
    /// node's name with `.trace`.
    pub fn file_name(&self) -> String {
        if self.index == 0 { "head.trace".to_owned() } else { file_stem(&self.node) + ".trace" }
    }
}

/// Converts a node's name to a file name. All bytes but letters, digits and `.,:@_-` become `%` and
/// two hexadecimal digits; so does the first byte of a hidden name and of `head`.
pub fn file_stem(node: &str) -> String {
    let mut name = String::new();
    for (at, byte) in node.bytes().enumerate() {
        // Avoid hidden files, and a node whose file would be taken for the head's.
        let first = at == 0 && (byte == b'.' || node == "head");
        if !first && (byte.is_ascii_alphanumeric() || b".,:@_-".contains(&byte)) {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02x}"));
        }
    }
    name
}

impl Trace {
    /// Returns the bytes of the file: the magic, the version and the origin's length (4 bytes each,
    /// little endian), the origin (postcard), records of [`RECORD_LEN`] bytes, and an end record.
    ///
    /// # Panics
    /// Never: an origin can always be serialized.
    pub fn encode(&self) -> Vec<u8> {
        let origin = postcard::to_stdvec(&self.origin).expect("an origin is plain");
        let mut bytes = Vec::with_capacity(
            PREFIX + origin.len() + (self.records.len() + 1).saturating_mul(RECORD_LEN),
        );
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(u32::try_from(origin.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(origin);
        for record in &self.records {
            bytes.extend(wire::to_bytes(record));
        }
        bytes.extend(wire::end_bytes(self.records.len() as u64));
        bytes
    }

    /// Sorts the records by time; [`Record::Lost`] comes last.
    pub fn put_in_order(&mut self) {
        self.records.sort_by_key(|record| record.at_ns().unwrap_or(u64::MAX));
    }

    /// Parses a file. A truncated or damaged file is read up to its first invalid record, and its
    /// [`Cut`] is returned as well.
    ///
    /// # Errors
    /// If the bytes are not a trace, have another version, or end before the first record.
    pub fn decode(bytes: &[u8]) -> Result<(Self, Option<Cut>), TraceError> {
        let magic = bytes.get(..MAGIC.len()).ok_or(TraceError::Empty)?;
        if magic != MAGIC {
            return Err(TraceError::NotTrace);
        }
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
            bytes.map(u32::from_le_bytes).ok_or(TraceError::Empty)
        };
        let version = number(8)?;
        if version != VERSION {
            return Err(TraceError::Version(version));
        }
        let length = number(12)? as usize;
        if length > ORIGIN_MAX {
            return Err(TraceError::Origin);
        }
        let origin = bytes.get(PREFIX..PREFIX + length).ok_or(TraceError::Empty)?;
        let origin = postcard::from_bytes(origin).map_err(|_| TraceError::Origin)?;
        let (records, cut) = read_records(bytes, PREFIX + length);
        Ok((Self { origin, records }, cut))
    }
}

/// Returns the valid records from offset `at` on, and the cut unless a valid end record follows
/// them.
fn read_records(bytes: &[u8], mut at: usize) -> (Vec<Record>, Option<Cut>) {
    let mut records = Vec::with_capacity((bytes.len() - at) / RECORD_LEN);
    while let Some(line) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        match wire::read(line) {
            Some(Line::Record(record)) if record.is_sound() => records.push(record),
            Some(Line::End(count)) if count == records.len() as u64 => return (records, None),
            _ => break,
        }
        at += RECORD_LEN;
    }
    let cut = Cut { at, unread: bytes.len() - at };
    (records, Some(cut))
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unread {
            0 => write!(f, "the file is truncated at byte {}", self.at),
            unread => write!(f, "{unread} bytes from byte {} on cannot be read", self.at),
        }
    }
}

#[cfg(test)]
mod tests;
