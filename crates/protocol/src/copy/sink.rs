//! The sink machine: the blocks that a node holds of a copy. The relays of all lanes share it.

use std::collections::BTreeSet;

use garland_core::index_set::IndexSet;
use garland_core::plan::{LaneBlocks, Layout};
use thiserror::Error;

use crate::copy::digest_table::DigestTable;
use crate::copy::seal::root_digest;

/// The result of writing a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// The block was decrypted, checked against its digest, and written.
    Written,
    /// The block was decrypted and checked, and waits for earlier blocks of the stream. When it is
    /// written, a second landing follows.
    Opened,
    /// The block's digest is not that of the source: a byte changed, or other bytes were sealed.
    Changed,
}

/// Why a block or the end of the source is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SinkError {
    /// The source has previously signed another digest for this block.
    #[error("the source changed while it was copied (block {0})")]
    SourceChanged(u64),
    /// The end of the source contradicts an end that was noted before, or blocks that have arrived.
    #[error("the end of the source after {0} blocks contradicts earlier messages")]
    Ended(u64),
}

/// The blocks that a node holds, those with its writer, and their digests.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    layout: Layout,
    /// The number of blocks, once known.
    end: Option<u64>,
    /// Whether this is the sink of the source.
    is_source: bool,
    held: IndexSet,
    /// The index of the first block that is not held.
    next: u64,
    in_flight: BTreeSet<u64>,
    /// Blocks that arrived without being stored, or were skipped: they are neither held nor with
    /// the writer, but one may be arriving.
    missing: BTreeSet<u64>,
    known: IndexSet,
    /// Whether all digests were known in advance.
    all_digests: bool,
    contents: DigestTable,
    holder: bool,
    /// The window of a stream: the number of blocks from `next` on that may be with the writer;
    /// `None` if the sink is not a stream.
    window: Option<u64>,
    /// The blocks that belong to this node; `None` if all do.
    part: Option<LaneBlocks>,
    /// Blocks from this index on are not served to other nodes yet, even if held.
    serving: u64,
    /// The blocks whose signed digests have arrived; only these blocks are served. `None` if this
    /// node signs the digests itself.
    signed: Option<IndexSet>,
    /// Blocks that are held but cannot be read back.
    unreadable: BTreeSet<u64>,
    /// Blocks that are copied from another place on this node.
    brought: IndexSet,
    /// The index of the first block of a stream that is neither held nor with the writer.
    reach: u64,
}

impl Sink {
    /// Creates the sink of a receiver. A `holder` can read back what it wrote, so it can feed
    /// others.
    #[must_use]
    pub fn new(layout: Layout, holder: bool) -> Self {
        let blocks = layout.blocks();
        let end = (!layout.open).then_some(blocks);
        Self {
            layout,
            end,
            held: IndexSet::new(blocks),
            known: IndexSet::new(blocks),
            contents: DigestTable::new(end.unwrap_or(0)),
            holder,
            serving: u64::MAX,
            brought: IndexSet::new(blocks),
            ..Self::default()
        }
    }

    /// Creates the sink of a stream (a pipe), which is written in the order of the blocks. At most
    /// `window` blocks, counted from the first one that is not written, may be with the writer. The
    /// writer has as many buffers, so there is always one for the next block.
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

    /// Makes the sink serve a block only after [`Sink::sign`] was called for it.
    #[must_use]
    pub fn awaiting_signatures(self) -> Self {
        Self { signed: Some(IndexSet::new(self.layout.blocks())), ..self }
    }

    /// Notes that the signed digest of block `index` has arrived.
    pub fn sign(&mut self, index: u64) {
        self.signed.iter_mut().for_each(|signed| {
            signed.insert(index);
        });
    }

    /// Notes that block `index` is held but cannot be read back.
    pub fn mark_unreadable(&mut self, index: u64) {
        self.unreadable.insert(index);
    }

