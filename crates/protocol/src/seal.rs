//! Sealing: how a block is made unreadable and unchangeable on its way.
//!
//! A sealer derives its key from the copy's secret, its own identity, an incarnation number and the
//! run of 2^14 blocks that the block is in; the nonce is the block's number and the form of its bytes.
//! So a key and a nonce cover one plaintext: a block's digest is fixed, and its form is a function of it.
//! A key seals at most 64 GiB (2^32 blocks of AES), far below what AES-GCM allows (NIST SP 800-38D;
//! draft-irtf-cfrg-aead-limits).

use std::collections::VecDeque;

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::frame::{CopyId, Encoding, FRAME_LEN, Frame, body};
use garland_core::plan::NodeId;

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

/// Blocks in a row that one key seals: a power of two.
const KEY_BLOCKS: u64 = 1 << 14;

/// Keys that are kept to open blocks. Each of a copy's sources has one in use at a time; what is sent
/// again has others, which nobody needs twice.
const OPENING_MAX: usize = 64;

/// What names a sealing key within a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeyName {
    sealer: NodeId,
    incarnation: u64,
    /// Which run of [`KEY_BLOCKS`] blocks.
    run: u64,
}

impl KeyName {
    fn new(sealer: NodeId, incarnation: u64, index: u64) -> Self {
        Self { sealer, incarnation, run: index / KEY_BLOCKS }
    }
}

/// What every member of a copy derives from its secret.
pub struct Keys {
    mark: [u8; 32],
    prk: hkdf::Prk,
    /// The keys used last, the newest first.
    opening: VecDeque<(KeyName, LessSafeKey)>,
}

impl Keys {
    /// The keys of `copy`.
    #[must_use]
    pub fn new(secret: &Secret, copy: CopyId) -> Self {
        let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, &copy.0).extract(&secret.0);
        let mark = expand(&prk, &[b"garland/1 frame mark"]);
        Self { mark, prk, opening: VecDeque::new() }
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

    /// The sealer that `node` is in its `incarnation`, for block `index` and its neighbours.
    #[must_use]
    pub fn sealer(&self, node: NodeId, incarnation: u64, index: u64) -> Sealer {
        let name = KeyName::new(node, incarnation, index);
        Sealer { name, key: sealing_key(&self.prk, name) }
    }

    /// Opens a sealed block in place: `block` is the sealed bytes and the tag; what was sealed is
    /// its first `frame.packed` bytes afterwards. Of a clear block only the length is checked: what it
    /// contains is, in either case, compared with the digest that the source signed.
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
            return if fits { Ok(()) } else { Err(SealError::Changed) };
        }
        let nonce = nonce(frame.index, frame.form);
        let key = self.opening_key(KeyName::new(frame.sealer, frame.incarnation, frame.index));
        let opened = key
            .open_in_place(nonce, Aad::from(body(header)), block)
            .map_err(|_| SealError::Changed)?;
        if opened.len() == frame.packed as usize { Ok(()) } else { Err(SealError::Changed) }
    }

    fn opening_key(&mut self, name: KeyName) -> &LessSafeKey {
        let at = self.opening.iter().position(|(known, _)| *known == name);
        let entry = at.and_then(|at| self.opening.remove(at));
        let entry = entry.unwrap_or_else(|| (name, sealing_key(&self.prk, name)));
        self.opening.truncate(OPENING_MAX - 1);
        self.opening.push_front(entry);
        &self.opening[0].1
    }
}

/// Seals blocks under one node's key of one incarnation.
pub struct Sealer {
    name: KeyName,
    key: LessSafeKey,
}

impl Sealer {
    /// Whether it is the one that seals block `index` in this incarnation.
    #[must_use]
    pub fn seals(&self, incarnation: u64, index: u64) -> bool {
        self.name == KeyName::new(self.name.sealer, incarnation, index)
    }

    /// Seals `block`, which is what `frame` says, in place, bound to its header, and returns the tag
    /// that goes behind it.
    ///
    /// # Panics
    /// Never for blocks of a layout: the cipher's limit is 64 GiB.
    #[must_use]
    pub fn seal(&self, frame: &Frame, header: &[u8; FRAME_LEN], block: &mut [u8]) -> [u8; TAG_LEN] {
        let nonce = nonce(frame.index, frame.form);
        let tag = self
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(body(header)), block)
            .expect("a block is far below the cipher's limit");
        tag.as_ref().try_into().expect("an AES-GCM tag has 16 bytes")
    }
}

/// The digest that stands for a block's bytes: BLAKE3.
#[must_use]
pub fn content_digest(block: &[u8]) -> [u8; 32] {
    *blake3::hash(block).as_bytes()
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

fn sealing_key(prk: &hkdf::Prk, name: KeyName) -> LessSafeKey {
    let KeyName { sealer, incarnation, run } = name;
    let [incarnation, run] = [incarnation, run].map(u64::to_le_bytes);
    let info: [&[u8]; 4] = [b"garland/1 seal", &sealer.0.to_le_bytes(), &incarnation, &run];
    let key = UnboundKey::new(&aead::AES_256_GCM, &expand(prk, &info));
    LessSafeKey::new(key.expect("the key has the cipher's length"))
}

fn expand(prk: &hkdf::Prk, info: &[&[u8]]) -> [u8; 32] {
    let mut key = [0; 32];
    let okm = prk.expand(info, hkdf::HKDF_SHA256).expect("32 bytes are within HKDF's reach");
    okm.fill(&mut key).expect("the output has the length asked for");
    key
}

fn nonce(index: u64, form: Encoding) -> Nonce {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&index.to_le_bytes());
    bytes[8] = form.to_wire();
    Nonce::assume_unique_for_key(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::frame::Kind;
    use super::*;

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
        // The key stream itself, since zeros were sealed: with one nonce two texts would show their
        // difference.
        assert_ne!(sealed(Encoding::Plain), sealed(Encoding::Zstd));
        assert_ne!(sealed(Encoding::Lz4), sealed(Encoding::Zstd));
    }

    #[test]
    fn few_keys_are_kept_to_open_blocks() {
        let mut keys = Keys::new(&Secret([5; 32]), COPY);
        for incarnation in 0..4 * OPENING_MAX as u64 {
            let mut frame = Frame::bare(Kind::Block, COPY, 0, 7);
            (frame.sealed, frame.incarnation) = (true, incarnation);
            (frame.length, frame.packed) = (3, 3);
            let header = frame.to_bytes(&keys);
            let mut block = b"abc".to_vec();
            let tag = keys.sealer(NodeId(0), incarnation, 7).seal(&frame, &header, &mut block);
            block.extend(tag);
            keys.open(&frame, &header, &mut block).unwrap();
            assert!(keys.opening.len() <= OPENING_MAX);
        }
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
