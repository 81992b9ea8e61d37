//! The fixed-size frame that precedes every block on a link, and carries the other messages of
//! links.
//!
//! A frame is authenticated with a key that only the nodes of the copy have, so a relay can trust a
//! header before it forwards the first slice of the block.

use garland_core::plan::NodeId;
use thiserror::Error;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, TryFromBytes};

use crate::copy::copy_id::CopyId;
use crate::copy::keys::Keys;

/// The length of a frame on the wire in bytes.
pub const FRAME_LEN: usize = size_of::<Wire>();

const MAGIC: [u8; 4] = *b"GLF1";
const MAC_LEN: usize = 16;

/// The type of a frame, with its code on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes)]
#[repr(u8)]
pub enum Kind {
    /// Downstream: a block follows, `length` bytes and a tag.
    Block = 1,
    /// Downstream: block `index`, just sent, was cut off upstream and padded; it will be sent
    /// again.
    Void,
    /// Downstream: the lane's last block has been sent; only requested blocks (`Again`) may follow.
    End,
    /// Upstream, first: send the lane's blocks from ordinal `index` on.
    Resume,
    /// Upstream: send the block `index` again.
    Again,
    /// Upstream, before `Resume`: of the 256 blocks from `index` on, the node already has those
    /// whose bit in `bits` is set; they need not be sent.
    Have,
    /// Downstream, before the blocks concerned: `length` bytes of digests follow, signed by the
    /// copy's source, for the lane's blocks from ordinal `index` on
    /// ([`crate::copy::DigestWindows`]).
    Digests,
    /// Downstream, before the last block of a stream if that is short, and before `End`: `length`
    /// bytes follow, by which the source signs that it has `index` blocks
    /// ([`crate::copy::SignedEnd`]).
    SourceEnd,
}

/// The encoding of a block's bytes on the wire. Its code is also part of a seal's nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes)]
#[repr(u8)]
pub enum Encoding {
    /// The plain bytes.
    Plain = 0,
    /// One LZ4 block.
    Lz4,
    /// One Zstandard frame.
    Zstd,
    /// No bytes: the block is all zeros.
    Zeros,
    /// No bytes: the block is a hole in a file.
    Hole,
}

/// A frame whose MAC was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The type.
    pub kind: Kind,
    /// Whether the block that follows is encrypted.
    pub sealed: bool,
    /// The lane's number.
    pub lane: u16,
    /// The copy that the frame belongs to.
    pub copy: CopyId,
    /// The block's index in the copy, or the number that [`Kind`] describes.
    pub index: u64,
    /// The block's length in bytes.
    pub length: u32,
    /// The encoding of the block on the wire.
    pub form: Encoding,
    /// The encoded length in bytes, without the seal's tag.
    pub packed: u32,
    /// The node that sealed the block.
    pub sealer: NodeId,
    /// The incarnation of that node's key.
    pub incarnation: u64,
    /// The bit set of present blocks (`Have`).
    pub bits: [u8; 32],
}

/// Why bytes are not accepted as a frame of this copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The bytes do not have the layout of a frame.
    #[error("the bytes are not a valid frame")]
    Garbage,
    /// The MAC is wrong: the frame was changed, or its sender does not have the copy's key.
    #[error("the frame was changed in transit, or its sender is not part of this copy")]
    Forged,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Wire {
    magic: [u8; 4],
    kind: u8,
    /// Bit 0: whether the block is sealed; the other bits: the encoding.
    sealed: u8,
    lane: U16,
    copy: [u8; 16],
    index: U64,
    length: U32,
    packed: U32,
    sealer: U32,
    incarnation: U64,
    bits: [u8; 32],
    mac: [u8; MAC_LEN],
}

impl Frame {
    /// Returns a frame without a block.
    #[must_use]
    pub fn bare(kind: Kind, copy: CopyId, lane: u16, index: u64) -> Self {
        Self {
            kind,
            sealed: false,
            lane,
            copy,
            index,
            length: 0,
            form: Encoding::Plain,
            packed: 0,
            sealer: NodeId(0),
            incarnation: 0,
            bits: [0; 32],
        }
    }

    /// Returns the bytes on the wire, with a MAC under the copy's key.
    #[must_use]
    pub fn to_bytes(&self, keys: &Keys) -> [u8; FRAME_LEN] {
        let mut wire = Wire {
            magic: MAGIC,
            kind: self.kind as u8,
            sealed: u8::from(self.sealed) | (self.form as u8) << 1,
            lane: self.lane.into(),
            copy: self.copy.0,
            index: self.index.into(),
            length: self.length.into(),
            packed: self.packed.into(),
            sealer: self.sealer.0.into(),
            incarnation: self.incarnation.into(),
            bits: self.bits,
            mac: [0; MAC_LEN],
        };
        wire.mac = keys.mac(body(wire.as_bytes()));
        zerocopy::transmute!(wire)
    }

