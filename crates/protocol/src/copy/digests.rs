//! Digests signed by the source of a copy, with which each node checks the blocks.
//!
//! All nodes of a copy know its secret, so encryption and MACs only keep outsiders out. Only the
//! source can authenticate the contents of blocks: it signs the digests of consecutive blocks of a
//! lane (a window) with Ed25519, and sends each window down the data links before its blocks. Nodes
//! forward windows unchanged, so the source sends each window once.

use std::collections::BTreeMap;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use garland_core::plan::LaneBlocks;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::copy::copy_id::CopyId;
use crate::copy::sink::{Sink, SinkError};
use crate::wire::Secret;

/// The maximum number of digests in a window.
pub const WINDOW_MAX: usize = 1024;

/// Bytes of a window's signature.
const SIGNATURE_LEN: usize = 64;

/// Bytes of a digest.
const DIGEST_LEN: usize = 32;

/// The maximum length of a window on the wire in bytes: digests and signature.
pub const WINDOW_BYTES_MAX: usize = WINDOW_MAX * DIGEST_LEN + SIGNATURE_LEN;

/// The source's signing key, or its public key, which the other nodes know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum DigestKey {
    /// The public key: this node checks signatures.
    Check([u8; 32]),
    /// The seed of the key pair: this node is the source.
    Sign(Secret),
}

impl DigestKey {
    /// Returns the public form, for nodes that only check signatures.
    #[must_use]
    pub fn to_public(&self) -> Self {
        match self {
            Self::Check(key) => Self::Check(*key),
            Self::Sign(seed) => {
                let key = key_pair(seed).public_key().as_ref().try_into();
                Self::Check(key.expect("an Ed25519 public key has 32 bytes"))
            }
        }
    }
}

/// Why a window of digests is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DigestError {
    /// The length or position of the window is impossible.
    #[error("the length or position of a window of digests is impossible in this lane")]
    Malformed,
    /// The window, or the end of a stream, is not signed by the copy's source.
    #[error("digests, or the end of a stream, without a valid signature of the copy's source")]
    Forged,
    /// The source has previously signed another digest for one of the blocks.
    #[error("{0}")]
    Changed(#[from] SinkError),
}

/// The end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEnd {
    /// The number of blocks.
    pub blocks: u64,
    /// The length of the last block in bytes; 0 if there is none.
    pub last_length: u32,
}

impl StreamEnd {
    /// Returns whether block `index` is the last one.
    #[must_use]
    pub fn has_last(&self, index: u64) -> bool {
        index.checked_add(1) == Some(self.blocks)
    }
}

/// The end of a stream, signed by the copy's source. No other node can end it, and so cut off what
/// the nodes behind it have not received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedEnd {
    /// The end.
    pub end: StreamEnd,
    signature: [u8; SIGNATURE_LEN],
}

impl SignedEnd {
    /// The length on the wire in bytes, without the number of blocks.
    pub const BYTES: usize = size_of::<u32>() + SIGNATURE_LEN;

    /// Returns the bytes that follow the frame, which has the number of blocks: the length of the
    /// last block, and the signature.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.end.last_length.to_le_bytes()[..], &self.signature].concat()
    }
}

/// A signed window of digests, as on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedDigests {
    /// The ordinal of the window's first block in the lane.
    pub first: u64,
    /// The ordinal after the window's last block.
    pub end: u64,
    /// The digests in order (32 bytes each), then the signature (64 bytes).
    pub bytes: Vec<u8>,
}

/// The signed windows of one lane on one node. The digests themselves are in the node's [`Sink`].
pub struct DigestWindows {
    copy: CopyId,
    lane: u16,
    key: Key,
    /// For each window, by the ordinal of its first block: the ordinal after its last block, and
    /// its signature.
    windows: BTreeMap<u64, (u64, [u8; SIGNATURE_LEN])>,
}

enum Key {
    Check([u8; 32]),
    Sign(Box<Ed25519KeyPair>),
}

impl DigestWindows {
    /// Creates an empty set of windows for the lane numbered `lane`.
    #[must_use]
    pub fn new(copy: CopyId, lane: u16, key: &DigestKey) -> Self {
        let key = match key {
            DigestKey::Check(key) => Key::Check(*key),
            DigestKey::Sign(seed) => Key::Sign(Box::new(key_pair(seed))),
        };
        Self { copy, lane, key, windows: BTreeMap::new() }
    }

