//! Whether forecasts hold what comes: `cargo xtask truth forecast`.
//!
//! A farm or a copy, drawn from a seed, runs on one to three nodes of a lab; from these runs and
//! the topology the time on six nodes is forecast, and then measured. `GARLAND_TRUTH_FORECASTS` is
//! how many there are, `GARLAND_TRUTH_SEED` their seed. No constant of the forecast was fitted to
//! them.

use std::fmt;

use garland_testkit::{Chance, Garland, Scratch, TestLab, env_number, random_file};
use serde_json::Value;

use crate::scene::{idle_since, processors};
use crate::{SEED, program};

/// The numbers of nodes of the runs from which is forecast, and of the run that is.
const KNOWN: [u32; 3] = [1, 2, 3];
const AHEAD: u32 = 6;

/// The work of a case.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// So many jobs, each with the bytes that it gets, and the milliseconds for which it sleeps.
    Farm { jobs: u64, bytes: u64, ms: u64 },
    /// A copy of so many bytes.
    Copy { bytes: u64 },
}

/// Work, and the network that it is done over.
#[derive(Clone, Copy, Debug)]
struct Case {
    shape: &'static str,
    mbit: u64,
    work: Work,
}

/// A forecast, and what came.
struct Prediction {
    seconds: f64,
    interval: Option<(f64, f64)>,
    measured: f64,
    /// The fraction of the time in which the processors of this machine were idle.
    idle: f64,
}

impl Prediction {
    fn error(&self) -> f64 {
        self.seconds / self.measured - 1.0
    }

    fn holds(&self) -> bool {
        self.interval.is_some_and(|(low, high)| (low..=high).contains(&self.measured))
    }

    /// The width of the interval, relative to the forecast.
    fn width(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (high - low) / self.seconds)
    }
}

impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, measured, idle, .. } = self;
        let (low, high) = self.interval.unwrap_or((f64::NAN, f64::NAN));
        let verdict = if self.holds() { "holds" } else { "MISSES" };
        let error = self.error() * 100.0;
        let idle = idle * 100.0;
        write!(
            f,
            "{verdict}: {seconds:.2} s ({low:.2} to {high:.2} s), measured {measured:.2} s: {error:+.1} %; {idle:.0} % idle"
        )
    }
}

impl Case {
    fn draw(chance: &mut Chance) -> Self {
        let shape = chance.pick(&["switch", "switch", "hub"]);
        let mbit = 20 + chance.below(81);
        let farm = Work::Farm {
            jobs: 12 + chance.below(19),
            bytes: 20_000 + chance.below(1_000_000),
            ms: 100 + chance.below(300),
        };
        let copy = Work::Copy { bytes: mbit * 125_000 * (1 + chance.below(3)) };
        Self { shape, mbit, work: chance.pick(&[farm, farm, copy]) }
    }

    fn topology(&self) -> String {
        let Self { shape, mbit, .. } = self;
        format!(
            "version = 1\n[topology]\nshape = \"{shape}\"\nnodes = \"n[0-{AHEAD}]\"\nrate = \"{mbit}mbit\"\n"
        )
    }

    /// Does the work on so many nodes; returns the run's result, and its seconds.
    fn run(&self, lab: &TestLab<'_>, nodes: u32) -> (Value, f64) {
        let list = format!("lab:n[1-{nodes}]");
        match self.work {
            Work::Copy { .. } => {
                let words =
                    ["cp", "--json", "--whole", "--shape", "chain", "x", &format!("{list}:/x")];
                let result = lab.garland.run(&words).with_code(0).json();
                let ns = result["elapsed_ns"].as_f64().expect("a copy takes time");
                (result, ns / 1e9)
            }
            Work::Farm { jobs, ms, .. } => {
                let job = format!("sleep {}; head -c 1000 \"$0\" > \"$1\"", ms as f64 / 1e3);
                let mut words =
                    vec!["farm", "run", &list, "--json", "--slots", "1", "--data", "stage"];
                words.extend(["--overwrite", "--", "sh", "-c", &job, "{in}", "{out}", ":::"]);
                let inputs: Vec<String> = (0..jobs).map(|job| format!("in{job}")).collect();
                words.extend(inputs.iter().map(String::as_str));
                let result = lab.garland.run(&words).with_code(0).json();
                let seconds = result["total"].as_f64().expect("a farm takes time");
                (result, seconds)
            }
        }
    }

    fn predict(&self) -> Prediction {
        let scratch = Scratch::in_memory("truth-forecast");
        let lab =
            TestLab::with_topology(Garland::new(program(), &scratch), &scratch, &self.topology());
        match self.work {
            Work::Copy { bytes } => random_file(&scratch.path("x"), bytes, bytes),
            Work::Farm { jobs, bytes, .. } => {
                (0..jobs)
                    .for_each(|job| random_file(&scratch.path(format!("in{job}")), bytes, job));
            }
        }
        // Agents that are there already: their start is no part of the work.
        let all = format!("lab:n[1-{AHEAD}]");
        let _ = lab.garland.run(&["up", &all]).with_code(0);
        let runs = KNOWN.map(|nodes| self.run(&lab, nodes).0);
        let runs = runs.each_ref().map(|run| run["run"].as_str().expect("a run has a name"));
        let rate = format!("{}mbit", self.mbit);
        let ahead = AHEAD.to_string();
        let over = ["--topology", self.shape, "--rate", &rate, "--nodes", &ahead, "--json"];
        let words = [&["forecast"], &runs[..], &over].concat();
        let told = lab.garland.run(&words).with_code(0).json();
        let before = processors();
        let (_, measured) = self.run(&lab, AHEAD);
        let idle = idle_since(before);
        let _ = lab.garland.run(&["down", &all]);
        lab.down();
        let at = &told["forecast"]["curve"][0];
        let seconds = at["seconds"].as_f64().expect("a forecast has a time");
        let interval = Option::zip(at["interval"][0].as_f64(), at["interval"][1].as_f64());
        Prediction { seconds, interval, measured, idle }
    }
}

#[test]
fn forecasts_hold_what_comes() {
    let Some(cases) = env_number("GARLAND_TRUTH_FORECASTS") else { return };
    let seed = env_number("GARLAND_TRUTH_SEED").unwrap_or(SEED);
    let only = env_number("GARLAND_TRUTH_RUN");
    let mut all = Vec::new();
    for number in (1..=cases).filter(|number| only.is_none_or(|only| *number == only)) {
        let case = Case::draw(&mut Chance::new(seed, number));
        let predicted = case.predict();
        println!(
            "{number}: {} of {} Mbit/s, {:?}\n  {predicted}",
            case.shape, case.mbit, case.work
        );
        all.push(predicted);
    }
    let share = |is: fn(&Prediction) -> bool| {
        let count = all.iter().filter(|it| is(it)).count();
        format!("{count} of {}", all.len())
    };
    println!("\nintervals that hold the time: {}  aim: 75 to 95 %", share(Prediction::holds));
    println!("forecasts within 10 %: {}", share(|it| it.error().abs() <= 0.1));
    let mut widths: Vec<f64> = all.iter().filter_map(Prediction::width).collect();
    widths.sort_by(f64::total_cmp);
    let median = widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN);
    println!("median width of the intervals: {:.0} %  aim: 40 % and less", median * 100.0);
}