    /// Parses a frame, and checks its MAC.
    ///
    /// # Errors
    /// Fails if the bytes are not a frame of this copy.
    pub fn parse(bytes: &[u8; FRAME_LEN], keys: &Keys) -> Result<Self, FrameError> {
        let wire = Wire::ref_from_bytes(bytes).map_err(|_| FrameError::Garbage)?;
        let kind = Kind::try_read_from_bytes(&[wire.kind]).map_err(|_| FrameError::Garbage)?;
        if wire.magic != MAGIC {
            return Err(FrameError::Garbage);
        }
        if !keys.is_mac(body(bytes), &wire.mac) {
            return Err(FrameError::Forged);
        }
        let length = wire.length.get();
        let packed = wire.packed.get();
        let form = Encoding::try_read_from_bytes(&[wire.sealed >> 1]).ok();
        let form = form.filter(|form| form.fits(length, packed)).ok_or(FrameError::Garbage)?;
        Ok(Self {
            kind,
            sealed: wire.sealed & 1 != 0,
            lane: wire.lane.get(),
            copy: CopyId(wire.copy),
            index: wire.index.get(),
            length,
            form,
            packed,
            sealer: NodeId(wire.sealer.get()),
            incarnation: wire.incarnation.get(),
            bits: wire.bits,
        })
    }

    /// Returns the copy that an unchecked frame claims to belong to; used to look up the keys.
    #[must_use]
    pub fn claimed_copy(bytes: &[u8; FRAME_LEN]) -> Option<CopyId> {
        let wire = Wire::ref_from_bytes(bytes).ok()?;
        (wire.magic == MAGIC).then_some(CopyId(wire.copy))
    }
}

/// Returns the part of a frame's bytes that its MAC covers; it is also the associated data of a
/// sealed block.
pub(super) fn body(bytes: &[u8]) -> &[u8] {
    &bytes[..FRAME_LEN - MAC_LEN]
}

impl Encoding {
    /// Whether the encoded form of a block of `length` bytes may have `packed` bytes. No encoding
    /// makes a block longer.
    fn fits(self, length: u32, packed: u32) -> bool {
        match self {
            Self::Plain => packed == length,
            Self::Lz4 | Self::Zstd => 0 < packed && packed < length,
            Self::Zeros | Self::Hole => packed == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::Secret;

    fn keys() -> Keys {
        Keys::new(&Secret([7; 32]), CopyId([1; 16]))
    }

    #[test]
    fn a_frame_survives_the_wire() {
        let mut frame = Frame::bare(Kind::Block, CopyId([1; 16]), 3, 1 << 40);
        (frame.length, frame.packed) = (1 << 20, 1 << 20);
        frame.sealer = NodeId(4);
        frame.bits = [9; 32];
        frame.incarnation = 1 << 63 | 5;
        assert_eq!(Frame::parse(&frame.to_bytes(&keys()), &keys()), Ok(frame));
    }

    #[test]
    fn a_block_never_has_more_bytes_on_the_wire() {
        let forms =
            [Encoding::Plain, Encoding::Lz4, Encoding::Zstd, Encoding::Zeros, Encoding::Hole];
        for form in forms {
            for packed in [0, 1, 9, 10, 11, u32::MAX] {
                let mut frame = Frame::bare(Kind::Block, CopyId([1; 16]), 3, 1);
                (frame.form, frame.length, frame.packed) = (form, 10, packed);
                let wanted = match form {
                    Encoding::Plain => packed == 10,
                    Encoding::Lz4 | Encoding::Zstd => packed == 1 || packed == 9,
                    Encoding::Zeros | Encoding::Hole => packed == 0,
                };
                let parsed = Frame::parse(&frame.to_bytes(&keys()), &keys());
                let garbage = Err(FrameError::Garbage);
                assert_eq!(parsed, if wanted { Ok(frame) } else { garbage }, "{form:?} {packed}");
            }
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let bytes = Frame::bare(Kind::Again, CopyId([1; 16]), 0, 5).to_bytes(&keys());
        for bit in 0..FRAME_LEN * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Frame::parse(&flipped, &keys()).is_err(), "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn garbage_is_refused(bytes in proptest::array::uniform32(any::<u8>())) {
            let mut frame = [0; FRAME_LEN];
            frame[..32].copy_from_slice(&bytes);
            prop_assert!(Frame::parse(&frame, &keys()).is_err());
        }
    }
}