    /// Creates the sink of the source: it holds all blocks, and learns their digests as they are
    /// read.
    #[must_use]
    pub fn source(layout: Layout) -> Self {
        let held = IndexSet::full(layout.blocks());
        Self { held, is_source: true, ..Self::new(layout, true) }
    }

    /// Restricts the sink to the blocks of one lane: a stripe.
    #[must_use]
    pub fn with_part(self, part: LaneBlocks) -> Self {
        Self { part: Some(part), ..self }
    }

    /// Gives the sink the digests of the source in advance.
    ///
    /// # Panics
    /// Panics if there is not one digest for each block.
    #[must_use]
    pub fn with_digests(self, contents: Vec<[u8; 32]>) -> Self {
        assert_eq!(contents.len(), self.contents.len(), "a digest for each block");
        Self {
            known: IndexSet::full(self.layout.blocks()),
            contents: contents.into(),
            all_digests: true,
            ..self
        }
    }

    /// Notes that block `index` is held: its bytes have the known digest.
    pub fn hold(&mut self, index: u64) {
        self.held.insert(index);
        while self.held.contains(self.next) {
            self.next += 1;
        }
    }

    /// Reserves block `index` for a copy from another place on this node; [`Sink::landed`] ends the
    /// reservation.
    pub fn bring(&mut self, index: u64) {
        self.in_flight.insert(index);
        self.brought.insert(index);
        self.extend_reach();
    }

    fn extend_reach(&mut self) {
        while self.window.is_some() && self.has(self.reach) {
            self.reach += 1;
        }
    }

    /// Whether block `index` is copied from another place on this node, and not found to differ.
    #[must_use]
    pub fn is_brought(&self, index: u64) -> bool {
        self.brought.contains(index)
    }

    /// Returns the indexes of the blocks that belong to this node, in order.
    pub fn own_blocks(&self) -> impl Iterator<Item = u64> + use<> {
        self.part.unwrap_or(LaneBlocks::all(self.blocks())).indices()
    }

    /// Limits the blocks that are served to other nodes to those before `bound`.
    pub fn serve_until(&mut self, bound: u64) {
        self.serving = bound;
    }

    /// Whether block `index` is below the bound of [`Sink::serve_until`].
    #[must_use]
    pub fn serves(&self, index: u64) -> bool {
        index < self.serving
    }

    /// Returns the block layout of the source.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether the node lacks block `index`, and its writer can take the block now.
    #[must_use]
    pub fn wants(&self, index: u64) -> bool {
        !self.is_far(index) && !self.has(index)
    }

    /// Takes block `index` for the writer. `content` is the digest that the source signed for it.
    ///
    /// # Errors
    /// Fails if another digest was fixed for this block.
    pub fn take(&mut self, index: u64, content: [u8; 32]) -> Result<(), SinkError> {
        self.learn(index, content)?;
        self.in_flight.insert(index);
        self.extend_reach();
        Ok(())
    }

    /// Notes that block `index`, which was taken, has arrived as a whole. Until then it may count
    /// as missing ([`Sink::miss`]).
    pub fn arrived(&mut self, index: u64) {
        self.missing.remove(&index);
    }

    /// Undoes [`Sink::take`] for a block that never reached the writer.
    pub fn untake(&mut self, index: u64) {
        self.in_flight.remove(&index);
        if !self.has(index) {
            self.reach = self.reach.min(index);
        }
    }

    /// Notes that block `index` was skipped, or was not stored when it arrived. The block must be
    /// sent again unless the node has it.
    pub fn miss(&mut self, index: u64) {
        if !self.has(index) {
            self.missing.insert(index);
        }
    }

    /// Returns the indexes of the blocks that were skipped or not stored and have not arrived
    /// since, in order.
    pub fn missing(&self) -> impl Iterator<Item = u64> {
        self.missing.iter().copied()
    }

