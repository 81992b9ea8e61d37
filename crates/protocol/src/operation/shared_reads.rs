//! A source that nodes can read themselves: the digests of the parts that they read.

use garland_core::plan::{LaneBlocks, Layout};

/// The part of the source that one node reads.
#[derive(Debug)]
struct SharedRead {
    /// The index of the node that reads the part.
    place: usize,
    blocks: LaneBlocks,
    digests: Vec<[u8; 32]>,
    /// The result, once the part is complete or has failed.
    end: Option<Result<(), String>>,
}

/// The parts of a source that nodes read.
#[derive(Debug, Default)]
pub struct Parts(Vec<SharedRead>);

/// The digests of a source that nodes reported, until they are checked and complete.
#[derive(Debug)]
pub struct SharedDigests {
    /// The digest of each block; `None` if it is not known.
    digests: Vec<Option<[u8; 32]>>,
    /// For each node that reported digests: its blocks, and the index of one of them.
    samples: Vec<(LaneBlocks, u64)>,
}

impl SharedDigests {
    /// Returns the indexes of the blocks to [`check`](Self::check), one for each node that reported
    /// digests: the head reads them, too, because a node may read another file. A node that changes
    /// a few blocks is not found by that.
    pub fn samples(&self) -> impl Iterator<Item = u64> + use<> {
        let indexes: Vec<u64> = self.samples.iter().map(|(_, index)| *index).collect();
        indexes.into_iter()
    }

    /// Discards all digests of the node that reported block `index`, unless that block has this
    /// digest.
    pub fn check(&mut self, index: u64, digest: [u8; 32]) {
        if self.digests[index as usize] != Some(digest) {
            let its = self.samples.iter().filter(|(_, sample)| *sample == index);
            let blocks = its.flat_map(|(blocks, _)| blocks.indices());
            blocks.for_each(|index| self.digests[index as usize] = None);
        }
    }

    /// Returns the first range of blocks without digests; `None` if all digests are known.
    #[must_use]
    pub fn missing(&self) -> Option<LaneBlocks> {
        let first = self.digests.iter().position(Option::is_none)?;
        let length = self.digests[first..].iter().take_while(|it| it.is_none()).count();
        let end = (first + length) as u64;
        Some(LaneBlocks { first: first as u64, end, ..LaneBlocks::all(end) })
    }

    /// Sets the digests of `blocks`, in order.
    pub fn fill(&mut self, blocks: LaneBlocks, digests: Vec<[u8; 32]>) {
        for (index, digest) in blocks.indices().zip(digests) {
            self.digests[index as usize] = Some(digest);
        }
    }

    /// Returns the known digests, in the order of the blocks.
    #[must_use]
    pub fn into_known(self) -> Vec<[u8; 32]> {
        self.digests.into_iter().flatten().collect()
    }
}

impl Parts {
    /// Creates the parts from the indexes of nodes and the blocks that each is to read.
    pub fn new(asked: impl IntoIterator<Item = (usize, LaneBlocks)>) -> Self {
        let part = |(place, blocks)| SharedRead { place, blocks, digests: Vec::new(), end: None };
        Self(asked.into_iter().map(part).collect())
    }

    /// Adds the next digests that the node `place` reported; `more` says whether others follow.
    /// Returns whether there were any.
    pub fn take(&mut self, place: usize, digests: Vec<[u8; 32]>, more: bool) -> bool {
        let Some(part) = self.pending(place) else { return false };
        let is_new = !digests.is_empty();
        part.digests.extend(digests);
        let reported = part.digests.len() as u64;
        let all = part.blocks.len();
        if reported > all || !more && reported < all {
            part.end = Some(Err(format!("it reported {reported} digests instead of {all}")));
        } else if !more {
            part.end = Some(Ok(()));
        }
        is_new
    }

    /// Returns whether the node `place` is still to report digests.
    pub fn is_pending(&self, place: usize) -> bool {
        self.0.iter().any(|part| part.place == place && part.end.is_none())
    }

    /// Notes that the node `place` does not read its part, and why.
    pub fn fail(&mut self, place: usize, reason: String) {
        if let Some(part) = self.pending(place) {
            part.end = Some(Err(reason));
        }
    }

    fn pending(&mut self, place: usize) -> Option<&mut SharedRead> {
        self.0.iter_mut().find(|part| part.place == place && part.end.is_none())
    }

    /// Returns whether there are parts, and all are complete or have failed.
    pub fn are_settled(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|part| part.end.is_some())
    }

    /// Returns the reported digests of a source with this layout. `draw` is a random number, by
    /// which the blocks are chosen that are read again: no node knows them before it has reported.
    pub fn reported(&self, layout: Layout, draw: u64) -> SharedDigests {
        let mut all = vec![None; usize::try_from(layout.blocks()).unwrap_or(0)];
        let mut samples = Vec::new();
        for part in self.0.iter().filter(|part| matches!(part.end, Some(Ok(())))) {
            for (index, digest) in part.blocks.indices().zip(&part.digests) {
                all[index as usize] = Some(*digest);
            }
            samples.push((part.blocks, part.blocks.index(draw % part.blocks.len().max(1))));
        }
        SharedDigests { digests: all, samples }
    }

    /// Returns the indexes of nodes that have not read their parts, and why. Includes nodes with a
    /// wrong digest, if all `digests` are known.
    pub fn unread(self, digests: Option<&[[u8; 32]]>) -> Vec<(usize, String)> {
        let reason = |part: &SharedRead| match &part.end {
            Some(Err(reason)) => Some(reason.clone()),
            Some(Ok(())) => {
                let wrong = |digests: &[[u8; 32]]| {
                    let mut reported = part.blocks.indices().zip(&part.digests);
                    reported.any(|(index, digest)| digests[index as usize] != *digest)
                };
                let differs = digests.is_some_and(wrong);
                differs.then(|| "its file at this path differs from the source".to_owned())
            }
            None => Some("it did not report its digests".to_owned()),
        };
        self.0.iter().filter_map(|part| Some((part.place, reason(part)?))).collect()
    }
}

#[cfg(test)]
mod tests;
