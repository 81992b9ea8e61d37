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
    /// digests: the head reads them, too, because a node may read another file.
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
        let (first, end) = (first as u64, (first + length) as u64);
        Some(LaneBlocks { first, end, ..LaneBlocks::all(end) })
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
    pub fn take(&mut self, place: usize, digests: Vec<[u8; 32]>, more: bool) {
        let Some(part) = self.pending(place) else { return };
        part.digests.extend(digests);
        let (reported, all) = (part.digests.len() as u64, part.blocks.len());
        if reported > all || !more && reported < all {
            part.end = Some(Err(format!("it reported {reported} digests instead of {all}")));
        } else if !more {
            part.end = Some(Ok(()));
        }
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

    /// Returns the reported digests of a source with this layout.
    pub fn reported(&self, layout: Layout) -> SharedDigests {
        let mut all = vec![None; usize::try_from(layout.blocks()).unwrap_or(0)];
        let mut samples = Vec::new();
        for part in self.0.iter().filter(|part| matches!(part.end, Some(Ok(())))) {
            for (index, digest) in part.blocks.indices().zip(&part.digests) {
                all[index as usize] = Some(*digest);
            }
            samples.push((part.blocks, part.blocks.index(part.blocks.len() / 2)));
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
mod tests {
    use super::*;

    fn blocks(first: u64, end: u64) -> LaneBlocks {
        LaneBlocks { first, run: end - first, step: end - first, end }
    }

    #[test]
    fn digests_of_parts_are_collected_and_missing_parts_are_named() {
        let layout = Layout::new(6 * 4096, 4096).unwrap();
        let mut parts = Parts::new([(0, blocks(0, 2)), (1, blocks(2, 4)), (2, blocks(4, 6))]);
        parts.take(0, vec![[1; 32]], true);
        assert!(!parts.are_settled());
        parts.take(0, vec![[2; 32]], false);
        parts.take(1, vec![[9; 32], [9; 32]], false);
        parts.fail(2, "no such file".to_owned());
        parts.fail(0, "too late".to_owned());
        parts.take(2, vec![[7; 32]], true);
        assert!(parts.are_settled());
        let mut reported = parts.reported(layout);
        let some = |digit: u8| Some([digit; 32]);
        assert_eq!(reported.digests, [some(1), some(2), some(9), some(9), None, None]);
        assert_eq!(reported.samples, [(blocks(0, 2), 1), (blocks(2, 4), 3)]);
        reported.check(1, [2; 32]);
        reported.check(3, [4; 32]);
        assert_eq!(reported.digests, [some(1), some(2), None, None, None, None]);
        let missing = reported.missing().unwrap();
        assert!(missing.indices().eq(2..6));
        reported.fill(missing, [3, 4, 5, 6].map(|digit| [digit; 32]).to_vec());
        assert_eq!(reported.missing(), None);
        assert_eq!(reported.into_known(), [1, 2, 3, 4, 5, 6].map(|digit| [digit; 32]));
        let digests = [1, 2, 3, 4, 5, 6].map(|digit| [digit; 32]);
        let another = "its file at this path differs from the source";
        let wanted = [(1, another.to_owned()), (2, "no such file".to_owned())];
        assert_eq!(parts.unread(Some(&digests)), wanted);
    }

    #[test]
    fn a_node_with_too_few_or_too_many_digests_counts_as_failed() {
        for (count, more) in [(1, false), (3, true)] {
            let mut parts = Parts::new([(4, blocks(0, 2))]);
            parts.take(4, vec![[1; 32]; count], more);
            assert!(parts.are_settled());
            assert_eq!(parts.reported(Layout::new(8192, 4096).unwrap()).digests, [None, None]);
        }
        assert!(!Parts::default().are_settled());
    }
}
