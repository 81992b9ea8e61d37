//! The tests again and again, each round with other random cases, until the time is over.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use anyhow::{Context, Result};

use super::steps;
use xtask::clock::Watch;

/// Cases of each property in a round; the default of a single test run is 256.
const CASES: u32 = 4096;

/// Simulated copies of each kind in a round; the default of a single test run is 2000.
const COPIES: u32 = 20_000;

/// Seconds that each parser is fuzzed in a round; a single test run has 2.
const FUZZ_S: u32 = 60;

/// How often a healthy lab is measured by `garland wires`; in a single test run it is 3 times.
const HEALTHY: u32 = 20;

/// Runs rounds of all tests for at least `minutes`. Properties get more cases (`PROPTEST_CASES`), the
/// simulator more copies from a seed of chance on (`GARLAND_SIM_SEEDS`), and tests that choose at
/// random find the round's seed in `GARLAND_SOAK` to begin elsewhere. `garland explain` is tried on all
/// of its faults (`GARLAND_EXPLAIN`).
///
/// # Errors
/// When a round fails, which is named with what it takes to run it again.
pub(crate) fn soak(root: &Path, minutes: u64) -> Result<()> {
    steps::setup(root)?;
    let watch = Watch::start();
    let mut round = 0_u32;
    while round == 0 || watch.read().as_secs() < minutes * 60 {
        round += 1;
        let variables = variables(seed());
        let again: Vec<String> =
            variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let again = again.join(" ");
        println!("== soak round {round}: {again}");
        steps::tests(root, &["--workspace", "--release"], &variables)
            .with_context(|| format!("round {round} (to run it again: {again} cargo test)"))?;
    }
    println!("{round} rounds passed in {:.0} s", watch.read().as_secs_f64());
    Ok(())
}

/// Runs the tests of mounts alone as a round of [`soak`] does: a file is written and read for ten minutes
/// while agents are killed and started again, and the suites do twenty times as much as usual.
///
/// # Errors
/// When a test fails, or what they need can't be installed.
pub(crate) fn soak_mounts(root: &Path) -> Result<()> {
    steps::setup(root)?;
    let variables = [("GARLAND_SOAK", seed().to_string()), profile()];
    let which = ["--release", "--package", "garland", "--test", "mount"];
    steps::tests(root, &which, &variables)
}

/// A seed that no other round has had, short enough to be typed.
fn seed() -> u32 {
    let bits = RandomState::new().hash_one("soak");
    u32::try_from(bits >> 32).expect("32 bits are left")
}

/// The runner's settings for tests that may take long.
fn profile() -> (&'static str, String) {
    ("NEXTEST_PROFILE", "soak".to_owned())
}

/// What a round's tests find in their environment.
fn variables(seed: u32) -> [(&'static str, String); 7] {
    [
        ("PROPTEST_CASES", CASES.to_string()),
        ("GARLAND_SOAK", seed.to_string()),
        ("GARLAND_SIM_SEEDS", format!("{seed}+{COPIES}")),
        ("GARLAND_WIRES_RUNS", HEALTHY.to_string()),
        ("GARLAND_EXPLAIN", "all".to_owned()),
        ("GARLAND_FUZZ_SECONDS", FUZZ_S.to_string()),
        profile(),
    ]
}
