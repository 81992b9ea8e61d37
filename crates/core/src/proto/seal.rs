//! Sealing: how a block is made unreadable and unchangeable on its way.
//!
//! A sealer derives its key from the copy's secret, its own identity and an incarnation number; the
//! nonce is the block's number. Every re-seal takes a new incarnation, so no key and nonce ever
//! cover two plaintexts.

use std::collections::HashMap;

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf;
use crc_fast::CrcAlgorithm;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::frame::{Copy, FRAME_LEN, Frame, body};
use crate::plan::NodeId;

/// Bytes that sealing adds to a block.
pub const TAG_LEN: usize = 16;

/// The secret of one copy or session: 32 random bytes that travel only in the control channel.
#[derive(Clone, Serialize, Deserialize)]
pub struct Secret(pub [u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Why a block can't be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SealError {
    /// A byte of the block or its header isn't the one that was sealed.
    #[error("the block was changed on the way")]
    Changed,
}

/// What every member of a copy derives from its secret.
pub struct Keys {
    mark: [u8; 32],
    prk: hkdf::Prk,
    opening: HashMap<(NodeId, u32), LessSafeKey>,
}

impl Keys {
    /// The keys of `copy`.
    #[must_use]
    pub fn new(secret: &Secret, copy: Copy) -> Self {
        let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, &copy.0).extract(&secret.0);
        let mark = expand(&prk, &[b"garland/1 frame mark"]);
        Self { mark, prk, opening: HashMap::new() }
    }

    /// The mark that authenticates a frame's bytes: a keyed BLAKE3, cut to 16 bytes.
    pub(super) fn mark(&self, body: &[u8]) -> [u8; 16] {
        let hash = blake3::keyed_hash(&self.mark, body);
        hash.as_bytes()[..16].try_into().expect("a BLAKE3 hash has 32 bytes")
    }

    /// Whether `mark` is the one of `body`, compared in constant time.
    pub(super) fn is_mark(&self, body: &[u8], mark: &[u8; 16]) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(&self.mark(body), mark).is_ok()
    }

    /// The sealer that `node` is in its `incarnation`.
    #[must_use]
    pub fn sealer(&self, node: NodeId, incarnation: u32) -> Sealer {
        Sealer { key: sealing_key(&self.prk, node, incarnation) }
    }

    /// Opens a sealed block in place: `block` is the sealed bytes and the tag; what was sealed is
    /// its first `frame.packed` bytes afterwards. A clear block is checked instead.
    ///
    /// # Errors
    /// When any byte isn't the one that was sealed, or the length isn't the header's.
    pub fn open(
        &mut self,
        frame: &Frame,
        header: &[u8; FRAME_LEN],
        block: &mut [u8],
    ) -> Result<(), SealError> {
        if !frame.sealed {
            let fits = block.len() == frame.packed as usize;
            let same = fits && content_check(block) == frame.check;
            return if same { Ok(()) } else { Err(SealError::Changed) };
        }
        let Self { prk, opening, .. } = self;
        let key = opening
            .entry((frame.sealer, frame.incarnation))
            .or_insert_with(|| sealing_key(prk, frame.sealer, frame.incarnation));
        let opened = key
            .open_in_place(nonce(frame.index), Aad::from(body(header)), block)
            .map_err(|_| SealError::Changed)?;
        if opened.len() == frame.packed as usize { Ok(()) } else { Err(SealError::Changed) }
    }
}

/// Seals blocks under one node's key of one incarnation.
pub struct Sealer {
    key: LessSafeKey,
}

impl Sealer {
    /// Seals `block` in place, bound to its header, and returns the tag that goes behind it.
    ///
    /// # Panics
    /// Never for blocks of a layout: the cipher's limit is 64 GiB.
    #[must_use]
    pub fn seal(&self, index: u64, header: &[u8; FRAME_LEN], block: &mut [u8]) -> [u8; TAG_LEN] {
        let tag = self
            .key
            .seal_in_place_separate_tag(nonce(index), Aad::from(body(header)), block)
            .expect("a block is far below the cipher's limit");
        tag.as_ref().try_into().expect("an AES-GCM tag has 16 bytes")
    }
}

/// The digest that stands for a block's bytes: BLAKE3.
#[must_use]
pub fn content_digest(block: &[u8]) -> [u8; 32] {
    *blake3::hash(block).as_bytes()
}

/// The checksum of a clear block: CRC-64/NVME, which today's processors fold at memory speed.
#[must_use]
pub fn content_check(block: &[u8]) -> u64 {
    crc_fast::checksum(CrcAlgorithm::Crc64Nvme, block)
}

/// The digest that stands for a whole source: BLAKE3 over its blocks' digests, in order.
#[must_use]
pub fn root_digest(contents: &[[u8; 32]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for content in contents {
        hasher.update(content);
    }
    *hasher.finalize().as_bytes()
}

fn sealing_key(prk: &hkdf::Prk, node: NodeId, incarnation: u32) -> LessSafeKey {
    let info: [&[u8]; 3] = [b"garland/1 seal", &node.0.to_le_bytes(), &incarnation.to_le_bytes()];
    let key = UnboundKey::new(&aead::AES_256_GCM, &expand(prk, &info));
    LessSafeKey::new(key.expect("the key has the cipher's length"))
}

fn expand(prk: &hkdf::Prk, info: &[&[u8]]) -> [u8; 32] {
    let mut key = [0; 32];
    let okm = prk.expand(info, hkdf::HKDF_SHA256).expect("32 bytes are within HKDF's reach");
    okm.fill(&mut key).expect("the output has the length asked for");
    key
}

fn nonce(index: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&index.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::frame::Kind;
    use super::*;

    const COPY: Copy = Copy([3; 16]);

    fn sealed(keys: &Keys, plain: &[u8]) -> (Frame, [u8; FRAME_LEN], Vec<u8>) {
        let mut frame = Frame::bare(Kind::Block, COPY, 0, 11);
        frame.sealed = true;
        frame.length = u32::try_from(plain.len()).unwrap();
        frame.packed = frame.length;
        frame.content = content_digest(plain);
        let header = frame.to_bytes(keys);
        let mut block = plain.to_vec();
        let tag = keys.sealer(NodeId(0), 0).seal(11, &header, &mut block);
        block.extend(tag);
        (frame, header, block)
    }

    #[test]
    fn what_is_sealed_opens_and_nothing_else() {
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
        let header = Frame::bare(Kind::Block, COPY, 0, 0).to_bytes(&keys);
        let tag = |node, incarnation| {
            keys.sealer(NodeId(node), incarnation).seal(0, &header, &mut [0; 64])
        };
        assert_ne!(tag(0, 0), tag(1, 0));
        assert_ne!(tag(0, 0), tag(0, 1));
        assert_eq!(tag(2, 2), tag(2, 2));
    }

    #[test]
    fn a_clear_block_is_checked() {
        let mut keys = Keys::new(&Secret([5; 32]), COPY);
        let mut frame = Frame::bare(Kind::Block, COPY, 0, 0);
        (frame.length, frame.packed) = (3, 3);
        frame.check = content_check(b"abc");
        let header = frame.to_bytes(&keys);
        assert!(keys.open(&frame, &header, &mut b"abc".to_vec()).is_ok());
        assert!(keys.open(&frame, &header, &mut b"abd".to_vec()).is_err());
        assert!(keys.open(&frame, &header, &mut b"ab".to_vec()).is_err());
    }
}
