//! The sink machine: what a node holds of a copy. The relays of all lanes share it.

use std::collections::BTreeSet;

use thiserror::Error;

use super::seal::root_digest;
use garland_core::plan::{BlockSet, LaneBlocks, Layout};

/// The result of writing a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// Opened, checked against its digest, and written.
    Written,
    /// Opened and checked; it is written in its turn, and lands again then.
    Opened,
    /// Its digest isn't the source's: a byte changed, or other bytes were sealed.
    Changed,
}

/// Why a block can't be taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SinkError {
    /// The head sealed other bytes for a block that it had sealed before.
    #[error("the source changed while it was copied (block {0})")]
    SourceChanged(u64),
    /// The end of the source contradicts an earlier one, or blocks that have arrived.
    #[error("the source can't end after {0} blocks: others are known")]
    Ended(u64),
}

/// The blocks that a node holds, those with its writer, and their digests.
#[derive(Clone, Debug)]
pub struct Sink {
    layout: Layout,
    /// The number of blocks, once known.
    end: Option<u64>,
    held: BlockSet,
    /// The first block that isn't held.
    next: u64,
    flying: BTreeSet<u64>,
    /// Blocks that were passed and are neither held nor with the writer.
    lacking: BTreeSet<u64>,
    known: BlockSet,
    /// Whether all digests were known in advance.
    foreknown: bool,
    contents: Vec<[u8; 32]>,
    holder: bool,
    /// The window of a stream: the number of blocks that may be taken from the next one on.
    window: Option<u64>,
    /// The blocks that belong here; all if `None`.
    part: Option<LaneBlocks>,
    /// Blocks from this one on are held, but not served yet.
    serving: u64,
    /// Blocks whose signed digests are here, which other nodes require; `None` if this node signs them
    /// itself.
    signed: Option<BlockSet>,
    /// Blocks that are held but can't be read back.
    unreadable: BTreeSet<u64>,
    /// Blocks that are brought from elsewhere on this node.
    brought: BlockSet,
    /// Of a stream, the first block that is neither held nor with the writer.
    reach: u64,
}

impl Sink {
    /// The sink of a receiver. A `holder` can read back what it wrote, so it can feed others.
    #[must_use]
    pub fn new(layout: Layout, holder: bool) -> Self {
        let blocks = layout.blocks();
        let end = (!layout.open).then_some(blocks);
        let table = usize::try_from(end.unwrap_or(0)).expect("a block table fits the memory");
        Self {
            layout,
            end,
            next: 0,
            held: BlockSet::new(blocks),
            flying: BTreeSet::new(),
            lacking: BTreeSet::new(),
            known: BlockSet::new(blocks),
            foreknown: false,
            contents: vec![[0; 32]; table],
            holder,
            window: None,
            part: None,
            serving: u64::MAX,
            signed: None,
            unreadable: BTreeSet::new(),
            brought: BlockSet::new(blocks),
            reach: 0,
        }
    }

    /// The sink of a stream (a pipe), whose writer writes in the blocks' order. Of the first block
    /// that isn't written and those behind it, `window` may be with the writer: as many as it has
    /// buffers for, so that there is always one for the block whose turn it is.
    #[must_use]
    pub fn in_order(layout: Layout, window: usize) -> Self {
        let window = u64::try_from(window).unwrap_or(u64::MAX);
        Self { window: Some(window), ..Self::new(layout, false) }
    }

    /// Makes the sink a holder: what was written can be read back.
    #[must_use]
    pub fn held_readable(self) -> Self {
        Self { holder: true, ..self }
    }

    /// Serves blocks only after [`Sink::sign`] was called for them.
    #[must_use]
    pub fn awaiting_signatures(self) -> Self {
        Self { signed: Some(BlockSet::new(self.layout.blocks())), ..self }
    }

    /// Notes that the signed digest of block `index` has arrived.
    pub fn sign(&mut self, index: u64) {
        self.signed.iter_mut().for_each(|signed| {
            signed.insert(index);
        });
    }

