//! Random faults at random moments of real copies, farms and mounts in a lab:
//! `cargo xtask soak faults`.
//!
//! Each round is drawn from a seed and its number: an operation, and one to three faults. Whatever
//! happens, healthy nodes have their copy, no file is partial under its final name, every command
//! ends, nothing is left, and verdicts are true. `GARLAND_SOAK_FAULTS_MINUTES` is how long rounds
//! are run, `.._SEED` their seed, `.._ROUND` the only round, `.._ONLY` the only operation; without
//! any of them a few rounds are run, in `make soak` with another seed each time.

mod blows;
mod breach;
mod contents;
mod copies;
mod farm;
mod mounted;
mod round;
mod run;
mod scene;
mod stage;
mod tally;

use std::collections::BTreeMap;
use std::time::Duration;

use garland_sys::clock;
use garland_testkit::{Scratch, env_number};

use crate::round::{Operation, Round};
use crate::stage::Stage;
use crate::tally::Tally;

/// The rounds of a usual run of the tests, and their seed.
const FEW: u64 = 4;
const SEED: u64 = 2;

/// What is run.
struct Wish {
    minutes: Option<u64>,
    seed: u64,
    round: Option<u64>,
    operations: Vec<Operation>,
}

impl Wish {
    fn of_environment() -> Self {
        let seed = env_number("GARLAND_SOAK_FAULTS_SEED").or_else(|| env_number("GARLAND_SOAK"));
        let only = std::env::var("GARLAND_SOAK_FAULTS_ONLY").ok();
        let wanted = |it: &Operation| only.as_ref().is_none_or(|only| format!("{it:?}") == *only);
        Self {
            minutes: env_number("GARLAND_SOAK_FAULTS_MINUTES"),
            seed: seed.unwrap_or(SEED),
            round: env_number("GARLAND_SOAK_FAULTS_ROUND"),
            operations: Operation::ALL.into_iter().filter(wanted).collect(),
        }
    }

    /// Whether one more round is wanted.
    fn goes_on(&self, done: u64, elapsed: Duration) -> bool {
        match (self.round, self.minutes) {
            (Some(_), _) => done == 0,
            (None, Some(minutes)) => elapsed.as_secs() < minutes * 60,
            (None, None) => done < FEW,
        }
    }
}

#[test]
fn faults_at_any_moment_cost_only_their_victims() {
    let wish = Wish::of_environment();
    let scratch = Scratch::new("soak-faults");
    let stage = Stage::new(&scratch);
    let began = clock::now_ns();
    let mut peace: BTreeMap<Operation, f64> = BTreeMap::new();
    let mut tally = Tally::default();
    let elapsed = || Duration::from_nanos(clock::now_ns() - began);
    while wish.goes_on(tally.rounds(), elapsed()) {
        let number = wish.round.unwrap_or(tally.rounds() + 1);
        let round = Round::draw(wish.seed, number, &wish.operations);
        let peace_s =
            *peace.entry(round.operation).or_insert_with(|| in_peace(&stage, round.operation));
        let outcome = run::run(&stage, &round);
        println!("{:.0} s: {round}: {:.1} s", elapsed().as_secs_f64(), outcome.took.as_secs_f64());
        // A broken round tells its story anyway.
        if wish.round.is_some() && outcome.breaches.is_empty() {
            println!("{}", outcome.story);
        }
        tally.add(&round, &outcome, peace_s);
    }
    tally.print();
    stage.end();
    assert!(tally.is_clean(), "promises were broken");
}

/// How long an operation takes without any fault, in seconds.
fn in_peace(stage: &Stage<'_>, operation: Operation) -> f64 {
    let outcome = run::run(stage, &Round::peaceful(operation));
    let took = outcome.took.as_secs_f64();
    println!("{operation:?} in peace: {took:.1} s");
    assert!(outcome.breaches.is_empty(), "in peace: {:?}\n{}", outcome.breaches, outcome.story);
    took
}
