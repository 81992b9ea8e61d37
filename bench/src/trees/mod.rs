//! `bench trees`: copies many small files to several nodes with Garland and other tools, and measures the
//! least time that the file system needs to create them.

mod stage;
mod tools;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use self::stage::Stage;
use self::tools::{FILES, GARLAND, LIMIT, RSYNC, TAR};
use super::contest::{Benchmark, Contest, Event, Findings, Goal, Heading, Words, hold};

/// The usage text.
pub(crate) const USAGE: &str = "\
cargo xtask bench trees [options]

  --files 100000              number of files, 4 KiB each, 100 in a directory
  --rounds 3                  turns of each tool
  --only WORDS                only contests with these words in their title
  --no-write                  print only, leave benches/results/ alone";

/// No round begins after this time.
const TIME: Duration = Duration::from_secs(300);

/// Number of receiving nodes.
const NODES: usize = 4;

const EVENTS: [Event<Stage>; 2] = [
    Event {
        title: "Small files to 4 nodes, and other tools",
        unit: "files/s",
        goal: Goal::AtLeast(1.0),
        tools: &[GARLAND, TAR, RSYNC],
    },
    Event {
        title: "Small files to 4 nodes, and what their file system takes",
        unit: "files/s",
        goal: Goal::AtLeast(0.7),
        tools: &[FILES, LIMIT],
    },
];

/// The benchmark.
const BENCHMARK: Benchmark<Stage> = Benchmark {
    bench: Heading { schema: "garland.bench-trees/1", name: "trees", title: "Trees of files" },
    usage: USAGE,
    // A round takes about a minute.
    rounds: 3,
    options: &["--files"],
    needs: &[("iproute2", "ip"), ("gcc", "cc"), ("bash", "bash")],
    contests: all,
};

/// Runs the benchmark.
///
/// # Errors
/// If an argument is wrong, a lab cannot be made, a tool failed, or a goal is missed.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    BENCHMARK.run_in_sandbox(root, args, |_, words| contend(root, words))
}

/// Holds the chosen contests.
fn contend(root: &Path, words: &Words) -> Result<Findings> {
    let files = words.other("--files").unwrap_or("100000");
    let files: usize = files.parse().context("the value of --files is not a number")?;
    let contests = words.choose(all());
    let stage = Stage::up(root, NODES, files).context("failed to set up the nodes")?;
    let outcomes = hold(&contests, words.rounds, TIME, &stage);
    let notes = vec![
        format!("{files} files of 4 KiB, 100 in a directory, to {NODES} nodes: files per second at each"),
        "nodes: network namespaces on one unshaped switch, all on these cores, all files in memory \
         (tmpfs); the whole command, no fsync"
            .to_owned(),
        "the limit: as many files for all nodes, made by a program that does nothing else \
         (benches/peers/files.c), the best of several ways and numbers of threads"
            .to_owned(),
    ];
    Ok((outcomes, notes))
}

fn all() -> Vec<Contest<Stage>> {
    EVENTS.iter().map(Event::contest).collect()
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
