//! Transfers of one node and direction that are copied together.

use std::ops::Range;

use super::transfer::{Transfer, TransferFailure};
use crate::copy::FILES_MAX;
use crate::wire::MAX_MESSAGE;

/// The maximum total length in bytes of files that are copied together. A longer file is copied
/// alone.
const TOGETHER: u64 = 8 << 20;

/// The maximum size in bytes of the files' descriptions in one copy: the order to begin is one
/// message, and its rest is short.
const DESCRIPTIONS: usize = MAX_MESSAGE / 2;

/// An upper bound for the size of a file's description without its path, in bytes.
const DESCRIPTION: usize = 40;

/// Transfers, and which of them are tried together next. If a try fails, each half of its transfers
/// is tried separately, so that in the end only jobs whose own files cannot be copied fail.
#[derive(Debug)]
pub struct Batch {
    transfers: Vec<Transfer>,
    /// For each transfer, the total length of its files in bytes, or why it failed; `Ok(0)` before
    /// its end.
    results: Vec<Result<u64, TransferFailure>>,
    /// The ranges of transfers that have no result yet, the next one last.
    left: Vec<Range<usize>>,
}

impl Batch {
    /// Creates a batch of `first` and as many transfers of `rest` as have enough files for a copy.
    pub fn new(first: Transfer, mut rest: impl Iterator<Item = Transfer>) -> Self {
        let mut files = first.count();
        let mut transfers = Vec::from([first]);
        while files < FILES_MAX
            && let Some(next) = rest.next()
        {
            files += next.count();
            transfers.push(next);
        }
        let all = 0..transfers.len();
        Self { results: vec![Ok(0); all.len()], transfers, left: Vec::from([all]) }
    }

    /// Returns the transfers to try together now; `None` if all have a result.
    pub fn due(&self) -> Option<&[Transfer]> {
        Some(&self.transfers[self.left.last()?.clone()])
    }

    /// Handles the result of the try of [`Self::due`]: the total length of each transfer's files in
    /// bytes, or why the try failed. If that was the node's fault, each transfer of the try would
    /// fail for the same reason.
    pub fn tried(&mut self, tried: Result<Vec<u64>, TransferFailure>) {
        let Some(range) = self.left.pop() else { return };
        if matches!(tried, Err(TransferFailure::Files(_))) && range.len() > 1 {
            let middle = range.start + range.len() / 2;
            self.left.extend([middle..range.end, range.start..middle]);
            return;
        }
        let transfers = self.transfers[range.clone()].iter();
        for (at, (transfer, result)) in transfers.zip(&mut self.results[range]).enumerate() {
            *result = match &tried {
                Ok(lengths) => Ok(lengths[at]),
                Err(failure) => Err(failure.for_transfer(transfer)),
            };
        }
    }

    /// Returns the transfers with their results: the total length of a transfer's files in bytes,
    /// or why it failed.
    pub fn into_results(self) -> impl Iterator<Item = (Transfer, Result<u64, TransferFailure>)> {
        self.transfers.into_iter().zip(self.results)
    }
}

/// Divides files into groups, each of which becomes one copy. `files` has the length of each file,
/// and the length of the longer one of its two paths, both in bytes.
pub fn copies(files: impl Iterator<Item = (u64, usize)>) -> Vec<Range<usize>> {
    let mut copies = Vec::new();
    let mut group = 0..0;
    let mut length = 0_u64;
    let mut described = 0;
    for (file, path) in files {
        (length, described) = (length.saturating_add(file), described + path + DESCRIPTION);
        let is_full = group.len() == FILES_MAX || length > TOGETHER || described > DESCRIPTIONS;
        if is_full && !group.is_empty() {
            let end = group.end;
            copies.push(std::mem::replace(&mut group, end..end));
            (length, described) = (file, path + DESCRIPTION);
        }
        group.end += 1;
    }
    copies.extend(Some(group).filter(|group| !group.is_empty()));
    copies
}

#[cfg(test)]
mod tests;