    /// Notes that block `index` is held but can't be read back.
    pub fn unserve(&mut self, index: u64) {
        self.unreadable.insert(index);
    }

    /// The sink of the source: it holds all blocks, and gets their digests as they are read.
    #[must_use]
    pub fn source(layout: Layout) -> Self {
        Self { held: BlockSet::full(layout.blocks()), ..Self::new(layout, true) }
    }

    /// Restricts the sink to the blocks of one lane: a stripe.
    #[must_use]
    pub fn with_part(self, part: LaneBlocks) -> Self {
        Self { part: Some(part), ..self }
    }

    /// Gives the sink the source's digests in advance.
    ///
    /// # Panics
    /// When there isn't one for each block.
    #[must_use]
    pub fn knowing(self, contents: Vec<[u8; 32]>) -> Self {
        assert_eq!(contents.len(), self.contents.len(), "a digest for each block");
        Self { known: BlockSet::full(self.layout.blocks()), contents, foreknown: true, ..self }
    }

    /// Holds block `index` from the start: it is what its known digest says.
    pub fn hold(&mut self, index: u64) {
        self.held.insert(index);
        while self.held.contains(self.next) {
            self.next += 1;
        }
    }

    /// Reserves block `index` for a copy from elsewhere on this node;
    /// [`Sink::landed`] ends the reservation.
    pub fn bring(&mut self, index: u64) {
        self.flying.insert(index);
        self.brought.insert(index);
        self.extend_reach();
    }

    fn extend_reach(&mut self) {
        while self.window.is_some() && self.has(self.reach) {
            self.reach += 1;
        }
    }

    /// Whether block `index` is brought from elsewhere on this node, and was what it should be so far.
    #[must_use]
    pub fn is_brought(&self, index: u64) -> bool {
        self.brought.contains(index)
    }

    /// The blocks that belong here, in their order.
    pub fn own_blocks(&self) -> impl Iterator<Item = u64> + use<> {
        let all = LaneBlocks { first: 0, run: 1, step: 1, end: self.blocks() };
        self.part.unwrap_or(all).indices()
    }

    /// Serves the blocks before `bound` only.
    pub fn serve_until(&mut self, bound: u64) {
        self.serving = bound;
    }

    /// Whether block `index` may be served as soon as it can be.
    #[must_use]
    pub fn serves(&self, index: u64) -> bool {
        index < self.serving
    }

    /// How the source is cut.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether block `index` is still to be taken.
    #[must_use]
    pub fn wants(&self, index: u64) -> bool {
        !self.is_far(index) && !self.held.contains(index) && !self.flying.contains(&index)
    }

    /// Takes block `index` for the writer. `content` is the digest that the source signed for it.
    ///
    /// # Errors
    /// When another digest was fixed for this block.
    pub fn take(&mut self, index: u64, content: [u8; 32]) -> Result<(), SinkError> {
        self.learn(index, content)?;
        self.flying.insert(index);
        self.lacking.remove(&index);
        self.extend_reach();
        Ok(())
    }

    /// Gives a taken block back: it never reached the writer.
    pub fn untake(&mut self, index: u64) {
        self.flying.remove(&index);
        if !self.has(index) {
            self.reach = self.reach.min(index);
        }
    }

    /// Notes that block `index` went by: it must come again, unless it is here.
    pub fn miss(&mut self, index: u64) {
        if !self.has(index) {
            self.lacking.insert(index);
        }
    }

    /// The blocks that went by and aren't here, in their order.
    pub fn lacking(&self) -> impl Iterator<Item = u64> {
        self.lacking.iter().copied()
    }

    /// Whether block `index` is too far ahead of a stream for its writer to take it, and would be
    /// in time if it waited: the block whose turn it is is still to come, or with the writer. (If
    /// that one went by, nothing may wait: its repair could be what comes next.)
    #[must_use]
    pub fn is_ahead(&self, index: u64) -> bool {
        index > self.next && self.is_far(index) && !self.lacking.contains(&self.next)
    }

