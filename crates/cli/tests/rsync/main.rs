//! Copies of random trees with random options, beside rsync's: what both leave at the destination is
//! compared after each of several runs, between which source and destinations change.
//!
//! Each attribute of each entry is the one that rsync leaves, or the source's: Garland compares times to the
//! nanosecond and sends neighbours of a changed file, so it updates more. Not drawn, since `docs/copy.md`
//! lists them as different: sockets, pipes and devices, and (but for one case, which is checked) directories
//! where others have files. Where a file system refuses or lies, Garland has to name what it could not set,
//! and rsync need not. `rsync -x` is not compared: Garland has no such option yet. `GARLAND_RSYNC_ROUNDS` is the number of rounds, `GARLAND_SOAK` their seed,
//! `GARLAND_RSYNC_ROUND` the only round.

mod choice;
mod disks;
mod entries;
mod odd;
mod round;
mod source;

use garland_testkit::{Scratch, env_number};

use crate::disks::{Disk, in_own_mounts};
use crate::round::Field;

/// The rounds of a usual run of the tests on a disk, and in memory.
const FEW: u64 = 40;

/// Those on the one other file system of a usual run: it needs no program that makes it.
const FEW_ON_OVERLAY: u64 = 10;

/// Those on file systems that refuse or lie.
const FEW_ON_ODD: u64 = 15;

/// Plays the rounds on the file system of `scratch`'s folder `files`: `few` in a usual run.
fn play(scratch: &Scratch, disk: Disk, few: u64) {
    let seed = env_number("GARLAND_SOAK").unwrap_or(1);
    let field = Field::up(scratch, disk);
    let rounds = env_number("GARLAND_RSYNC_ROUNDS").unwrap_or(few);
    let only = env_number("GARLAND_RSYNC_ROUND");
    let mut runs = 0;
    for round in only.map_or(0..rounds, |only| only..only + 1) {
        runs += field.round(seed, round);
    }
    field.down();
    println!("{disk:?}: {runs} runs in {rounds} rounds of seed {seed}: no difference");
}

#[test]
fn on_a_disk_a_copy_leaves_what_rsync_leaves() {
    play(&Scratch::new("rsync-disk"), Disk::Here, FEW);
}

#[test]
fn in_memory_a_copy_leaves_what_rsync_leaves() {
    play(&Scratch::in_memory("rsync-memory"), Disk::Here, FEW);
}

#[test]
fn where_a_file_system_refuses_or_lies_all_arrives_and_the_rest_is_named() {
    play(&Scratch::new("rsync-odd"), Disk::Odd, FEW_ON_ODD);
}

#[test]
fn on_other_file_systems_a_copy_leaves_what_rsync_leaves() {
    let is_soak = env_number("GARLAND_RSYNC_ROUNDS").is_some();
    let disks = if is_soak { &Disk::MADE[..] } else { &[Disk::Overlay] };
    for &disk in disks {
        in_own_mounts("on_other_file_systems_a_copy_leaves_what_rsync_leaves", disk, |scratch| {
            play(scratch, disk, FEW_ON_OVERLAY);
        });
    }
}
