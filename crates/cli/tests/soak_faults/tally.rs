//! What all rounds together have shown.

use std::collections::{BTreeMap, BTreeSet};

use crate::breach::Promise;
use crate::round::{Operation, Round};
use crate::run::Outcome;

/// Counts over all rounds.
#[derive(Default)]
pub struct Tally {
    rounds: BTreeMap<&'static str, u64>,
    faults: BTreeMap<&'static str, u64>,
    breaches: BTreeMap<Promise, u64>,
    told: BTreeSet<Promise>,
    /// Seconds beyond a peaceful run and the longest fault, with the round.
    recoveries: Vec<(f64, u64)>,
    /// Such seconds of rounds with a lasting loss of packets or a slow disk.
    slowed: Vec<(f64, u64)>,
}

impl Tally {
    /// Counts a round. Tells the first broken promise of each kind in full, the others in a line.
    pub fn add(&mut self, round: &Round, outcome: &Outcome, peace_s: f64) {
        *self.rounds.entry(name(round.operation)).or_default() += 1;
        for kind in &outcome.struck {
            *self.faults.entry(kind.name()).or_default() += 1;
        }
        // One for each promise: a hang, say, of eight nodes is one.
        let broken: BTreeSet<Promise> = outcome.breaches.iter().map(|it| it.promise).collect();
        for promise in &broken {
            *self.breaches.entry(*promise).or_default() += 1;
        }
        if !broken.is_empty() {
            println!("BROKEN {round}");
            outcome.breaches.iter().for_each(|it| println!("  {}: {}", it.promise.name(), it.what));
        }
        if broken.difference(&self.told).next().is_some() {
            println!("  {}", outcome.story.trim_end().replace('\n', "\n  "));
            println!(
                "  again: cargo xtask soak faults --seed {} --round {}",
                round.seed, round.number
            );
        }
        self.told.extend(broken);
        let beyond = outcome.took.as_secs_f64() - peace_s - outcome.longest.as_secs_f64();
        if outcome.struck.iter().any(|kind| kind.is_of_head()) {
            return;
        }
        let slows = outcome.struck.iter().any(|kind| kind.slows_down());
        let figures = if slows { &mut self.slowed } else { &mut self.recoveries };
        figures.push((beyond.max(0.0), round.number));
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> u64 {
        self.rounds.values().sum()
    }

    /// Whether no promise was broken.
    pub fn is_clean(&self) -> bool {
        self.breaches.is_empty()
    }

    /// Prints the table.
    pub fn print(&mut self) {
        println!("{:<24} {:>6}", "rounds", self.rounds());
        self.rounds.iter().for_each(|(name, count)| println!("  {name:<22} {count:>6}"));
        println!("{:<24} {:>6}", "faults", self.faults.values().sum::<u64>());
        self.faults.iter().for_each(|(name, count)| println!("  {name:<22} {count:>6}"));
        for promise in Promise::ALL {
            println!("{:<24} {:>6}", promise.name(), self.breaches.get(&promise).unwrap_or(&0));
        }
        print_recovery("recovery", &mut self.recoveries);
        print_recovery("  with loss or slow disk", &mut self.slowed);
    }
}

fn print_recovery(name: &str, figures: &mut [(f64, u64)]) {
    figures.sort_by(|one, two| one.0.total_cmp(&two.0));
    let (Some(middle), Some((worst, round))) = (figures.get(figures.len() / 2), figures.last())
    else {
        return;
    };
    println!("{name:<24} median {:.1} s, worst {worst:.1} s (round {round})", middle.0);
}

/// The name in the table.
fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Chain => "copy, chain",
        Operation::Tree => "copy, tree-shaped",
        Operation::Directory => "copy, directory",
        Operation::Stripe => "copy, striped",
        Operation::Gather => "gather",
        Operation::Farm => "farm",
        Operation::Mount => "mount",
        Operation::Standing => "copy, standing agents",
    }
}
