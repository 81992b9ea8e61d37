//! Takes blocks out of their encodings.

use garland_protocol::copy::{Encoding, Frame, content_digest};

use crate::compress::{Unpacker, Zeros};

/// Decompresses blocks. Keeps the last result, which is needed twice: to verify the block and to
/// write it.
#[derive(Default)]
pub struct Unwrapping {
    unpacker: Unpacker,
    room: Vec<u8>,
    /// The index of the block whose decompressed bytes are in `room`, if any.
    holds: Option<u64>,
}

impl Unwrapping {
    /// Returns the digest of a decrypted block's contents; none if they cannot be decompressed to
    /// the length in the header.
    pub fn digest(&mut self, zeros: &Zeros, frame: &Frame, buffer: &[u8]) -> Option<[u8; 32]> {
        // A block that is sent again may have another encoding.
        self.holds = None;
        match frame.form {
            Encoding::Zeros | Encoding::Hole => Some(zeros.digest(frame.length as usize)),
            Encoding::Plain | Encoding::Lz4 | Encoding::Zstd => {
                self.bytes(frame, buffer).map(content_digest)
            }
        }
    }

    /// Returns the contents of a decrypted block; no bytes for zeros and holes. Returns none if
    /// they cannot be decompressed to the length in the header.
    pub fn bytes<'a>(&'a mut self, frame: &Frame, buffer: &'a [u8]) -> Option<&'a [u8]> {
        let length = frame.length as usize;
        let packed = &buffer[..frame.packed as usize];
        match frame.form {
            Encoding::Plain => Some(packed),
            Encoding::Lz4 | Encoding::Zstd if self.holds == Some(frame.index) => Some(&self.room),
            Encoding::Lz4 | Encoding::Zstd => {
                self.room.resize(length, 0);
                let whole = self.unpacker.unpack(frame.form, packed, &mut self.room);
                self.holds = whole.then_some(frame.index);
                whole.then_some(&self.room[..])
            }
            // The store needs no bytes for these.
            Encoding::Zeros | Encoding::Hole => Some(&[]),
        }
    }
}
