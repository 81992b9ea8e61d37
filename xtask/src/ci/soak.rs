//! The tests again and again, each round with other random cases, until the time is over.

use std::path::Path;

use anyhow::{Context, Result};

use super::steps;
use crate::clock::Watch;

/// Cases of each property in a round; the default of a single test run is 256.
const CASES: u32 = 4096;

/// Runs rounds of all tests for at least `minutes`. Properties get more cases (`PROPTEST_CASES`), and
/// tests that choose at random find the round in `GARLAND_SOAK` to begin elsewhere.
///
/// # Errors
/// When a round fails, which is named.
pub(crate) fn soak(root: &Path, minutes: u64) -> Result<()> {
    let watch = Watch::start();
    let mut round = 0_u32;
    while round == 0 || watch.read().as_secs() < minutes * 60 {
        round += 1;
        println!("== soak round {round}");
        let variables =
            [("PROPTEST_CASES", CASES.to_string()), ("GARLAND_SOAK", round.to_string())];
        steps::tests(root, &["--release"], &variables)
            .with_context(|| format!("round {round} (GARLAND_SOAK={round})"))?;
    }
    println!("{round} rounds passed in {:.0} s", watch.read().as_secs_f64());
    Ok(())
}
