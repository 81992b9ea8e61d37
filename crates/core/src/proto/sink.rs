//! What one node holds of a copy: the sink machine. Relays of all its lanes share it.

use std::collections::BTreeSet;

use thiserror::Error;

use super::seal::root_digest;
use crate::plan::{BlockSet, LaneBlocks, Layout};

/// How a block that was handed to the writer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// Opened and written.
    Written,
    /// Opened; it is written when its turn comes, and lands again then.
    Opened,
    /// Not what was sealed: a byte changed on the way.
    Changed,
}

/// Why a block can't be taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SinkError {
    /// The head sealed other bytes for a block that it had sealed before.
    #[error("the source changed while it was copied (block {0})")]
    SourceChanged(u64),
}

/// Which blocks a node holds, which are with its writer, and what their bytes must be.
#[derive(Clone, Debug)]
pub struct Sink {
    layout: Layout,
    held: BlockSet,
    flying: BTreeSet<u64>,
    /// Blocks that went by and are neither held nor with the writer.
    lacking: BTreeSet<u64>,
    known: BlockSet,
    contents: Vec<[u8; 32]>,
    holder: bool,
    turn: Option<Turn>,
    /// Only these blocks belong here; all where there is none.
    part: Option<LaneBlocks>,
    /// Blocks from this one on are held, but not served yet.
    serving: u64,
}

/// A stream's place: where it is, and how far blocks may be ahead of it.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// The first block that isn't written yet.
    next: u64,
    /// Blocks that may be taken from there on.
    window: u64,
}

impl Sink {
    /// The sink of a receiver. A `holder` can read back what it wrote, so it can feed others.
    #[must_use]
    pub fn new(layout: Layout, holder: bool) -> Self {
        let blocks = layout.blocks();
        let table = usize::try_from(blocks).expect("a block table fits the memory");
        Self {
            layout,
            held: BlockSet::new(blocks),
            flying: BTreeSet::new(),
            lacking: BTreeSet::new(),
            known: BlockSet::new(blocks),
            contents: vec![[0; 32]; table],
            holder,
            turn: None,
            part: None,
            serving: u64::MAX,
        }
    }

    /// The sink of a stream (a pipe), whose writer writes in the blocks' order. Of the first block
    /// that isn't written and those behind it, `window` may be with the writer: as many as it has
    /// buffers for, so that there is always one for the block whose turn it is.
    #[must_use]
    pub fn in_order(layout: Layout, window: usize) -> Self {
        let window = u64::try_from(window).unwrap_or(u64::MAX);
        Self { turn: Some(Turn { next: 0, window }), ..Self::new(layout, false) }
    }

    /// The head's side: it holds every block, and learns their digests as it reads them.
    #[must_use]
    pub fn source(layout: Layout) -> Self {
        Self { held: BlockSet::full(layout.blocks()), ..Self::new(layout, true) }
    }

    /// The same where only the blocks of one lane belong: a stripe.
    #[must_use]
    pub fn with_part(self, part: LaneBlocks) -> Self {
        Self { part: Some(part), ..self }
    }

    /// Serves the blocks before `bound`, and lets those who want others wait.
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
        let near = self.turn.is_none_or(|turn| index < turn.next.saturating_add(turn.window));
        near && !self.held.contains(index) && !self.flying.contains(&index)
    }

    /// Takes block `index` for the writer. `content` is the digest in its header.
    ///
    /// # Errors
    /// When the head had fixed another digest for this block.
    pub fn take(&mut self, index: u64, content: [u8; 32]) -> Result<(), SinkError> {
        self.learn(index, content)?;
        self.flying.insert(index);
        self.lacking.remove(&index);
        Ok(())
    }

    /// Gives a taken block back: it never reached the writer.
    pub fn untake(&mut self, index: u64) {
        self.flying.remove(&index);
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
        let waits = |turn: Turn| index - turn.next >= turn.window;
        self.turn.is_some_and(|turn| {
            index > turn.next && waits(turn) && !self.lacking.contains(&turn.next)
        })
    }

    /// What [`Sink::is_ahead`] depends on: a stream's next block, and whether it went by. When it
    /// changes, other lanes than the one that changed it may go on. `None` for what is no stream.
    #[must_use]
    pub fn front(&self) -> Option<(u64, bool)> {
        self.turn.map(|turn| (turn.next, self.lacking.contains(&turn.next)))
    }

    /// Notes how a taken block ended.
    pub fn landed(&mut self, index: u64, landing: Landing) {
        match landing {
            Landing::Written if self.flying.remove(&index) => {
                self.held.insert(index);
                if let Some(turn) = &mut self.turn {
                    while self.held.contains(turn.next) {
                        turn.next += 1;
                    }
                }
            }
            Landing::Written | Landing::Opened => {}
            Landing::Changed => {
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
        let Some(place) = usize::try_from(index).ok().and_then(|at| self.contents.get_mut(at))
        else {
            return Err(SinkError::SourceChanged(index));
        };
        if self.known.contains(index) && *place != content {
            return Err(SinkError::SourceChanged(index));
        }
        *place = content;
        self.known.insert(index);
        Ok(())
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
        self.holder && self.held.contains(index) && self.serves(index)
    }

    /// Whether block `index` can be fed to others later: it is with the writer, or held back.
    #[must_use]
    pub fn will_serve(&self, index: u64) -> bool {
        let held_back = self.held.contains(index) && !self.serves(index);
        self.holder && (held_back || self.flying.contains(&index))
    }

    /// How many blocks are held.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held.count()
    }

    /// Whether every block that belongs here is held.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match self.part {
            Some(part) => self.held.count() >= part.len(),
            None => self.held.is_full(),
        }
    }

    /// The digest of the blocks that belong here, once each of theirs is known.
    #[must_use]
    pub fn root(&self) -> Option<[u8; 32]> {
        match self.part {
            Some(part) => self.root_of(part),
            None => self.known.is_full().then(|| root_digest(&self.contents)),
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
