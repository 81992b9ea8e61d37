//! Copies of random trees with random options, beside rsync's: what both leave at the destination
//! is compared after each of several runs, between which source and destinations change.
//!
//! Each attribute of each entry is the one that rsync leaves, or the source's: Garland compares
//! times to the nanosecond and sends neighbours of a changed file, so it updates more. Not drawn,
//! since `docs/copy.md` lists them as different: sockets, pipes and devices, and (but for one case,
//! which is checked) directories where others have files. Where a file system refuses or lies,
//! Garland has to name what it could not set, and rsync need not.
//!
//! Several processes play side by side, each on a file system of its own ([`batch::Batch`]).
//! `GARLAND_RSYNC_ROUNDS` is the number of rounds, `GARLAND_SOAK` their seed, `GARLAND_RSYNC_FROM`
//! the first one, `GARLAND_RSYNC_ROUND` the only one.

mod batch;
mod choice;
mod disks;
mod entries;
mod odd;
mod round;
mod source;
mod tally;
mod workers;

use garland_testkit::env_number;

use crate::batch::Batch;
use crate::disks::Disk;

/// The file systems of a usual run: they need no program that makes them.
const USUAL: [Disk; 4] = [Disk::Here, Disk::Memory, Disk::Overlay, Disk::Odd];

/// Returns what is to be played: some rounds of a seed, or in a usual run a batch on each of
/// [`USUAL`].
fn wanted() -> Vec<Batch> {
    let seed = env_number("GARLAND_SOAK").unwrap_or(1);
    let first = env_number("GARLAND_RSYNC_FROM").unwrap_or(0);
    let only = env_number("GARLAND_RSYNC_ROUND");
    match (only, env_number("GARLAND_RSYNC_ROUNDS")) {
        (Some(only), _) => Batch::deal(seed, only, only + 1),
        (None, Some(rounds)) => Batch::deal(seed, first, rounds.max(first)),
        (None, None) => USUAL.map(|disk| Batch::first_on(disk, seed)).to_vec(),
    }
}

#[test]
fn on_each_file_system_a_copy_leaves_what_rsync_leaves() {
    match Batch::from_environment() {
        Some(batch) => batch.play(),
        None => workers::play("on_each_file_system_a_copy_leaves_what_rsync_leaves", wanted()),
    }
}