    /// Accepts a window that arrived: checks its signature, and fixes the digests of its blocks in
    /// `sink`, which may serve these blocks from then on.
    ///
    /// # Errors
    /// Fails if `bytes` cannot be a window of `blocks`, have no valid signature, or contradict an
    /// earlier window.
    pub fn accept(
        &mut self,
        blocks: &LaneBlocks,
        first: u64,
        bytes: &[u8],
        sink: &mut Sink,
    ) -> Result<(), DigestError> {
        let (digests, signature) =
            bytes.split_last_chunk::<SIGNATURE_LEN>().ok_or(DigestError::Malformed)?;
        let (chunks, rest) = digests.as_chunks::<DIGEST_LEN>();
        let whole = rest.is_empty() && (1..=WINDOW_MAX).contains(&chunks.len());
        let end = first.checked_add(chunks.len() as u64);
        let end = end.filter(|end| whole && *end <= blocks.len()).ok_or(DigestError::Malformed)?;
        if self.windows.get(&first) == Some(&(end, *signature)) {
            return Ok(());
        }
        let Key::Check(key) = &self.key else { return Err(DigestError::Forged) };
        let message = self.message(first, digests);
        UnparsedPublicKey::new(&ED25519, key)
            .verify(&message, signature)
            .map_err(|_| DigestError::Forged)?;
        for (place, digest) in (first..end).zip(chunks) {
            sink.learn(blocks.index(place), *digest)?;
            sink.sign(blocks.index(place));
        }
        if self.covering(first).is_none_or(|(_, known)| known < end) {
            // A window that covers an ordinal also has the digests from there on.
            let within = self.windows.range(first..end).filter(|(_, (known, _))| *known <= end);
            let within: Vec<u64> = within.map(|(first, _)| *first).collect();
            for first in within {
                self.windows.remove(&first);
            }
            self.windows.insert(first, (end, *signature));
        }
        Ok(())
    }

    /// Signs the end of a stream; `None` unless this node is the source.
    #[must_use]
    pub fn sign_end(&self, end: StreamEnd) -> Option<SignedEnd> {
        let Key::Sign(pair) = &self.key else { return None };
        let signature = pair.sign(&self.end_message(end)).as_ref().try_into();
        let signature = signature.expect("an Ed25519 signature has 64 bytes");
        Some(SignedEnd { end, signature })
    }

    /// Checks the bytes by which the source says that its stream has this number of blocks.
    ///
    /// # Errors
    /// When their length is wrong, or the source has not signed them.
    pub fn check_end(&self, blocks: u64, bytes: &[u8]) -> Result<SignedEnd, DigestError> {
        let (length, signature) =
            bytes.split_first_chunk::<{ size_of::<u32>() }>().ok_or(DigestError::Malformed)?;
        let signature: [u8; SIGNATURE_LEN] =
            signature.try_into().map_err(|_| DigestError::Malformed)?;
        let end = StreamEnd { blocks, last_length: u32::from_le_bytes(*length) };
        let Key::Check(key) = &self.key else { return Err(DigestError::Forged) };
        UnparsedPublicKey::new(&ED25519, key)
            .verify(&self.end_message(end), &signature)
            .map_err(|_| DigestError::Forged)?;
        Ok(SignedEnd { end, signature })
    }

    /// Returns the next window to send on a link. `from` is the first ordinal whose digest the
    /// other end may lack; `place` is the ordinal of the block to send next. Returns `None` if the
    /// other end has the digest of that block, or if no digest from `from` to `place` is known. The
    /// source signs a new window over as many consecutive blocks as it has read.
    pub fn next(
        &mut self,
        blocks: &LaneBlocks,
        from: u64,
        place: u64,
        sink: &Sink,
    ) -> Option<SignedDigests> {
        if from > place {
            return None;
        }
        let known = self.covering(from);
        let first = known.map(|(first, _)| first);
        let first = match (first, &self.key) {
            (Some(first), _) => first,
            (None, Key::Sign(_)) => self.sign(blocks, from, place, sink)?,
            (None, Key::Check(_)) => *self.windows.range(from..=place).next()?.0,
        };
        let (end, signature) = self.windows[&first];
        let mut bytes = digests(blocks, first..end, sink)?;
        bytes.extend(signature);
        Some(SignedDigests { first, end, bytes })
    }

    /// Signs a window that begins at the first ordinal in `from..=place` whose digest is known,
    /// unless a window covers this ordinal already. Returns the first ordinal of the window; `None`
    /// if no digest is known.
    fn sign(&mut self, blocks: &LaneBlocks, from: u64, place: u64, sink: &Sink) -> Option<u64> {
        let is_known = |place: &u64| sink.content(blocks.index(*place)).is_some();
        let first = (from..=place).find(is_known)?;
        if self.covering(first).is_some() {
            return self.covering(first).map(|(first, _)| first);
        }
        let next = self.windows.range(first..).next().map_or(u64::MAX, |(next, _)| *next);
        let most = blocks.len().min(next).min(first.saturating_add(WINDOW_MAX as u64));
        let end = (first..most).find(|place| !is_known(place)).unwrap_or(most);
        let message = self.message(first, &digests(blocks, first..end, sink)?);
        let Key::Sign(pair) = &self.key else { return None };
        let signature = pair.sign(&message).as_ref().try_into();
        let signature = signature.expect("an Ed25519 signature has 64 bytes");
        self.windows.insert(first, (end, signature));
        Some(first)
    }