    /// Whether block `index` is too far ahead of a stream for its writer to take it now, but can be
    /// taken later. False if the stream's next block is missing: that block may arrive only after
    /// block `index`. Also while it arrives: it may be forwarded at the same time to a node whose
    /// stream waits for block `index`.
    #[must_use]
    pub fn is_ahead(&self, index: u64) -> bool {
        index > self.next && self.is_far(index) && !self.missing.contains(&self.next)
    }

    /// Whether block `index` is too far from a stream's next block to be taken.
    #[must_use]
    pub fn is_far(&self, index: u64) -> bool {
        self.window.is_some_and(|window| index >= self.next.saturating_add(window))
    }

    /// Returns what [`Sink::is_ahead`] depends on: the index of a stream's next block, and whether
    /// that block is missing. `None` if the sink is not a stream. When a lane changes this state,
    /// other lanes may be able to continue.
    #[must_use]
    pub fn front(&self) -> Option<(u64, bool)> {
        self.window.map(|_| (self.next, self.missing.contains(&self.next)))
    }

    /// Notes the result of writing a block.
    pub fn landed(&mut self, index: u64, landing: Landing) {
        match landing {
            Landing::Written if self.in_flight.remove(&index) => {
                self.hold(index);
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
    /// Fails if another digest was fixed before.
    pub fn learn(&mut self, index: u64, content: [u8; 32]) -> Result<(), SinkError> {
        let at = usize::try_from(index).ok().filter(|_| index < self.blocks());
        let Some(at) = at else { return Err(SinkError::SourceChanged(index)) };
        if self.known.contains(index) && self.contents.get(at) != content {
            return Err(SinkError::SourceChanged(index));
        }
        self.contents.set(at, content);
        self.known.insert(index);
        Ok(())
    }

    /// Notes that the source has this number of blocks.
    ///
    /// # Errors
    /// Fails if the source is known to have another number of blocks, or has known blocks after
    /// this end.
    pub fn end_at(&mut self, blocks: u64) -> Result<(), SinkError> {
        let others = self.contents.len() as u64 > blocks;
        if self.end.map_or(others || blocks > self.layout.blocks(), |end| end != blocks) {
            return Err(SinkError::Ended(blocks));
        }
        self.end = Some(blocks);
        Ok(())
    }

    /// Returns the number of blocks of the source; `None` until the end of a stream is known.
    pub(crate) fn end(&self) -> Option<u64> {
        self.end
    }

    /// Whether this is the sink of the source.
    pub(crate) fn is_source(&self) -> bool {
        self.is_source
    }

    /// Returns the number of blocks; while the end is unknown, the maximum of the layout.
    fn blocks(&self) -> u64 {
        self.end.unwrap_or_else(|| self.layout.blocks())
    }

    /// Returns the digest of block `index`, if it is known.
    #[must_use]
    pub fn content(&self, index: u64) -> Option<[u8; 32]> {
        self.known.contains(index).then(|| self.contents.get(index as usize))
    }

    /// Whether block `index` is with the writer.
    #[must_use]
    pub fn is_in_flight(&self, index: u64) -> bool {
        self.in_flight.contains(&index)
    }

    /// Whether block `index` is held or with the writer.
    #[must_use]
    pub fn has(&self, index: u64) -> bool {
        self.held.contains(index) || self.is_in_flight(index)
    }

    /// Whether block `index` can be read back and fed to others.
    #[must_use]
    pub fn can_serve(&self, index: u64) -> bool {
        let held = self.held.contains(index) && !self.unreadable.contains(&index);
        let signed = self.signed.as_ref().is_none_or(|signed| signed.contains(index));
        self.holder && held && signed && self.serves(index)
    }

    /// Whether block `index` can be fed to others later: it is with the writer, or not served yet.
    #[must_use]
    pub fn will_serve(&self, index: u64) -> bool {
        let held_back = self.held.contains(index) && !self.serves(index);
        self.holder && (held_back || self.is_in_flight(index))
    }

    /// Whether block `index` can be fed to others later without further blocks: in a stream, all
    /// blocks before it must be present. Only for such a block may a relay stop reading: any other
    /// block may depend on blocks that the relay would then not read.
    #[must_use]
    pub fn will_surely_serve(&self, index: u64) -> bool {
        self.will_serve(index) && (self.window.is_none() || index < self.reach)
    }

    /// Whether all digests were known before any block arrived. If not, the node had no blocks
    /// before the copy.
    #[must_use]
    pub fn knows_all_digests(&self) -> bool {
        self.all_digests
    }

    /// Returns the number of blocks that are held or with the writer.
    #[must_use]
    pub fn here(&self) -> u64 {
        self.held.count() + self.in_flight.len() as u64
    }

    /// Returns the digests of all blocks, once every one is known.
    #[must_use]
    pub fn contents(&self) -> Option<&[[u8; 32]]> {
        (self.end == Some(self.known.count())).then_some(self.contents.all())
    }

    /// Returns the digest of block `index` if the block is held.
    #[must_use]
    pub fn held_content(&self, index: u64) -> Option<[u8; 32]> {
        self.content(index).filter(|_| self.held.contains(index))
    }

    /// Returns the number of held blocks.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held.count()
    }

    /// Returns the number of leading held blocks: the index of the first block not held.
    #[must_use]
    pub fn whole(&self) -> u64 {
        self.next
    }

    /// Whether every block that belongs to this node is held.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.wanted().is_some_and(|wanted| self.held.count() >= wanted)
    }

    /// Returns the number of blocks that belong to this node; `None` until known.
    #[must_use]
    pub fn wanted(&self) -> Option<u64> {
        self.part.map_or(self.end, |part| Some(part.len()))
    }

    /// Returns the digest of the blocks that belong to this node, once all their digests are known.
    #[must_use]
    pub fn root(&self) -> Option<[u8; 32]> {
        match self.part {
            Some(part) => self.root_of(part),
            None => self.contents().map(root_digest),
        }
    }

    /// Returns the digest of the blocks that belong to this node, once the node is complete.
    ///
    /// A node that `had` all blocks before the copy is complete only when its lanes have ended.
    /// Otherwise the copy could end before its links are established, and these would be closed.
    pub fn completed(&self, had: u64, lanes_have_ended: impl Fn() -> bool) -> Option<[u8; 32]> {
        let had_all = had > 0 && had == self.layout.blocks();
        let is_complete = self.is_complete() && (!had_all || lanes_have_ended());
        is_complete.then(|| self.root()).flatten()
    }

    /// Returns the digest of the blocks of one lane, once all their digests are known.
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
        assert!(sink.is_in_flight(1) && sink.front() == Some((0, false)));
        sink.take(0, [0; 32]).unwrap();
        sink.landed(0, Landing::Changed);
        assert_eq!(sink.front(), Some((0, true)));
        assert!(sink.wants(0) && !sink.wants(2) && !sink.is_ahead(2), "0 may come behind it");
        sink.take(0, [0; 32]).unwrap();
        assert!(!sink.wants(0) && !sink.is_ahead(2), "the next node may not read 0 before 2");
        sink.arrived(0);
        assert!(sink.is_ahead(2));
        sink.landed(0, Landing::Written);
        sink.landed(1, Landing::Written);
        assert!(sink.front() == Some((2, false)) && sink.wants(2));
    }

    #[test]
    fn a_readable_stream_surely_serves_blocks_without_a_gap_before_them() {
        let mut sink = Sink::in_order(layout(), 2).held_readable().with_digests(vec![[0; 32]; 3]);
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
        sink.mark_unreadable(0);
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
    fn unsigned_blocks_are_not_served() {
        let mut sink =
            Sink::new(layout(), true).with_digests(vec![[0; 32]; 3]).awaiting_signatures();
        sink.hold(0);
        assert!(sink.has(0) && !sink.can_serve(0));
        sink.sign(0);
        assert!(sink.can_serve(0) && !sink.can_serve(1));
    }

    #[test]
    fn blocks_that_are_held_back_are_served_later() {
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
