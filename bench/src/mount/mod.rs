//! `bench mount`: measures access to a node's files through `garland mount`, through sshfs, and without a
//! mount.

mod tools;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use self::tools::{
    COPY_BACK, COPY_OUT, LIST, LIST_SSHFS, RANDOM, RANDOM_SSHFS, READ, READ_SSHFS, ROUND_TRIPS,
    WRITE, WRITE_SSHFS, prepare,
};
use super::contest::{Benchmark, Contest, Event, Findings, Goal, Heading, Words, hold};
use super::options::size;
use super::star::Stage;

/// The usage text.
pub(crate) const USAGE: &str = "\
cargo xtask bench mount [options]

  --size 512MiB               size of the large file
  --rounds 5                  turns of each tool
  --only WORDS                only contests with these words in their title
  --no-write                  print only, leave benches/results/ alone";

/// No round begins after this time at each rate.
const TIME: Duration = Duration::from_secs(150);

/// A rate of the wire, and the contests at that rate.
struct Place {
    rate: Option<&'static str>,
    events: &'static [Event<Stage>],
}

const PLACES: [Place; 2] = [
    Place {
        rate: Some("1gbit"),
        events: &[
            Event::rate("Reading at 1 Gbit/s, and a copy", Goal::AtLeast(0.9), &[READ, COPY_BACK]),
            Event::rate("Writing at 1 Gbit/s, and a copy", Goal::AtLeast(0.9), &[WRITE, COPY_OUT]),
        ],
    },
    Place {
        rate: None,
        events: &[
            Event::rate("Reading, unshaped", Goal::AtLeast(2.0), &[READ, READ_SSHFS]),
            Event::rate("Writing, unshaped", Goal::AtLeast(2.0), &[WRITE, WRITE_SSHFS]),
            Event {
                title: "ls -lR of 10 000 files",
                unit: "files/s",
                goal: Goal::AtLeast(3.0),
                tools: &[LIST, LIST_SSHFS],
            },
            Event {
                title: "Reads of 4 KiB at random places, and round trips",
                unit: "1/s",
                // 1.2 round trips for each read.
                goal: Goal::AtLeast(0.83),
                tools: &[RANDOM, ROUND_TRIPS],
            },
            Event {
                title: "Reads of 4 KiB at random places, and sshfs",
                unit: "1/s",
                goal: Goal::AtLeast(1.0),
                tools: &[RANDOM, RANDOM_SSHFS],
            },
        ],
    },
];

/// The benchmark.
const BENCHMARK: Benchmark<Stage> = Benchmark {
    bench: Heading {
        schema: "garland.bench-mount/1",
        name: "mount",
        title: "A node's files through a mount",
    },
    usage: USAGE,
    rounds: 5,
    options: &["--size"],
    needs: &[("iproute2", "ip"), ("gcc", "cc"), ("fuse3", "fusermount3"), ("fio", "fio")],
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
    let bytes = size(words.other("--size").unwrap_or("512MiB"))?;
    let mut outcomes = Vec::new();
    for place in &PLACES {
        let contests = words.choose(place.events.iter().map(Event::contest).collect());
        if contests.is_empty() {
            continue;
        }
        eprintln!("a wire, {}", place.rate.unwrap_or("unshaped"));
        let stage = Stage::up(root, 1, place.rate, bytes).context("failed to set up the server")?;
        prepare(&stage, root).context("failed to create the files on the server")?;
        outcomes.extend(hold(&contests, words.rounds, TIME, &stage));
    }
    let notes = vec![
        "a client and a server: network namespaces of this machine with a wire between them, \
         all files in memory (tmpfs)"
            .to_owned(),
        format!(
            "large: {} MiB by dd, 1 MiB at a time, until it is closed; small: 10 000 files of 4 KiB, \
             100 in a directory; mounted anew before each turn, the time of mounting is not counted",
            bytes >> 20
        ),
        "encrypted by the default cipher of each tool: Garland by AES-256-GCM, ssh by its first choice"
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
