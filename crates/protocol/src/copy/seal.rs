//! Sealing: authenticated encryption of blocks (AES-256-GCM).
//!
//! The nonce consists of the block's index and the encoding of its bytes. So each key and nonce
//! encrypt only one plaintext: a block's digest is fixed, and its encoded bytes are a function of
//! block and encoding.

use aws_lc_rs::aead::{Aad, LessSafeKey};
use garland_core::plan::NodeId;
use thiserror::Error;

use crate::copy::frame::{FRAME_LEN, Frame, body};
use crate::copy::keys::{KeyName, Keys};
use crate::wire::make_nonce;

/// The number of bytes that sealing adds to a block.
pub const TAG_LEN: usize = 16;

/// Why a sealed block is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SealError {
    /// The block or its header was changed.
    #[error("the block was changed in transit")]
    Changed,
}

impl Keys {
    /// Returns the sealer of `node` in `incarnation` for the run that contains block `index`.
    #[must_use]
    pub fn sealer(&self, node: NodeId, incarnation: u64, index: u64) -> Sealer {
        let name = KeyName::new(node, incarnation, index);
        Sealer { name, key: self.sealing_key(name) }
    }

    /// Opens a sealed block in place. `block` has the sealed bytes and the tag; afterwards its
    /// first `frame.packed` bytes are the plaintext. Of an unencrypted block only the length is
    /// checked. In both cases the contents are later compared with the digest that the source
    /// signed.
    ///
    /// # Errors
    /// Fails if a byte was changed, or the length is not that of the header.
    pub fn open(
        &mut self,
        frame: &Frame,
        header: &[u8; FRAME_LEN],
        block: &mut [u8],
    ) -> Result<(), SealError> {
        let opened = if frame.sealed {
            let nonce = make_nonce(frame.index, frame.form as u8);
            let key = self.opening_key(KeyName::new(frame.sealer, frame.incarnation, frame.index));
            key.open_in_place(nonce, Aad::from(body(header)), block).ok()
        } else {
            Some(block)
        };
        let whole = opened.filter(|opened| opened.len() == frame.packed as usize);
        whole.map(|_| ()).ok_or(SealError::Changed)
    }
}

/// Seals blocks with one node's key of one incarnation.
pub struct Sealer {
    name: KeyName,
    key: LessSafeKey,
}

impl Sealer {
    /// Whether this sealer has the key for block `index` in this incarnation.
    #[must_use]
    pub fn seals(&self, incarnation: u64, index: u64) -> bool {
        self.name == KeyName::new(self.name.sealer, incarnation, index)
    }

    /// Seals `block`, which `frame` describes, in place, and returns the tag to append. The header
    /// is authenticated, too.
    ///
    /// # Panics
    /// Never for blocks of a layout: the cipher's limit is 64 GiB.
    #[must_use]
    pub fn seal(&self, frame: &Frame, header: &[u8; FRAME_LEN], block: &mut [u8]) -> [u8; TAG_LEN] {
        let nonce = make_nonce(frame.index, frame.form as u8);
        let tag = self
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(body(header)), block)
            .expect("a block is far below the cipher's limit");
        tag.as_ref().try_into().expect("an AES-GCM tag has 16 bytes")
    }
}

/// Returns the digest of a block's bytes: BLAKE3.
#[must_use]
pub fn content_digest(block: &[u8]) -> [u8; 32] {
    *blake3::hash(block).as_bytes()
}

/// Digests the bytes of a block piece by piece.
#[derive(Default)]
pub struct ContentHasher(blake3::Hasher);

