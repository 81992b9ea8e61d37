//! What all runs together have shown.

use std::collections::BTreeMap;

use crate::judge::{Judged, Verdict};

/// Counts over all runs.
#[derive(Default)]
pub struct Tally {
    runs: u64,
    verdicts: BTreeMap<Verdict, u64>,
    /// For each kind of fault, the effective runs with it, and the hits among them.
    kinds: BTreeMap<&'static str, (u64, u64)>,
    healthy: u64,
    false_faults: u64,
    companions: u64,
    close_gains: u64,
    /// For each gain with an interval: whether that held the truth, and its relative width.
    intervals: Vec<(bool, f64)>,
}

impl Tally {
    /// Counts a run.
    pub fn add(&mut self, judged: &Judged) {
        let verdict = judged.verdict();
        self.runs += 1;
        *self.verdicts.entry(verdict).or_default() += 1;
        if judged.is_quiet() {
            self.healthy += 1;
            self.false_faults += judged.false_faults() as u64;
        }
        if !matches!(verdict, Verdict::Hit | Verdict::Miss) {
            return;
        }
        for kind in judged.kinds() {
            let (runs, hits) = self.kinds.entry(kind).or_default();
            *runs += 1;
            *hits += u64::from(verdict == Verdict::Hit);
        }
        self.companions += judged.companions() as u64;
        self.close_gains += u64::from(judged.is_gain_close());
        self.intervals.extend(judged.interval());
    }

    /// How many runs there were.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    fn count(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(&verdict).copied().unwrap_or(0)
    }

    /// Prints the table, with the aims.
    pub fn print(&self) {
        let hits = self.count(Verdict::Hit);
        let effective = self.count(Verdict::Hit) + self.count(Verdict::Miss);
        let percent = |part: u64, of: u64| part as f64 * 100.0 / of.max(1) as f64;
        println!("{:<36} {:>6}", "runs", self.runs);
        println!("{:<36} {:>6}", "  void: the machine was too busy", self.count(Verdict::Void));
        println!("{:<36} {:>6}", "  without effect", self.count(Verdict::Ineffective));
        println!("{:<36} {effective:>6}", "  effective");
        let line = |name: &str, part: u64, of: u64, aim: &str| {
            println!("{name:<36} {part:>6} of {of:>3} {:>5.0} %  {aim}", percent(part, of));
        };
        line("right cause and place first", hits, effective, "aim: 95 % and more");
        for (kind, (runs, hits)) in &self.kinds {
            line(&format!("  {kind}"), *hits, *runs, "");
        }
        line("gain within 25 %", self.close_gains, effective, "aim: 80 % and more");
        let held = self.intervals.iter().filter(|(holds, _)| *holds).count() as u64;
        line("intervals that hold the gain", held, self.intervals.len() as u64, "aim: 75 to 95 %");
        let mut widths: Vec<f64> = self.intervals.iter().map(|(_, width)| *width).collect();
        widths.sort_by(f64::total_cmp);
        if let Some(middle) = widths.get(widths.len() / 2) {
            println!(
                "{:<36} {:>6.0} %        aim: 40 % and less",
                "  their median width",
                middle * 100.0
            );
        }
        println!("{:<36} {:>6}", "companions that are no faults", self.companions);
        println!(
            "{:<36} {:>6} in {} copies  aim: 0",
            "false faults of healthy copies", self.false_faults, self.healthy
        );
    }
}
