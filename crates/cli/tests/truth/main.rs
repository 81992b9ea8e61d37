//! Whether explanations are true: `cargo xtask truth`.
//!
//! Each run is drawn from a seed and its number: a copy, and one or two faults that come from
//! outside of the program. The same copy without them, and without each one of them, shows what
//! they cost. `GARLAND_TRUTH_RUNS` is how many runs are made, `.._SEED` their seed, `.._RUN` the
//! only run, `.._KEPT` a directory in which the copies are kept: those that are there already are
//! only explained again; `.._PROGRAM` another `garland` than the one that was built. Without any of
//! them a few runs are made whose faults are far above noise.

mod answer;
mod case;
mod fault;
mod forecast;
mod judge;
mod scene;
mod suggest;
mod tally;
mod wires;

use std::path::PathBuf;

use garland_testkit::env_number;

use crate::case::{Case, Shape};
use crate::fault::{Fault, Kind};
use crate::judge::{Judged, Verdict};
use crate::scene::Observer;
use crate::tally::Tally;

/// The seed of runs without a given one.
const SEED: u64 = 1;

/// How often a run of the short form is made that was not judged a hit: this machine does other
/// things, too.
const TRIES: u32 = 3;

fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// The program that is judged.
fn program() -> PathBuf {
    path("GARLAND_TRUTH_PROGRAM").unwrap_or(PathBuf::from(env!("CARGO_BIN_EXE_garland")))
}

#[test]
fn explanations_name_the_faults_that_were_made() {
    let observer = Observer { program: program(), kept: path("GARLAND_TRUTH_KEPT") };
    let seed = env_number("GARLAND_TRUTH_SEED").unwrap_or(SEED);
    let cases: Vec<Case> = match (env_number("GARLAND_TRUTH_RUN"), env_number("GARLAND_TRUTH_RUNS"))
    {
        (Some(run), _) => vec![Case::draw(seed, run)],
        (None, Some(runs)) => (1..=runs).map(|run| Case::draw(seed, run)).collect(),
        (None, None) => return few(&observer),
    };
    let mut tally = Tally::default();
    for case in &cases {
        let judged = Judged::run_case(&observer, case);
        println!("{judged}");
        tally.add(&judged);
    }
    println!();
    tally.print();
    assert_eq!(tally.runs(), cases.len() as u64);
}

/// Makes a few runs that must be hits, if this machine allows any judgement.
fn few(observer: &Observer) {
    let fault = |kind, node| Fault { kind, node, share: 25, at_ms: 1000 };
    let faults = [fault(Kind::SlowOut, 1), fault(Kind::SlowDisk, 2), fault(Kind::Dead, 2)];
    for (number, fault) in (1..).zip(faults) {
        let case = Case {
            seed: SEED,
            number,
            shape: Shape::Chain,
            nodes: 3,
            mib: 24,
            faults: vec![fault],
        };
        let mut story = Vec::new();
        let is_told = (0..TRIES).any(|_| {
            let judged = Judged::run_case(observer, &case);
            story.push(judged.to_string());
            judged.verdict() == Verdict::Hit
        });
        let story = story.join("\n");
        let is_void = story.matches("Void").count() == TRIES as usize;
        if is_void {
            println!("void, since this machine is too busy: {story}");
        }
        assert!(is_told || is_void, "{story}");
    }
}
