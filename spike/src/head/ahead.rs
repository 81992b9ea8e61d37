//! Blocks that are prepared ahead of the link: read, hashed, sealed.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use garland_core::plan::{HEAD, LaneBlocks, Layout};
use garland_protocol::{CopyId, FRAME_LEN, Frame, Keys, Kind, Sealer, TAG_LEN};

use super::{HeadTag, Job, SOURCE, Todo};
use crate::buffers::Buffers;
use crate::io::{Operation, Piece, Submission};
use crate::stage::{Stage, Stop, Work};

/// A block of one incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The block's index.
    pub(super) index: u64,
    /// The incarnation that it is sealed under.
    pub(super) incarnation: u64,
    /// Whether the node asked for it.
    pub(super) again: bool,
}

/// The blocks that are prepared ahead, and the buffers for them.
pub(super) struct Ahead {
    copy: CopyId,
    layout: Layout,
    sealed: bool,
    is_open: bool,
    buffers: Buffers,
    incarnation: u64,
    /// The index of the next block for the link, and that of the next one to prepare.
    wanted: u64,
    unclaimed: u64,
    ready: BTreeMap<u64, Piece>,
    /// A block that the node asked for, and its piece once that is prepared.
    repair: Option<(Block, Option<Piece>)>,
    sealer: Option<Arc<Sealer>>,
}

impl Ahead {
    pub(super) fn new(job: &Job) -> Self {
        let size = FRAME_LEN + job.layout.block_size as usize + TAG_LEN;
        Self {
            copy: job.copy,
            layout: job.layout,
            sealed: job.sealed,
            is_open: false,
            buffers: Buffers::new(size, job.buffers),
            incarnation: 1,
            wanted: 0,
            unclaimed: 0,
            ready: BTreeMap::new(),
            repair: None,
            sealer: None,
        }
    }

    pub(super) fn open(&mut self) {
        self.is_open = true;
    }

    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        self.buffers.give(buffer);
    }

    /// Submits as many blocks as there are buffers for.
    pub(super) fn claim(&mut self, blocks: &LaneBlocks, keys: &Keys, todo: &mut Todo) {
        while self.is_open && self.unclaimed < blocks.len() {
            let Some(buffer) = self.buffers.take() else { return };
            let block =
                Block { index: self.unclaimed, incarnation: self.incarnation, again: false };
            self.prepare(block, buffer, keys, todo);
            self.unclaimed += 1;
        }
    }

    fn prepare(&mut self, block: Block, mut buffer: Vec<u8>, keys: &Keys, todo: &mut Todo) {
        let (layout, length) = (self.layout, self.layout.block_length(block.index));
        let mut frame = Frame::bare(Kind::Block, self.copy, 0, block.index);
        (frame.sealed, frame.sealer, frame.incarnation) = (self.sealed, HEAD, block.incarnation);
        (frame.length, frame.packed) = (length, length);
        buffer[..FRAME_LEN].copy_from_slice(&frame.to_bytes(keys));
        let range = FRAME_LEN..FRAME_LEN + length as usize;
        let mut stages = vec![
            Stage::Read(SOURCE, layout.offset(block.index), range.clone()),
            Stage::Hash(range),
        ];
        if self.sealed {
            let same = self.sealer.take().filter(|has| has.seals(block.incarnation, block.index));
            let new = || Arc::new(keys.sealer(HEAD, block.incarnation, block.index));
            let sealer = self.sealer.insert(same.unwrap_or_else(new));
            stages.push(Stage::Seal(Arc::clone(sealer), frame));
        }
        let call = Operation::Work(Work::new(buffer, stages));
        todo.push(Submission { tag: HeadTag::Prepared(block), call });
    }

    /// Takes the result for a block. Returns its digest, if all is done.
    pub(super) fn prepared(
        &mut self,
        block: Block,
        work: Work,
        result: Result<usize, Stop>,
        todo: &mut Todo,
    ) -> io::Result<Option<[u8; 32]>> {
        let moved = match result {
            Ok(moved) => moved,
            Err(Stop::Io(error)) => return Err(error),
            Err(Stop::Changed) => return Err(io::Error::other("a block changed in memory")),
        };
        if !work.stages.is_empty() {
            if moved == 0 {
                return Err(io::Error::other("the source is shorter than it was"));
            }
            todo.push(Submission { tag: HeadTag::Prepared(block), call: Operation::Work(work) });
            return Ok(None);
        }
        let tag = if self.sealed { TAG_LEN } else { 0 };
        let to = FRAME_LEN + self.layout.block_length(block.index) as usize + tag;
        let piece = Piece { buffer: work.buffer, from: 0, to };
        if let Some((_, place)) = self.repair.as_mut().filter(|(of, _)| *of == block) {
            *place = Some(piece);
        } else if self.wants(block) {
            let same = self.ready.insert(block.index, piece);
            same.into_iter().for_each(|piece| self.buffers.give(piece.buffer));
        } else {
            self.recycle(piece.buffer);
        }
        Ok(work.digest)
    }

    fn wants(&self, block: Block) -> bool {
        !block.again && block.incarnation == self.incarnation && block.index >= self.wanted
    }

    /// Takes a block that is to be sent now. If it is not prepared, it is going to be.
    pub(super) fn take(&mut self, block: Block, keys: &Keys, todo: &mut Todo) -> Option<Piece> {
        if block.again {
            return self.take_repair(block, keys, todo);
        }
        if (self.wanted, self.incarnation) != (block.index, block.incarnation) {
            let old = std::mem::take(&mut self.ready);
            old.into_values().for_each(|piece| self.buffers.give(piece.buffer));
            (self.wanted, self.unclaimed) = (block.index, block.index);
            self.incarnation = block.incarnation;
        }
        let piece = self.ready.remove(&block.index)?;
        self.wanted += 1;
        Some(piece)
    }

    fn take_repair(&mut self, block: Block, keys: &Keys, todo: &mut Todo) -> Option<Piece> {
        let is_same = self.repair.as_ref().is_some_and(|(of, _)| *of == block);
        if !is_same {
            if let Some((_, Some(piece))) = self.repair.take() {
                self.recycle(piece.buffer);
            }
            // All buffers may wait for the link that this block goes ahead on.
            let buffer = self.buffers.borrow();
            self.repair = Some((block, None));
            self.prepare(block, buffer, keys, todo);
        }
        let piece = self.repair.as_mut()?.1.take()?;
        self.repair = None;
        Some(piece)
    }
}
