//! Transfers of one node and direction that are copied together.

use std::ops::Range;

use super::transfer::Transfer;
use crate::begin::FILES_MAX;
use crate::line::MAX_MESSAGE;

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
    results: Vec<Result<u64, String>>,
    /// The number of files of all transfers.
    files: usize,
    /// The ranges of transfers that have no result yet, the next one last.
    left: Vec<Range<usize>>,
}

impl Batch {
    /// Creates a batch of one transfer.
    pub fn new(first: Transfer) -> Self {
        let (transfers, results, left) = (Vec::new(), Vec::new(), Vec::new());
        let mut batch = Self { transfers, results, files: 0, left };
        batch.add(first);
        batch
    }

    /// Whether another transfer may be added.
    pub fn has_room(&self) -> bool {
        self.files < FILES_MAX
    }

    /// Adds a transfer, before the first try.
    pub fn add(&mut self, transfer: Transfer) {
        self.files += transfer.names.len();
        self.transfers.push(transfer);
        self.results.push(Ok(0));
        self.left = Vec::from([0..self.transfers.len()]);
    }

    /// Returns the transfers to try together now; `None` if all have a result.
    pub fn due(&self) -> Option<&[Transfer]> {
        Some(&self.transfers[self.left.last()?.clone()])
    }

    /// Handles the result of the try of [`Self::due`]: the total length of each transfer's files
    /// in bytes, or why the try failed. `connected` says whether the node still answers; otherwise
    /// each transfer of the try would fail for the same reason.
    pub fn tried(&mut self, tried: Result<Vec<u64>, String>, connected: bool) {
        let Some(range) = self.left.pop() else { return };
        if tried.is_err() && range.len() > 1 && connected {
            let middle = range.start + range.len() / 2;
            self.left.extend([middle..range.end, range.start..middle]);
            return;
        }
        let transfers = self.transfers[range.clone()].iter();
        for (at, (transfer, result)) in transfers.zip(&mut self.results[range]).enumerate() {
            *result = match &tried {
                Ok(lengths) => Ok(lengths[at]),
                Err(why) => Err(transfer.failed(why)),
            };
        }
    }

    /// Returns the transfers with their results: the total length of a transfer's files in bytes,
    /// or why it failed.
    pub fn into_results(self) -> impl Iterator<Item = (Transfer, Result<u64, String>)> {
        self.transfers.into_iter().zip(self.results)
    }
}

/// Divides files into groups, each of which becomes one copy. `files` has the length of each file,
/// and the length of the longer one of its two paths, both in bytes.
pub fn copies(files: impl Iterator<Item = (u64, usize)>) -> Vec<Range<usize>> {
    let (mut copies, mut group) = (Vec::new(), 0..0);
    let (mut length, mut described) = (0_u64, 0);
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
mod tests {
    use super::*;
    use crate::dispatch::Direction;

    fn transfer(job: usize, files: usize) -> Transfer {
        Transfer {
            node: 0,
            job,
            number: job as u32 + 1,
            tries: 1,
            way: Direction::There,
            names: (0..files).map(|file| format!("{job}-{file}").as_str().into()).collect(),
            outputs: Vec::new(),
        }
    }

    fn batch(jobs: usize) -> Batch {
        let mut batch = Batch::new(transfer(0, 1));
        (1..jobs).for_each(|job| batch.add(transfer(job, 1)));
        batch
    }

    /// Runs a batch. Tries that contain a job of `guilty` fail; after the first failure the node
    /// answers or not. Returns the jobs of each try, and the results.
    fn run(
        mut batch: Batch,
        guilty: &[usize],
        connected: bool,
    ) -> (Vec<Vec<usize>>, Vec<Result<u64, String>>) {
        let mut tries = Vec::new();
        while let Some(due) = batch.due() {
            let jobs: Vec<usize> = due.iter().map(|transfer| transfer.job).collect();
            let wrong = jobs.iter().find(|job| guilty.contains(job));
            let tried = match wrong {
                Some(job) => Err(format!("no file of {job}")),
                None => Ok(jobs.iter().map(|&job| job as u64 + 100).collect()),
            };
            batch.tried(tried, connected);
            tries.push(jobs);
        }
        (tries, batch.into_results().map(|(_, moved)| moved).collect())
    }

    #[test]
    fn only_the_guilty_job_fails() {
        let (tries, results) = run(batch(5), &[3], true);
        let wanted = [&[0, 1, 2, 3, 4][..], &[0, 1], &[2, 3, 4], &[2], &[3, 4], &[3], &[4]];
        assert_eq!(tries, wanted);
        let why = "cannot copy input 3-0 to the node: no file of 3".to_owned();
        assert_eq!(results, [Ok(100), Ok(101), Ok(102), Err(why), Ok(104)]);
    }

    #[test]
    fn all_fail_at_once_if_the_node_does_not_answer() {
        let (tries, results) = run(batch(4), &[1], false);
        assert_eq!(tries, [[0, 1, 2, 3]]);
        let why = |job| format!("cannot copy input {job}-0 to the node: no file of 1");
        assert_eq!(results, [0, 1, 2, 3].map(|job| Err(why(job))));
    }

    #[test]
    fn a_batch_without_failures_is_one_try() {
        let (tries, results) = run(batch(3), &[], true);
        assert_eq!((tries, results), (vec![vec![0, 1, 2]], vec![Ok(100), Ok(101), Ok(102)]));
    }

    #[test]
    fn a_batch_is_full_at_the_files_of_one_copy() {
        let mut batch = Batch::new(transfer(0, FILES_MAX - 1));
        assert!(batch.has_room());
        batch.add(transfer(1, 1));
        assert!(!batch.has_room());
    }

    #[test]
    fn files_are_divided_by_length_description_and_number() {
        let of = |files: &[(u64, usize)]| copies(files.iter().copied());
        assert_eq!(of(&[]), []);
        // A long file is copied alone, and those on its two sides are not copied together.
        assert_eq!(of(&[(1, 1), (2, 1), (TOGETHER + 1, 1), (3, 1)]), [0..2, 2..3, 3..4]);
        assert_eq!(of(&[(TOGETHER / 2, 1), (TOGETHER / 2, 1), (1, 1)]), [0..2, 2..3]);
        let long = DESCRIPTIONS / 2 - DESCRIPTION;
        assert_eq!(of(&[(0, long), (0, long), (0, 1)]), [0..2, 2..3]);
        let many: Vec<usize> =
            copies((0..FILES_MAX * 2 + 1).map(|_| (0, 0))).iter().map(Range::len).collect();
        let most = FILES_MAX.min(DESCRIPTIONS / DESCRIPTION);
        assert!(many.iter().all(|&files| files <= most) && many[0] == most, "{many:?}");
        assert_eq!(many.iter().sum::<usize>(), FILES_MAX * 2 + 1);
    }
}
