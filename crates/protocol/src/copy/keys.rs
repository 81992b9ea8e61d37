//! Keys that the nodes of a copy derive from its secret.
//!
//! A sealing key is derived from the copy's secret, the sealing node, an incarnation number, and
//! the index of the run of 2^14 blocks that contains the block. A key encrypts at most 64 GiB (2^32
//! AES blocks), far below the limit of AES-GCM (NIST SP 800-38D; draft-irtf-cfrg-aead-limits).

use std::collections::VecDeque;

use aws_lc_rs::aead::LessSafeKey;
use aws_lc_rs::hkdf;
use garland_core::plan::NodeId;
use zeroize::Zeroizing;

use crate::copy::copy_id::CopyId;
use crate::wire::{Secret, aes_key, expand};

/// The number of consecutive blocks that one key seals: a power of two.
pub(super) const KEY_BLOCKS: u64 = 1 << 14;

/// The maximum number of cached opening keys. Each sender uses one key at a time; blocks that are
/// sent again use further keys, each of which is needed once.
const OPENING_MAX: usize = 64;

/// The name of a sealing key within a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyName {
    pub(super) sealer: NodeId,
    incarnation: u64,
    /// The index of the run of [`KEY_BLOCKS`] blocks.
    run: u64,
}

impl KeyName {
    pub(super) fn new(sealer: NodeId, incarnation: u64, index: u64) -> Self {
        Self { sealer, incarnation, run: index / KEY_BLOCKS }
    }
}

/// The keys of one copy: the MAC key of its frames, and its sealing keys.
pub struct Keys {
    mac_key: Zeroizing<[u8; 32]>,
    prk: hkdf::Prk,
    /// The most recently used opening keys, the newest first.
    opening: VecDeque<(KeyName, LessSafeKey)>,
}

impl Keys {
    /// Derives the keys of `copy` from its secret.
    #[must_use]
    pub fn new(secret: &Secret, copy: CopyId) -> Self {
        let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, &copy.0).extract(&secret.0);
        let mac_key = expand(&prk, &[b"garland/1 frame mark"]);
        Self { mac_key, prk, opening: VecDeque::new() }
    }

    /// Returns the MAC of a frame's bytes: a keyed BLAKE3 hash, truncated to 16 bytes.
    pub(super) fn mac(&self, body: &[u8]) -> [u8; 16] {
        let hash = blake3::keyed_hash(&self.mac_key, body);
        hash.as_bytes()[..16].try_into().expect("a BLAKE3 hash has 32 bytes")
    }

    /// Whether `mac` is the MAC of `body`; compares in constant time.
    pub(super) fn is_mac(&self, body: &[u8], mac: &[u8; 16]) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(&self.mac(body), mac).is_ok()
    }

    /// Derives the key `name`.
    pub(super) fn sealing_key(&self, KeyName { sealer, incarnation, run }: KeyName) -> LessSafeKey {
        let [incarnation, run] = [incarnation, run].map(u64::to_le_bytes);
        let info: [&[u8]; 4] = [b"garland/1 seal", &sealer.0.to_le_bytes(), &incarnation, &run];
        aes_key(&self.prk, &info)
    }

    /// Returns the opening key `name` from the cache; derives the key if it is not there.
    pub(super) fn opening_key(&mut self, name: KeyName) -> &LessSafeKey {
        let at = self.opening.iter().position(|(known, _)| *known == name);
        let entry = at.and_then(|at| self.opening.remove(at));
        let entry = entry.unwrap_or_else(|| (name, self.sealing_key(name)));
        self.opening.truncate(OPENING_MAX - 1);
        self.opening.push_front(entry);
        &self.opening[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::frame::{Frame, Kind};

    #[test]
    fn few_keys_are_kept_to_open_blocks() {
        let copy = CopyId([3; 16]);
        let mut keys = Keys::new(&Secret([5; 32]), copy);
        for incarnation in 0..4 * OPENING_MAX as u64 {
            let mut frame = Frame::bare(Kind::Block, copy, 0, 7);
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
}
