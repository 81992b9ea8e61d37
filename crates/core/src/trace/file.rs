use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::record::Record;
use super::wire::{self, Line, RECORD_LEN};

/// The version of a trace's file: it grows when anything in it means something else.
pub const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"GARTRACE";

/// Bytes before the origin: the magic, the version, the origin's length.
const PREFIX: usize = 16;

/// The longest origin that is believed.
const ORIGIN_MAX: usize = 64 << 10;

/// One node's record of one copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Whose it is.
    pub origin: Origin,
    /// What happened, ordered by [`Record::at_ns`]; what was lost comes last.
    pub records: Vec<Record>,
}

/// Whose trace it is, and of what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The node's name in the plan.
    pub node: String,
    /// Its place in the plan; 0 is the head.
    pub index: u16,
    /// What it was there for.
    pub role: Role,
    /// Processors that it may use.
    pub processors: u16,
    /// When its part began, by its own monotonic clock: the command's start at the head, the
    /// coming of the head's `Begin` at an agent.
    pub started_ns: u64,
    /// That moment by its wall clock, in nanoseconds since the start of 1970: for people, and to find
    /// clocks that are far off.
    pub wall_ns: u64,
    /// The copy's identity.
    pub copy: [u8; 16],
    /// The node is a lab's.
    pub emulated: bool,
}

/// What a node is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// It commands, and reads the source of a broadcast.
    Head,
    /// It obeys.
    Agent,
}

/// Where a file ends too early, or stops making sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The byte behind the last record that could be read.
    pub at: usize,
    /// Bytes behind it that could not.
    pub unread: usize,
}

/// Why bytes are no trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// They are something else.
    #[error("it is no trace of garland's")]
    Stranger,
    /// They end before the first record.
    #[error("it is cut off within its first lines, and says nothing")]
    Empty,
    /// They are of another version.
    #[error(
        "it is a trace of version {0}, this garland reads version {VERSION}: \
         read it with the garland that wrote it"
    )]
    Version(u32),
    /// The origin can't be read.
    #[error("its first lines were changed, so nobody can say whose trace it is")]
    Origin,
}

impl Origin {
    /// The name of its file in a run's `trace` directory: `head.trace`, and the node's name elsewhere.
    #[must_use]
    pub fn file_name(&self) -> String {
        if self.index == 0 { "head.trace".to_owned() } else { file_stem(&self.node) + ".trace" }
    }
}

/// A node's name as a file's, with everything but letters, digits and `.,:@_-` written as `%` and two
/// hexadecimal digits.
#[must_use]
pub fn file_stem(node: &str) -> String {
    let mut name = String::new();
    for (at, byte) in node.bytes().enumerate() {
        // Nothing is hidden, and no node is taken for the head.
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
    /// The bytes of a file: the magic, the version and the origin's length (4 bytes each, little
    /// endian), the origin (postcard), records of [`RECORD_LEN`] bytes, and one that says that this
    /// is the end.
    ///
    /// # Panics
    /// Never: an origin always has bytes.
    #[must_use]
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

    /// Orders the records by their times; what was lost comes last.
    pub fn put_in_order(&mut self) {
        self.records.sort_by_key(|record| record.at_ns().unwrap_or(u64::MAX));
    }

    /// Reads a file. One that was cut short is read up to the cut.
    ///
    /// # Errors
    /// When it is no trace, of another version, or cut off before the first record.
    pub fn decode(bytes: &[u8]) -> Result<(Self, Option<Cut>), TraceError> {
        let magic = bytes.get(..MAGIC.len()).ok_or(TraceError::Empty)?;
        if magic != MAGIC {
            return Err(TraceError::Stranger);
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

/// All records from the byte `at` on, and the cut unless the end stands behind them.
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
            0 => write!(f, "it ends early, at byte {}", self.at),
            unread => write!(f, "{unread} bytes from byte {} on make no sense", self.at),
        }
    }
}

#[cfg(test)]
mod tests;