    /// Whether block `index` is too far from a stream's next one to be taken.
    #[must_use]
    pub fn is_far(&self, index: u64) -> bool {
        self.window.is_some_and(|window| index >= self.next.saturating_add(window))
    }

    /// What [`Sink::is_ahead`] depends on: a stream's next block, and whether it went by. When it
    /// changes, other lanes than the one that changed it may go on. `None` for what is no stream.
    #[must_use]
    pub fn front(&self) -> Option<(u64, bool)> {
        self.window.map(|_| (self.next, self.lacking.contains(&self.next)))
    }

    /// Notes how a taken block ended.
    pub fn landed(&mut self, index: u64, landing: Landing) {
        match landing {
            Landing::Written if self.flying.remove(&index) => {
                self.held.insert(index);
                while self.held.contains(self.next) {
                    self.next += 1;
                }
            }
            Landing::Written | Landing::Opened => {}
            Landing::Changed => {
                self.brought.remove(index);
                self.untake(index);
                self.miss(index);
            }
        }
    }

    /// Fixes the digest of a block that was read from the source.
    ///
    /// # Errors
    /// When another digest was fixed before.
    pub fn learn(&mut self, index: u64, content: [u8; 32]) -> Result<(), SinkError> {
        let at = usize::try_from(index).ok().filter(|_| index < self.blocks());
        let Some(at) = at else { return Err(SinkError::SourceChanged(index)) };
        if at >= self.contents.len() {
            // A stream's table grows with it.
            self.contents.resize(at + 1, [0; 32]);
        }
        let place = &mut self.contents[at];
        if self.known.contains(index) && *place != content {
            return Err(SinkError::SourceChanged(index));
        }
        *place = content;
        self.known.insert(index);
        Ok(())
    }

    /// Notes that the source has this number of blocks.
    ///
    /// # Errors
    /// When it is no stream, has ended elsewhere, or blocks behind that are known.
    pub fn end_at(&mut self, blocks: u64) -> Result<(), SinkError> {
        let others = self.contents.len() as u64 > blocks;
        if self.end.map_or(others || blocks > self.layout.blocks(), |end| end != blocks) {
            return Err(SinkError::Ended(blocks));
        }
        self.end = Some(blocks);
        Ok(())
    }

    /// How many blocks there are, or may be while the end isn't known.
    fn blocks(&self) -> u64 {
        self.end.unwrap_or_else(|| self.layout.blocks())
    }

    /// The digest fixed for block `index`, once it is known.
    #[must_use]
    pub fn content(&self, index: u64) -> Option<[u8; 32]> {
        self.known.contains(index).then(|| self.contents[index as usize])
    }

    /// Whether block `index` is with the writer.
    #[must_use]
    pub fn is_flying(&self, index: u64) -> bool {
        self.flying.contains(&index)
    }

    /// Whether block `index` is held or with the writer.
    #[must_use]
    pub fn has(&self, index: u64) -> bool {
        self.held.contains(index) || self.is_flying(index)
    }

    /// Whether block `index` can be read back and fed to others.
    #[must_use]
    pub fn can_serve(&self, index: u64) -> bool {
        let held = self.held.contains(index) && !self.unreadable.contains(&index);
        let signed = self.signed.as_ref().is_none_or(|signed| signed.contains(index));
        self.holder && held && signed && self.serves(index)
    }

    /// Whether block `index` can be fed to others later: it is with the writer, or held back.
    #[must_use]
    pub fn will_serve(&self, index: u64) -> bool {
        let held_back = self.held.contains(index) && !self.serves(index);
        self.holder && (held_back || self.flying.contains(&index))
    }

    /// Whether block `index` can be fed to others later without further blocks: in a stream all blocks before
    /// it are here. A relay may stop reading only for such a block; another may need what is to be read.
    #[must_use]
    pub fn will_surely_serve(&self, index: u64) -> bool {
        self.will_serve(index) && (self.window.is_none() || index < self.reach)
    }

    /// Whether all digests were known before anything came: some blocks may have been here then.
    #[must_use]
    pub fn is_foreknown(&self) -> bool {
        self.foreknown
    }