    /// Returns the ordinals of the window that contains the digest of the block with ordinal
    /// `place`: the first one, and the one after the last.
    fn covering(&self, place: u64) -> Option<(u64, u64)> {
        let (first, (end, _)) = self.windows.range(..=place).next_back()?;
        (*end > place).then_some((*first, *end))
    }

    /// Returns the bytes that the signature of a window covers. They contain the copy's identity,
    /// so a window is not valid in another copy.
    fn message(&self, first: u64, digests: &[u8]) -> Vec<u8> {
        let lane = self.lane.to_le_bytes();
        [b"garland/1 digests", &self.copy.0[..], &lane, &first.to_le_bytes(), digests].concat()
    }

    /// Returns the bytes that the signature of a stream's end covers. All lanes have the same end.
    fn end_message(&self, end: StreamEnd) -> Vec<u8> {
        let StreamEnd { blocks, last_length } = end;
        let numbers = [&blocks.to_le_bytes()[..], &last_length.to_le_bytes()].concat();
        [b"garland/1 end of stream", &self.copy.0[..], &numbers].concat()
    }
}

/// Returns the digests of the blocks at these ordinals; `None` if one is unknown.
fn digests(blocks: &LaneBlocks, places: std::ops::Range<u64>, sink: &Sink) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for place in places {
        bytes.extend(sink.content(blocks.index(place))?);
    }
    Some(bytes)
}

fn key_pair(seed: &Secret) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&seed.0).expect("an Ed25519 seed has 32 bytes")
}

#[cfg(test)]
mod tests {
    use garland_core::plan::Layout;

    use super::*;

    const COPY: CopyId = CopyId([4; 16]);

    fn layout() -> Layout {
        Layout::new(4096 * 6, 4096).unwrap()
    }

    fn blocks() -> LaneBlocks {
        LaneBlocks::all(6)
    }

    /// Returns the windows and the sink of a source that has read these blocks, and its public key.
    fn source(read: &[u64], seed: u8) -> (DigestWindows, Sink, DigestKey) {
        let key = DigestKey::Sign(Secret([seed; 32]));
        let mut sink = Sink::source(layout());
        read.iter().for_each(|index| sink.learn(*index, [*index as u8; 32]).unwrap());
        (DigestWindows::new(COPY, 0, &key), sink, key.to_public())
    }

    /// Returns the windows and the sink of a node that has received nothing.
    fn receiver(public: &DigestKey) -> (DigestWindows, Sink) {
        (DigestWindows::new(COPY, 0, public), Sink::new(layout(), true))
    }

    #[test]
    fn a_window_contains_all_consecutive_blocks_that_were_read() {
        let (mut windows, mut sink, public) = source(&[0, 1, 2, 4], 1);
        let window = windows.next(&blocks(), 0, 0, &sink).unwrap();
        assert_eq!((window.first, window.end), (0, 3));
        assert_eq!(windows.next(&blocks(), 3, 2, &sink), None, "the other end has 2");
        assert_eq!(windows.next(&blocks(), 3, 3, &sink), None, "3 was not read");
        let (mut theirs, mut node) = receiver(&public);
        theirs.accept(&blocks(), 0, &window.bytes, &mut node).unwrap();
        assert_eq!(node.content(2), Some([2; 32]));
        assert_eq!(node.content(3), None);
        sink.learn(3, [3; 32]).unwrap();
        let window = windows.next(&blocks(), 3, 3, &sink).unwrap();
        assert_eq!((window.first, window.end), (3, 5));
        // A node forwards the bytes of a window that it has checked.
        theirs.accept(&blocks(), 3, &window.bytes, &mut node).unwrap();
        assert_eq!(theirs.next(&blocks(), 4, 4, &node), Some(window));
        assert_eq!(theirs.next(&blocks(), 5, 5, &node), None);
    }

    #[test]
    fn only_the_source_can_say_what_a_block_contains() {
        let (mut windows, sink, public) = source(&[0, 1], 1);
        let window = windows.next(&blocks(), 0, 0, &sink).unwrap();
        for at in 0..window.bytes.len() {
            let (mut theirs, mut node) = receiver(&public);
            let mut changed = window.bytes.clone();
            changed[at] ^= 1;
            let refused = theirs.accept(&blocks(), 0, &changed, &mut node);
            assert_eq!(refused, Err(DigestError::Forged), "byte {at}");
            assert_eq!(node.content(0), None);
        }
        let (mut theirs, mut node) = receiver(&public);
        let moved = theirs.accept(&blocks(), 1, &window.bytes, &mut node);
        assert_eq!(moved, Err(DigestError::Forged), "at another place");
        let mut other_lane = DigestWindows::new(COPY, 1, &public);
        let moved = other_lane.accept(&blocks(), 0, &window.bytes, &mut node);
        assert_eq!(moved, Err(DigestError::Forged), "in another lane");
        // Another node knows the copy's secret, but not this key.
        let (mut member, sink, _) = source(&[0, 1], 2);
        let forged = member.next(&blocks(), 0, 0, &sink).unwrap();
        assert_eq!(theirs.accept(&blocks(), 0, &forged.bytes, &mut node), Err(DigestError::Forged));
    }