impl ContentHasher {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the [`content_digest`] of all bytes.
    #[must_use]
    pub fn finish(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

/// Returns the digest of a whole source: BLAKE3 of its blocks' digests, in order.
#[must_use]
pub fn root_digest(contents: &[[u8; 32]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for content in contents {
        hasher.update(content);
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::copy_id::CopyId;
    use crate::copy::frame::{Encoding, Kind};
    use crate::copy::keys::KEY_BLOCKS;
    use crate::wire::Secret;

    const COPY: CopyId = CopyId([3; 16]);

    fn sealed(keys: &Keys, plain: &[u8]) -> (Frame, [u8; FRAME_LEN], Vec<u8>) {
        let mut frame = Frame::bare(Kind::Block, COPY, 0, 11);
        frame.sealed = true;
        frame.length = u32::try_from(plain.len()).unwrap();
        frame.packed = frame.length;
        let header = frame.to_bytes(keys);
        let mut block = plain.to_vec();
        let tag = keys.sealer(NodeId(0), 0, 11).seal(&frame, &header, &mut block);
        block.extend(tag);
        (frame, header, block)
    }

    #[test]
    fn sealed_blocks_open_and_changed_ones_do_not() {
        let mut keys = Keys::new(&Secret([5; 32]), COPY);
        let (frame, header, block) = sealed(&keys, b"the bytes of a block");
        let mut opened = block.clone();
        keys.open(&frame, &header, &mut opened).unwrap();
        assert_eq!(&opened[..20], b"the bytes of a block");
        for at in 0..block.len() {
            let mut flipped = block.clone();
            flipped[at] ^= 1;
            assert_eq!(keys.open(&frame, &header, &mut flipped), Err(SealError::Changed));
        }
        let mut other_place = frame.clone();
        other_place.index = 12;
        let header = other_place.to_bytes(&keys);
        assert!(keys.open(&other_place, &header, &mut block.clone()).is_err(), "another index");
    }

    #[test]
    fn sealers_and_incarnations_have_keys_of_their_own() {
        let keys = Keys::new(&Secret([5; 32]), COPY);
        let frame = Frame::bare(Kind::Block, COPY, 0, 0);
        let header = frame.to_bytes(&keys);
        let tag = |node, incarnation| {
            keys.sealer(NodeId(node), incarnation, 0).seal(&frame, &header, &mut [0; 64])
        };
        assert_ne!(tag(0, 0), tag(1, 0));
        assert_ne!(tag(0, 0), tag(0, 1));
        assert_eq!(tag(2, 2), tag(2, 2));
    }

    #[test]
    fn a_key_seals_a_bounded_run_of_blocks() {
        let keys = Keys::new(&Secret([5; 32]), COPY);
        let sealer = keys.sealer(NodeId(0), 1, 0);
        assert!(sealer.seals(1, KEY_BLOCKS - 1) && !sealer.seals(1, KEY_BLOCKS));
        assert!(!sealer.seals(2, 0));
        let frame = Frame::bare(Kind::Block, COPY, 0, 0);
        let header = frame.to_bytes(&keys);
        let next = keys.sealer(NodeId(0), 1, KEY_BLOCKS);
        let tags = [&sealer, &next].map(|sealer| sealer.seal(&frame, &header, &mut [0; 64]));
        assert_ne!(tags[0], tags[1]);
    }

    #[test]
    fn a_block_in_another_form_has_another_nonce() {
        let keys = Keys::new(&Secret([5; 32]), COPY);
        let sealed = |form| {
            let frame = Frame { form, ..Frame::bare(Kind::Block, COPY, 0, 3) };
            let mut block = [0; 64];
            let _ = keys.sealer(NodeId(0), 1, 3).seal(&frame, &[0; FRAME_LEN], &mut block);
            block
        };
        // Zeros were sealed, so these are the key streams: with one nonce for two texts, their
        // difference would be visible.
        assert_ne!(sealed(Encoding::Plain), sealed(Encoding::Zstd));
        assert_ne!(sealed(Encoding::Lz4), sealed(Encoding::Zstd));
    }

    #[test]
    fn a_clear_block_has_the_length_that_its_header_says() {
        let mut keys = Keys::new(&Secret([5; 32]), COPY);
        let mut frame = Frame::bare(Kind::Block, COPY, 0, 0);
        (frame.length, frame.packed) = (3, 3);
        let header = frame.to_bytes(&keys);
        assert!(keys.open(&frame, &header, &mut b"abc".to_vec()).is_ok());
        assert!(keys.open(&frame, &header, &mut b"ab".to_vec()).is_err());
    }
}
