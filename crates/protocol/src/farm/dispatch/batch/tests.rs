use super::*;
use crate::farm::dispatch::Direction;

fn transfer(job: usize, files: usize) -> Transfer {
    Transfer {
        node: 0,
        job,
        number: job as u32 + 1,
        tries: 1,
        way: Direction::There,
        names: (0..files).map(|file| format!("{job}-{file}").as_str().into()).collect(),
        state: Vec::new(),
        outputs: Vec::new(),
    }
}

fn batch(jobs: usize) -> Batch {
    Batch::new(transfer(0, 1), (1..jobs).map(|job| transfer(job, 1)))
}

/// Runs a batch. Tries that contain a job of `guilty` fail with this kind of failure. Returns the
/// jobs of each try, and the results.
fn run(
    mut batch: Batch,
    guilty: &[usize],
    failure: fn(String) -> TransferFailure,
) -> (Vec<Vec<usize>>, Vec<Result<u64, TransferFailure>>) {
    let mut tries = Vec::new();
    while let Some(due) = batch.due() {
        let jobs: Vec<usize> = due.iter().map(|transfer| transfer.job).collect();
        let wrong = jobs.iter().find(|job| guilty.contains(job));
        let tried = match wrong {
            Some(job) => Err(failure(format!("no file of {job}"))),
            None => Ok(jobs.iter().map(|&job| job as u64 + 100).collect()),
        };
        batch.tried(tried);
        tries.push(jobs);
    }
    (tries, batch.into_results().map(|(_, moved)| moved).collect())
}

#[test]
fn only_the_guilty_job_fails() {
    let (tries, results) = run(batch(5), &[3], TransferFailure::Files);
    let wanted = [&[0, 1, 2, 3, 4][..], &[0, 1], &[2, 3, 4], &[2], &[3, 4], &[3], &[4]];
    assert_eq!(tries, wanted);
    let why = "cannot copy input 3-0 to the node: no file of 3".to_owned();
    let why = TransferFailure::Files(why);
    assert_eq!(results, [Ok(100), Ok(101), Ok(102), Err(why), Ok(104)]);
}

#[test]
fn all_fail_at_once_if_the_node_does_not_answer() {
    let (tries, results) = run(batch(4), &[1], TransferFailure::Node);
    assert_eq!(tries, [[0, 1, 2, 3]]);
    let why = |job| format!("cannot copy input {job}-0 to the node: no file of 1");
    assert_eq!(results, [0, 1, 2, 3].map(|job| Err(TransferFailure::Node(why(job)))));
}

#[test]
fn a_batch_without_failures_is_one_try() {
    let (tries, results) = run(batch(3), &[], TransferFailure::Files);
    assert_eq!((tries, results), (vec![vec![0, 1, 2]], vec![Ok(100), Ok(101), Ok(102)]));
}

#[test]
fn a_batch_is_full_at_the_files_of_one_copy() {
    let mut rest = (1..4).map(|job| transfer(job, 1));
    let batch = Batch::new(transfer(0, FILES_MAX - 2), &mut rest);
    assert_eq!(batch.due().map(<[_]>::len), Some(3));
    assert_eq!(rest.next().map(|transfer| transfer.job), Some(3), "it stays in the queue");
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