    #[test]
    fn impossible_windows_are_refused_before_they_are_used() {
        let (mut windows, sink, public) = source(&[0, 1], 1);
        let window = windows.next(&blocks(), 0, 0, &sink).unwrap();
        let (mut theirs, mut node) = receiver(&public);
        let long = vec![0; WINDOW_BYTES_MAX + DIGEST_LEN];
        let malformed = [
            (0, &[][..]),
            (0, &[0; SIGNATURE_LEN][..]),
            (0, &[0; SIGNATURE_LEN + 31][..]),
            (0, &long[..]),
            (5, &window.bytes[..]),
            (u64::MAX, &window.bytes[..]),
        ];
        for (first, bytes) in malformed {
            let refused = theirs.accept(&blocks(), first, bytes, &mut node);
            assert_eq!(refused, Err(DigestError::Malformed), "{} at {first}", bytes.len());
        }
    }

    #[test]
    fn only_the_source_can_say_where_a_stream_ends() {
        let (windows, _, public) = source(&[], 1);
        let end = StreamEnd { blocks: 5, last_length: 7 };
        let signed = windows.sign_end(end).unwrap();
        let (theirs, _) = receiver(&public);
        let bytes = signed.to_bytes();
        assert_eq!(bytes.len(), SignedEnd::BYTES);
        assert_eq!(theirs.check_end(5, &bytes), Ok(signed));
        assert_eq!(theirs.sign_end(end), None, "it is not the source");
        // In other lanes, too; but with no other number, length or copy, and by nobody else.
        assert_eq!(DigestWindows::new(COPY, 1, &public).check_end(5, &bytes), Ok(signed));
        assert_eq!(theirs.check_end(4, &bytes), Err(DigestError::Forged));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(theirs.check_end(5, &changed), Err(DigestError::Forged), "byte {at}");
        }
        let other = DigestWindows::new(CopyId([5; 16]), 0, &public);
        assert_eq!(other.check_end(5, &bytes), Err(DigestError::Forged));
        let (member, _, _) = source(&[], 2);
        let forged = member.sign_end(end).unwrap();
        assert_eq!(theirs.check_end(5, &forged.to_bytes()), Err(DigestError::Forged));
        for length in 0..bytes.len() {
            assert_eq!(theirs.check_end(5, &bytes[..length]), Err(DigestError::Malformed));
        }
    }

    #[test]
    fn a_source_that_signs_two_contents_is_caught() {
        let (mut windows, sink, public) = source(&[0, 1], 1);
        let window = windows.next(&blocks(), 0, 0, &sink).unwrap();
        let (mut theirs, mut node) = receiver(&public);
        theirs.accept(&blocks(), 0, &window.bytes, &mut node).unwrap();
        let key = DigestKey::Sign(Secret([1; 32]));
        let mut other = Sink::source(layout());
        other.learn(0, [9; 32]).unwrap();
        let again = DigestWindows::new(COPY, 0, &key).next(&blocks(), 0, 0, &other).unwrap();
        let refused = theirs.accept(&blocks(), 0, &again.bytes, &mut node);
        assert_eq!(refused, Err(DigestError::Changed(SinkError::SourceChanged(0))));
    }

    #[test]
    fn windows_may_begin_in_the_middle_of_others() {
        let (mut first, sink, public) = source(&[0, 1, 2], 1);
        let early = first.next(&blocks(), 0, 0, &sink).unwrap();
        let (mut second, sink, _) = source(&[1, 2, 3, 4, 5], 1);
        let late = second.next(&blocks(), 0, 1, &sink).unwrap();
        assert_eq!((late.first, late.end), (1, 6));
        let (mut theirs, mut node) = receiver(&public);
        theirs.accept(&blocks(), 0, &early.bytes, &mut node).unwrap();
        theirs.accept(&blocks(), 1, &late.bytes, &mut node).unwrap();
        assert!((0..6).all(|index| node.content(index).is_some()));
        let told = theirs.next(&blocks(), 0, 5, &node).unwrap();
        assert_eq!(told, early);
        assert_eq!(theirs.next(&blocks(), told.end, 5, &node), Some(late));
    }
}
