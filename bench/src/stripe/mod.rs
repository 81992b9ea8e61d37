//! `bench stripe`: copies one file to or from several servers, each on its own wire, with Garland and other
//! tools.

mod tools;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use self::tools::{
    BACK, BARE, CLEAR, GAPS, IPERF3, OUT, RSYNC, SCP, SECONDS, TAR, Tool, UNTRACED_SECONDS,
};
use super::contest::{Benchmark, Contest, Event, Findings, Goal, Heading, Words, hold};
use super::options::size;
use super::star::Stage;

/// The usage text.
pub(crate) const USAGE: &str = "\
cargo xtask bench stripe [options]

  --size 1GiB                 size of the file
  --rounds 5                  turns of each tool
  --only WORDS                only contests with these words in their title
  --no-write                  print only, leave benches/results/ alone";

/// No round begins after this time with each number of servers at each rate.
const TIME: Duration = Duration::from_secs(100);

/// A lab, and the contests in it.
struct Place {
    servers: usize,
    rate: Option<&'static str>,
    events: &'static [Event<Stage>],
}

/// The goal relative to iperf3 over all wires at once, which is the limit.
const LIMIT: Goal = Goal::AtLeast(0.97);
const ALL: &[Tool] = &[OUT, IPERF3, RSYNC, SCP, TAR];
const RETURN: &[Tool] = &[BACK, IPERF3];
const SEALED: &[Tool] = &[OUT, RSYNC, SCP];
const UNSEALED: &[Tool] = &[CLEAR, BARE, TAR];

const fn gaps(title: &'static str) -> Event<Stage> {
    Event { title, unit: "% of the stream", goal: Goal::Below(0.5), tools: &[GAPS] }
}

const PLACES: [Place; 6] = [
    Place {
        servers: 1,
        rate: Some("1gbit"),
        events: &[
            Event::rate("To 1 server at 1 Gbit/s", LIMIT, ALL),
            Event::rate("From 1 server at 1 Gbit/s", LIMIT, RETURN),
            gaps("Gaps between operations, 1 server at 1 Gbit/s"),
        ],
    },
    Place {
        servers: 2,
        rate: Some("1gbit"),
        events: &[
            Event::rate("To 2 servers at 1 Gbit/s each", LIMIT, ALL),
            Event::rate("From 2 servers at 1 Gbit/s each", LIMIT, RETURN),
            gaps("Gaps between operations, 2 servers at 1 Gbit/s each"),
        ],
    },
    Place {
        servers: 4,
        rate: Some("1gbit"),
        events: &[
            Event::rate("To 4 servers at 1 Gbit/s each", LIMIT, ALL),
            Event::rate("From 4 servers at 1 Gbit/s each", LIMIT, RETURN),
            gaps("Gaps between operations, 4 servers at 1 Gbit/s each"),
        ],
    },
    Place {
        servers: 1,
        rate: None,
        events: &[
            Event::rate("To 1 server, unshaped, sealed", Goal::AtLeast(2.0), SEALED),
            Event::rate("To 1 server, unshaped, clear", Goal::AtLeast(0.9), UNSEALED),
            Event {
                title: "With a trace and without, 1 server, unshaped",
                unit: "s",
                goal: Goal::AtMost(1.01),
                tools: &[SECONDS, UNTRACED_SECONDS],
            },
        ],
    },
    Place {
        servers: 2,
        rate: None,
        events: &[
            Event::rate("To 2 servers, unshaped, sealed", Goal::AtLeast(2.0), SEALED),
            Event::rate("To 2 servers, unshaped, clear", Goal::AtLeast(0.9), UNSEALED),
        ],
    },
    Place {
        servers: 4,
        rate: None,
        events: &[
            Event::rate("To 4 servers, unshaped, sealed", Goal::AtLeast(2.0), SEALED),
            Event::rate("To 4 servers, unshaped, clear", Goal::AtLeast(0.9), UNSEALED),
        ],
    },
];

/// The benchmark.
const BENCHMARK: Benchmark<Stage> = Benchmark {
    bench: Heading {
        schema: "garland.bench-stripe/2",
        name: "stripe",
        title: "One file over several servers",
    },
    usage: USAGE,
    // A round over all contests takes about three minutes.
    rounds: 5,
    options: &["--size"],
    needs: &[("iproute2", "ip"), ("gcc", "cc")],
    contests: all,
};

/// Runs the benchmark.
///
/// # Errors
/// If an argument is wrong, a lab cannot be made, a tool failed, or a goal is missed.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    BENCHMARK.run_in_sandbox(root, args, |_, words| contend(root, words))
}

fn all() -> Vec<Contest<Stage>> {
    PLACES.iter().flat_map(|place| place.events).map(Event::contest).collect()
}

/// Holds the chosen contests.
fn contend(root: &Path, words: &Words) -> Result<Findings> {
    let bytes = size(words.other("--size").unwrap_or("1GiB"))?;
    let mut outcomes = Vec::new();
    for place in &PLACES {
        let contests = words.choose(place.events.iter().map(Event::contest).collect());
        if contests.is_empty() {
            continue;
        }
        let Place { servers, rate, .. } = *place;
        eprintln!("{servers} servers, {} each", rate.unwrap_or("unshaped"));
        let stage =
            Stage::up(root, servers, rate, bytes).context("failed to set up the servers")?;
        outcomes.extend(hold(&contests, words.rounds, TIME, &stage));
    }
    let notes = vec![
        "nodes: network namespaces of this machine, a wire from the client to each server"
            .to_owned(),
        format!(
            "file: {} MiB in memory (tmpfs), no fsync; the whole command; parts, and what Garland \
             brought there and back, are compared with their sources",
            bytes >> 20
        ),
        "tools that can't stripe get the file in parts that were cut before, and copy all parts at \
         once: the best that a script around them could do"
            .to_owned(),
    ];
    Ok((outcomes, notes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::assert_sound;

    #[test]
    fn every_contest_has_a_title_of_its_own_and_a_peer_or_a_bound() {
        assert_sound(&all());
    }
}
