//! What one node holds of a copy: the sink machine. Relays of all its lanes share it.

use std::collections::BTreeSet;

use thiserror::Error;

use super::seal::root_digest;
use crate::plan::{BlockSet, Layout};

/// How a block that was handed to the writer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// Opened and written.
    Written,
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
    known: BlockSet,
    contents: Vec<[u8; 32]>,
    holder: bool,
    next_in_order: Option<u64>,
}

impl Sink {
    /// The sink of a receiver. A `holder` can read back what it wrote, so it can feed others; an
    /// `ordered` one (a pipe) takes blocks in their order only.
    #[must_use]
    pub fn new(layout: Layout, holder: bool, ordered: bool) -> Self {
        let blocks = layout.blocks();
        let table = usize::try_from(blocks).expect("a block table fits the memory");
        Self {
            layout,
            held: BlockSet::new(blocks),
            flying: BTreeSet::new(),
            known: BlockSet::new(blocks),
            contents: vec![[0; 32]; table],
            holder,
            next_in_order: ordered.then_some(0),
        }
    }

    /// The head's side: it holds every block, and learns their digests as it reads them.
    #[must_use]
    pub fn source(layout: Layout) -> Self {
        Self { held: BlockSet::full(layout.blocks()), ..Self::new(layout, true, false) }
    }

    /// How the source is cut.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether block `index` is still to be taken.
    #[must_use]
    pub fn wants(&self, index: u64) -> bool {
        let in_order = self.next_in_order.is_none_or(|next| next == index);
        in_order && !self.held.contains(index) && !self.flying.contains(&index)
    }

    /// Takes block `index` for the writer. `content` is the digest in its header.
    ///
    /// # Errors
    /// When the head had fixed another digest for this block.
    pub fn take(&mut self, index: u64, content: [u8; 32]) -> Result<(), SinkError> {
        self.learn(index, content)?;
        self.flying.insert(index);
        if let Some(next) = &mut self.next_in_order {
            *next = index + 1;
        }
        Ok(())
    }

    /// Gives a taken block back: it never reached the writer.
    pub fn untake(&mut self, index: u64) {
        self.flying.remove(&index);
        if let Some(next) = &mut self.next_in_order {
            *next = index.min(*next);
        }
    }

    /// Notes how a taken block ended.
    pub fn landed(&mut self, index: u64, landing: Landing) {
        match landing {
            Landing::Written if self.flying.remove(&index) => {
                self.held.insert(index);
            }
            Landing::Written => {}
            Landing::Changed => self.untake(index),
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
        self.holder && self.held.contains(index)
    }

    /// Whether block `index` is with the writer, and can be fed to others once it has landed.
    #[must_use]
    pub fn will_serve(&self, index: u64) -> bool {
        self.holder && self.flying.contains(&index)
    }

    /// How many blocks are held.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held.count()
    }

    /// Whether every block is held.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.held.is_full()
    }

    /// The source's digest, once every block's is known.
    #[must_use]
    pub fn root(&self) -> Option<[u8; 32]> {
        self.known.is_full().then(|| root_digest(&self.contents))
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
        let mut sink = Sink::new(layout(), true, false);
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
    fn a_pipe_takes_blocks_in_order() {
        let mut sink = Sink::new(layout(), false, true);
        assert!(sink.wants(0) && !sink.wants(1));
        sink.take(0, [0; 32]).unwrap();
        assert!(sink.wants(1), "the next may follow while the first is written");
        sink.landed(0, Landing::Changed);
        assert!(sink.wants(0) && !sink.wants(1));
    }

    #[test]
    fn the_root_is_known_when_every_block_is() {
        let mut sink = Sink::new(layout(), true, false);
        for index in 0..3 {
            assert_eq!(sink.root(), None);
            sink.take(index, [7; 32]).unwrap();
            sink.landed(index, Landing::Written);
        }
        assert_eq!(sink.root(), Some(root_digest(&[[7; 32]; 3])));
        assert!(sink.is_complete());
    }
}
