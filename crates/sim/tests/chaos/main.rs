//! Thousands of copies to which something happens. Whatever it is, every healthy node ends with
//! the whole file, every dead one is named, and no key and nonce ever cover two plaintexts.

mod case;
mod judge;

use case::Case;
use judge::judge;

/// Runs seeds from `first` on; on failure, says which and what the smallest case is that fails.
fn seeds(first: u64, count: u64, make: fn(u64) -> Case) {
    for seed in first..first + count {
        let case = make(seed);
        if let Err(why) = judge(&case) {
            let (small, why) = case.shrink(why);
            panic!("seed {seed}: {why}\nsmallest case: {small:#?}");
        }
    }
}

fn count() -> u64 {
    let count = std::env::var("GARLAND_SIM_SEEDS").ok();
    count.and_then(|count| count.parse().ok()).unwrap_or(2000)
}

#[test]
fn deaths_at_any_moment() {
    seeds(0, count(), Case::deaths);
}

#[test]
fn all_but_one_die() {
    seeds(1 << 32, count() / 4, Case::all_but_one);
}

#[test]
fn stalls_breaks_and_slow_disks() {
    seeds(2 << 32, count(), Case::stalls);
}

#[test]
fn everything_at_once() {
    seeds(3 << 32, count(), Case::everything);
}
