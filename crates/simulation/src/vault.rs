//! Real bytes for checked runs: sealed, forwarded hop by hop, opened and compared.

use std::collections::HashMap;

use garland_core::plan::{Layout, NodeId};
use garland_protocol::copy::{CopyId, FRAME_LEN, Frame, Keys, Kind, content_digest};
use garland_protocol::wire::Secret;
use garland_sys::world::Random;

/// A sealed block with its header, as on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Sealed {
    header: [u8; FRAME_LEN],
    bytes: Vec<u8>,
}

impl Sealed {
    /// Overwrites the second half with padding, as if the sender had been cut off.
    pub(crate) fn pad(&mut self) {
        let half = self.bytes.len() / 2;
        self.bytes[half..].fill(0x5a);
    }

    /// Changes one bit, a different one at each node.
    pub(crate) fn flip(&mut self, place: usize) {
        self.bytes[place / 8] ^= 1 << (place % 8);
    }
}

/// The digest of the plaintext, and the header, for which a key and nonce were used.
type Use = ([u8; 32], [u8; FRAME_LEN]);

/// The source, the disks of all nodes, and a ledger of all seals.
pub(crate) struct Vault {
    layout: Layout,
    copy: CopyId,
    keys: Keys,
    /// For each node, the content of its disk; the head's is the source.
    disks: Vec<Vec<u8>>,
    uses: HashMap<(u32, u64, u64), Use>,
    reused: Vec<(u32, u64, u64)>,
}

impl Vault {
    pub(crate) fn new(layout: Layout, copy: CopyId, nodes: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let length = usize::try_from(layout.length).expect("checked runs are small");
        let source = (0..length).map(|_| random.bits().to_le_bytes()[0]).collect();
        let mut disks = vec![vec![0; length]; nodes];
        disks[0] = source;
        let keys = Keys::new(&Secret([9; 32]), copy);
        Self { layout, copy, keys, disks, uses: HashMap::new(), reused: Vec::new() }
    }

    fn range(&self, index: u64) -> std::ops::Range<usize> {
        let start = usize::try_from(self.layout.offset(index)).expect("checked runs are small");
        start..start + self.layout.block_length(index) as usize
    }

    /// Returns the digest of a block of the source.
    pub(crate) fn content(&self, index: u64) -> [u8; 32] {
        content_digest(&self.disks[0][self.range(index)])
    }

    /// Seals block `index` as `node` has it, and records the use of key and nonce.
    pub(crate) fn seal(&mut self, node: usize, lane: u16, index: u64, incarnation: u64) -> Sealed {
        let sealer = u32::try_from(node).expect("a plan has fewer nodes");
        let mut bytes = self.disks[node][self.range(index)].to_vec();
        let mut frame = Frame::bare(Kind::Block, self.copy, lane, index);
        frame.sealed = true;
        frame.length = self.layout.block_length(index);
        frame.packed = frame.length;
        frame.sealer = NodeId(sealer);
        frame.incarnation = incarnation;
        let content = content_digest(&bytes);
        let header = frame.to_bytes(&self.keys);
        let key = (sealer, incarnation, index);
        let this = (content, header);
        if self.uses.insert(key, this).is_some_and(|before| before != this) {
            self.reused.push(key);
        }
        let tag =
            self.keys.sealer(NodeId(sealer), incarnation, index).seal(&frame, &header, &mut bytes);
        bytes.extend(tag);
        Sealed { header, bytes }
    }

    /// Opens a block and, if it equals the source's, writes it to the disk of `node`. Returns
    /// whether it equals the source's.
    pub(crate) fn open(&mut self, node: usize, sealed: &mut Sealed) -> bool {
        let Ok(frame) = Frame::parse(&sealed.header, &self.keys) else { return false };
        if self.keys.open(&frame, &sealed.header, &mut sealed.bytes).is_err() {
            return false;
        }
        let range = self.range(frame.index);
        let length = range.len();
        if content_digest(&sealed.bytes[..length]) != self.content(frame.index) {
            return false;
        }
        self.disks[node][range].copy_from_slice(&sealed.bytes[..length]);
        true
    }

    /// Writes block `index` of the source to the disk of `node`.
    pub(crate) fn give(&mut self, node: usize, index: u64) {
        let range = self.range(index);
        let (source, others) = self.disks.split_at_mut(1);
        others[node - 1][range.clone()].copy_from_slice(&source[0][range]);
    }

    /// Returns whether the disk of `node` equals the source.
    pub(crate) fn identical(&self, node: usize) -> bool {
        self.disks[node] == self.disks[0]
    }

    /// Returns the seals (node, incarnation, block) that covered two plaintexts or headers.
    pub(crate) fn reused(&self) -> &[(u32, u64, u64)] {
        &self.reused
    }
}
