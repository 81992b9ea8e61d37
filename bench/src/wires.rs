//! `bench wires`: measures the rate between two nodes with Garland and with iperf3.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::contest::{Benchmark, Contest, Goal, Heading, Outcome, Words, hold};
use super::field::Field;
use super::gauges::{Agents, Iperf3, Wires, cpus};
use super::ping::{NEEDS, OPTIONS, congestion, notes};

/// The usage text.
pub(crate) const USAGE: &str = "\
cargo xtask bench wires [options]

  --rounds 7                  turns of each tool
  --only WORDS                only contests with these words in their title
  --cc reno|bbr               congestion control of both nodes (reno)
  --no-write                  print only, leave benches/results/ alone";

/// The rate of the shaped wire in bit/s.
const RATE: u64 = 1_000_000_000;

/// No round begins after this time at each of the two rates.
const TIME: Duration = Duration::from_secs(120);

/// The benchmark.
const BENCHMARK: Benchmark<Field> = Benchmark {
    bench: Heading {
        schema: "garland.bench-wires/1",
        name: "wires",
        title: "Rates between two nodes",
    },
    usage: USAGE,
    // A round takes about 25 s.
    rounds: 7,
    options: OPTIONS,
    needs: NEEDS,
    contests: all,
};

/// Runs the benchmark.
///
/// # Errors
/// If an argument is wrong, a lab cannot be made, a tool failed, or a goal is missed.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    cpus()?;
    BENCHMARK.run_in_sandbox(root, args, |run, words| {
        let mut outcomes = Vec::new();
        for (rate, contests) in [(Some(RATE), shaped()), (None, unshaped())] {
            outcomes.extend(at(run, rate, &words.choose(contests), words)?);
        }
        Ok((outcomes, notes(words)?))
    })
}

/// Holds contests between two nodes on a wire of this rate.
fn at(
    run: u32,
    rate: Option<u64>,
    contests: &[Contest<Field>],
    words: &Words,
) -> Result<Vec<Outcome>> {
    if contests.is_empty() {
        return Ok(Vec::new());
    }
    let field = Field::up(run, 1, rate, congestion(words)).context("failed to set up two nodes")?;
    let _agents = Agents::up(&field)?;
    Ok(hold(contests, words.rounds, TIME, &field))
}

fn all() -> Vec<Contest<Field>> {
    shaped().into_iter().chain(unshaped()).collect()
}

fn shaped() -> Vec<Contest<Field>> {
    vec![
        contest("One stream at 1 Gbit/s", "rate", "1"),
        contest("4 streams at 1 Gbit/s", "streams_rate", "4"),
    ]
}

fn unshaped() -> Vec<Contest<Field>> {
    vec![
        contest("One stream, unshaped", "rate", "1"),
        contest("4 streams, unshaped", "streams_rate", "4"),
    ]
}

fn contest(title: &'static str, rate: &'static str, streams: &'static str) -> Contest<Field> {
    Contest {
        title,
        unit: "MB/s",
        goal: Goal::AtLeast(1.0),
        gauges: vec![Box::new(Wires { rate, streams }), Box::new(Iperf3 { streams })],
    }
}
