//! Thousands of copies with mishaps. Every healthy node must end with the whole file, every dead
//! node must be reported, and no key and nonce may ever cover two plaintexts.

mod case;
mod judge;

use garland_simulation::Seeds;

use case::Case;
use judge::judge;

/// Runs the copies of all seeds. A failure reports the seed, how to repeat it, and the smallest
/// case that fails. Each `kind` of copy has seeds of its own.
fn run(kind: u64, seeds: Seeds, make: fn(u64) -> Case) {
    for seed in seeds.iter() {
        let case = make((kind << 32).wrapping_add(seed));
        if let Err(why) = judge(&case) {
            let (small, why) = case.shrink(why);
            panic!("seed {seed}: {why} (GARLAND_SIM_SEEDS={seed}+1)\nsmallest case: {small:#?}");
        }
    }
}

#[test]
fn deaths_at_any_moment() {
    run(0, Seeds::asked_for(2000), Case::deaths);
    // A block of a pipe that was written while its lane's thread waited for the next node.
    run(0, Seeds::one(2598), Case::deaths);
}

#[test]
fn all_but_one_die() {
    run(1, Seeds::asked_for(2000).a_quarter(), Case::all_but_one);
}

#[test]
fn stalls_breaks_and_slow_disks() {
    run(2, Seeds::asked_for(2000), Case::stalls);
}

#[test]
fn disks_that_never_return() {
    // A minute of heartbeats each.
    run(4, Seeds::asked_for(2000).a_quarter().a_quarter(), Case::hangs);
    // A node that hung while it fed others, and the node behind it on a lane that begins elsewhere.
    // A stream whose end reached a node that was fed by another one on the side.
    [192, 334, 500_028, 500_375].into_iter().for_each(|seed| run(4, Seeds::one(seed), Case::hangs));
}

#[test]
fn messages_that_come_again_and_late() {
    run(6, Seeds::asked_for(2000).a_quarter(), Case::repeats);
}

#[test]
fn nodes_that_join_late() {
    run(5, Seeds::asked_for(2000).a_quarter(), Case::late);
    // A block that a pipe lacked, and that was forwarded while it arrived to a node that had it by
    // now, whose pipe waited for another lane.
    run(5, Seeds::one(1_201_262), Case::late);
}

#[test]
fn everything_at_once() {
    run(3, Seeds::asked_for(2000), Case::everything);
}
