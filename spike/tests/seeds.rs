//! A small copy under thousands of schedules, and faults in the driver that some of them find.

use std::path::Path;

use garland_core::plan::Layout;
use garland_core::splitmix::SplitMix;
use garland_protocol::{CopyId, Secret, Verdict};
use garland_spike::head::{HeadDriver, Job};
use garland_spike::node::{Flaw, NodeDriver};
use garland_spike::sim::{Disk, Ending, Fault, Faults, run};

const SOURCE: &str = "/s/file";
const PATH: &str = "/d/file";

/// What a run ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Copied,
    Failed,
    /// The head crashed, and nobody is left to tell.
    Untold,
}

/// Runs a copy, and returns what is wrong with its end.
fn copy(seed: u64, flaw: Flaw) -> Result<Outcome, String> {
    copy_with(seed, Faults::of(seed), flaw)
}

/// Runs a copy with these faults.
fn copy_with(seed: u64, faults: Faults, flaw: Flaw) -> Result<Outcome, String> {
    let mut random = SplitMix(seed);
    let length = random.below(12 * 4096);
    let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
    let old = (random.below(2) == 0).then_some(&b"the old version"[..]);
    let job = Job {
        copy: CopyId([seed as u8; 16]),
        secret: Secret([1; 32]),
        seed: Secret([2; 32]),
        source: SOURCE.into(),
        layout: Layout::new(length as u64, 4096).unwrap(),
        destination: PATH.into(),
        sealed: random.below(2) == 0,
        fsync: true,
        node: (([10, 0, 0, 1], 1).into(), ([10, 0, 0, 1], 2).into()),
        buffers: 1 + random.below(4),
        node_buffers: 1 + random.below(4) as u16,
    };
    let receiver = old.map_or_else(Disk::default, |old| Disk::default().with(Path::new(PATH), old));
    let disks = [Disk::default().with(Path::new(SOURCE), &bytes), receiver];
    let (mut head, mut node) = (HeadDriver::new(job, 0), NodeDriver::new(0, flaw));
    let run = run(&mut head, &mut node, disks, faults, seed);
    let found = run.disks[1].bytes(Path::new(PATH));
    let is_whole = found == Some(&bytes[..]);
    let verdict = (run.endings[0] == Ending::Over).then(|| head.verdict()).flatten();
    let wrong = |what: &str| {
        let at = run.elapsed_ns / 1_000_000;
        Err(format!("seed {seed}: {what} after {at} ms ({:?}; {verdict:?})", run.happened))
    };
    if run.endings.contains(&Ending::Hangs) {
        return wrong(&format!("a driver hangs: {:?}", run.endings));
    }
    if !is_whole && found != old {
        return wrong("the file is neither whole nor as before");
    }
    let is_told = run.endings[0] != Ending::Over || verdict.is_some();
    if !is_told {
        return wrong("the head ended without a verdict");
    }
    if verdict == Some(Verdict::Ok) && !is_whole {
        return wrong("a commit was reported, and the file is not there");
    }
    if Faults::are_mendable(&run.happened) && verdict != Some(Verdict::Ok) {
        return wrong("a copy failed without need");
    }
    let left = run.disks[1].paths().any(|path| path != Path::new(PATH));
    if run.endings[1] == Ending::Over && left {
        return wrong("a hidden file is left");
    }
    Ok(match verdict {
        Some(Verdict::Ok) => Outcome::Copied,
        Some(_) => Outcome::Failed,
        None => Outcome::Untold,
    })
}

fn seeds() -> u64 {
    std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1000)
}

#[test]
fn no_schedule_breaks_a_promise() {
    let began = garland_sys::clock::now_ns();
    let cpu = garland_sys::clock::thread_cpu_ns();
    let results: Vec<_> = (0..seeds()).map(|seed| copy(seed, Flaw::None)).collect();
    let (wall, cpu) =
        (garland_sys::clock::now_ns() - began, garland_sys::clock::thread_cpu_ns() - cpu);
    let wrong: Vec<&String> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    let count = |outcome| results.iter().filter(|result| **result == Ok(outcome)).count();
    println!(
        "{} seeds in {} ms ({} ms of CPU): {} copied, {} failed, {} untold",
        results.len(),
        wall / 1_000_000,
        cpu / 1_000_000,
        count(Outcome::Copied),
        count(Outcome::Failed),
        count(Outcome::Untold)
    );
    assert!(wrong.is_empty(), "{} wrong: {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
    assert!(count(Outcome::Copied) > 0 && count(Outcome::Failed) > 0);
}

#[test]
fn equal_seeds_give_equal_runs() {
    for seed in 0..50 {
        assert_eq!(copy(seed, Flaw::None), copy(seed, Flaw::None));
    }
}

/// Returns every crash of either side in its first steps, under three schedules.
fn crashes() -> impl Iterator<Item = (u64, Faults)> {
    let sides = (0..3).flat_map(|seed| [0, 1].map(|side| (seed, side)));
    let steps = sides.flat_map(|(seed, side)| (0..150).map(move |at| (seed, side, at)));
    steps.flat_map(|(seed, side, at)| {
        [true, false].map(|loud| (seed, Faults::only(Fault::Crash { side, at, loud })))
    })
}

#[test]
fn no_crash_at_any_step_breaks_a_promise() {
    for (seed, faults) in crashes() {
        let result = copy_with(seed, faults, Flaw::None);
        assert!(result.is_ok(), "{result:?}");
    }
}

#[test]
fn seeds_find_flaws() {
    for flaw in [Flaw::RenameFirst, Flaw::NoCheck, Flaw::ShortWrite, Flaw::NoFolderSync] {
        let mut seeds = (0..seeds()).map(|seed| (seed, Faults::of(seed))).chain(crashes());
        let found = seeds.find_map(|(seed, faults)| copy_with(seed, faults, flaw).err());
        println!("{flaw:?}: {found:?}");
        assert!(found.is_some(), "{flaw:?} was not found");
    }
}