    /// How many blocks are held or with the writer.
    #[must_use]
    pub fn here(&self) -> u64 {
        self.held.count() + self.flying.len() as u64
    }

    /// The digests of all blocks, once each is known.
    #[must_use]
    pub fn contents(&self) -> Option<&[[u8; 32]]> {
        (self.end == Some(self.known.count())).then_some(&self.contents)
    }

    /// The digests of the blocks that are held; none for the others.
    #[must_use]
    pub fn held_contents(&self) -> Vec<Option<[u8; 32]>> {
        let held = |index| self.content(index).filter(|_| self.held.contains(index));
        (0..self.blocks()).map(held).collect()
    }

    /// How many blocks are held.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held.count()
    }

    /// How many blocks are held from the first one on, without a gap.
    #[must_use]
    pub fn whole(&self) -> u64 {
        self.next
    }

    /// Whether every block that belongs here is held.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.wanted().is_some_and(|wanted| self.held.count() >= wanted)
    }

    /// How many blocks belong here, once that is known.
    #[must_use]
    pub fn wanted(&self) -> Option<u64> {
        self.part.map_or(self.end, |part| Some(part.len()))
    }

    /// The digest of the blocks that belong here, once each of theirs is known.
    #[must_use]
    pub fn root(&self) -> Option<[u8; 32]> {
        match self.part {
            Some(part) => self.root_of(part),
            None => {
                let all = self.end? == self.known.count();
                all.then(|| root_digest(&self.contents))
            }
        }
    }

    /// The digest of the blocks of one lane, once each of theirs is known.
    #[must_use]
    pub fn root_of(&self, lane: LaneBlocks) -> Option<[u8; 32]> {
        let contents: Option<Vec<[u8; 32]>> =
            lane.indices().map(|index| self.content(index)).collect();
        Some(root_digest(&contents?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        Layout::new(4096 * 3, 4096).unwrap()
    }

    #[test]
    fn a_block_is_held_once_it_has_landed() {
        let mut sink = Sink::new(layout(), true);
        sink.take(1, [1; 32]).unwrap();
        assert!(!sink.wants(1) && sink.will_serve(1) && !sink.can_serve(1));
        sink.landed(1, Landing::Written);
        assert!(sink.can_serve(1) && !sink.is_complete());
        sink.take(0, [0; 32]).unwrap();
        sink.landed(0, Landing::Changed);
        assert!(sink.wants(0), "a changed block is wanted again");
    }

    #[test]
    fn other_bytes_for_the_same_block_are_refused() {
        let mut sink = Sink::source(layout());
        sink.learn(2, [1; 32]).unwrap();
        assert_eq!(sink.learn(2, [2; 32]), Err(SinkError::SourceChanged(2)));
        assert!(sink.learn(3, [0; 32]).is_err(), "there is no block 3");
    }

    #[test]
    fn a_stream_takes_what_its_writer_has_buffers_for() {
        let mut sink = Sink::in_order(layout(), 2);
        assert!(sink.wants(0) && sink.wants(1) && !sink.wants(2));
        assert!(!sink.is_ahead(1) && sink.is_ahead(2), "2 waits until 0 is written");
        sink.take(1, [1; 32]).unwrap();
        sink.landed(1, Landing::Opened);
        assert!(sink.is_flying(1) && sink.front() == Some((0, false)));
        sink.take(0, [0; 32]).unwrap();
        sink.landed(0, Landing::Changed);
        assert_eq!(sink.front(), Some((0, true)));
        assert!(sink.wants(0) && !sink.wants(2) && !sink.is_ahead(2), "0 may come behind it");
        sink.take(0, [0; 32]).unwrap();
        sink.landed(0, Landing::Written);
        sink.landed(1, Landing::Written);
        assert!(sink.front() == Some((2, false)) && sink.wants(2));
    }

    #[test]
    fn a_stream_that_can_be_read_back_serves_surely_what_lacks_nothing_before_it() {
        let mut sink = Sink::in_order(layout(), 2).held_readable().knowing(vec![[0; 32]; 3]);
        sink.bring(1);
        sink.bring(2);
        assert!(sink.will_serve(1) && !sink.will_surely_serve(1) && sink.wants(0));
        sink.take(0, [0; 32]).unwrap();
        assert!([0, 1, 2].into_iter().all(|index| sink.will_surely_serve(index)));
        sink.untake(0);
        assert!(!sink.will_surely_serve(2));
        sink.take(0, [0; 32]).unwrap();
        sink.landed(0, Landing::Written);
        assert!(sink.can_serve(0) && sink.will_surely_serve(1));
        sink.landed(1, Landing::Changed);
        assert!(sink.is_brought(2) && !sink.is_brought(1) && !sink.will_surely_serve(2));
        sink.unserve(0);
        assert!(!sink.can_serve(0) && !sink.will_serve(0) && sink.has(0));
    }

    #[test]
    fn a_stream_is_complete_when_its_end_is_known() {
        let open = Layout::open_ended(4096).unwrap();
        let mut sink = Sink::new(open, true);
        for index in [1, 0] {
            sink.take(index, [7; 32]).unwrap();
            sink.landed(index, Landing::Written);
        }
        assert_eq!(sink.whole(), 2);
        assert!(!sink.is_complete() && sink.root().is_none());
        assert_eq!(sink.end_at(1), Err(SinkError::Ended(1)), "block 1 is known");
        sink.end_at(2).unwrap();
        assert!(sink.is_complete() && sink.end_at(2).is_ok());
        assert_eq!(sink.root(), Some(root_digest(&[[7; 32]; 2])));
        assert_eq!(sink.end_at(3), Err(SinkError::Ended(3)));
        assert!(sink.take(2, [7; 32]).is_err(), "there is no block 2");
        let mut empty = Sink::source(open);
        empty.end_at(0).unwrap();
        assert_eq!((empty.is_complete(), empty.root()), (true, Some(root_digest(&[]))));
        assert!(Sink::new(layout(), true).end_at(2).is_err(), "its end was known");
    }

    #[test]
    fn what_no_source_has_signed_is_not_served() {
        let mut sink = Sink::new(layout(), true).knowing(vec![[0; 32]; 3]).awaiting_signatures();
        sink.hold(0);
        assert!(sink.has(0) && !sink.can_serve(0));
        sink.sign(0);
        assert!(sink.can_serve(0) && !sink.can_serve(1));
    }

    #[test]
    fn what_is_held_back_is_served_later() {
        let mut sink = Sink::source(layout());
        sink.serve_until(1);
        assert!(sink.can_serve(0) && !sink.can_serve(1) && sink.will_serve(1));
        sink.serve_until(3);
        assert!(sink.can_serve(2) && !sink.will_serve(2));
    }

    #[test]
    fn a_part_is_complete_without_the_rest() {
        let part = LaneBlocks { first: 0, run: 1, step: 2, end: 3 };
        let mut sink = Sink::new(layout(), true).with_part(part);
        for index in [0, 2] {
            assert!(!sink.is_complete() && sink.root().is_none());
            sink.take(index, [index as u8; 32]).unwrap();
            sink.landed(index, Landing::Written);
        }
        assert!(sink.is_complete());
        assert_eq!(sink.root(), Some(root_digest(&[[0; 32], [2; 32]])));
        let none = LaneBlocks { first: 3, run: 1, step: 2, end: 3 };
        assert!(Sink::new(layout(), true).with_part(none).is_complete(), "nothing is all of it");
    }

    #[test]
    fn the_root_is_known_when_every_block_is() {
        let mut sink = Sink::new(layout(), true);
        for index in 0..3 {
            assert_eq!(sink.root(), None);
            sink.take(index, [7; 32]).unwrap();
            sink.landed(index, Landing::Written);
        }
        assert_eq!(sink.root(), Some(root_digest(&[[7; 32]; 3])));
        assert!(sink.is_complete());
    }
}
