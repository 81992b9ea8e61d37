//! `bench trees`: copies many small files to several nodes with Garland and other tools, and
//! measures the least time that the file system needs to create them.

mod stage;
mod tools;

use std::time::Duration;

use anyhow::{Context, Result};

use self::stage::Stage;
use self::tools::{FILES, GARLAND, LIMIT, RSYNC, TAR};
use super::contest::{Benchmark, Contest, Goal, Heading, Place, Setting};

/// Number of receiving nodes.
const NODES: usize = 4;

/// The benchmark.
pub(crate) const BENCHMARK: Benchmark<Stage> = Benchmark {
    bench: Heading { schema: "garland.bench-trees/1", name: "trees", title: "Trees of files" },
    // A round takes about a minute.
    rounds: "3",
    options: &[("--files", "100000", "number of files, 4 KiB each, 100 in a directory")],
    needs: &[("iproute2", "ip"), ("gcc", "cc"), ("bash", "bash")],
    sandboxed: true,
    time: Duration::from_secs(300),
    places: &[Place { make, contests: &CONTESTS }],
    notes: |_, stage| {
        Ok(vec![
            format!(
                "{} files of 4 KiB, 100 in a directory, to {NODES} nodes: files per second at each",
                stage.files
            ),
            "nodes: network namespaces on one unshaped switch, all on these cores, all files in memory \
             (tmpfs); the whole command, no fsync"
                .to_owned(),
            "the limit: as many files for all nodes, made by a program that does nothing else \
             (bench/peers/files.c), the best of several ways and numbers of threads"
                .to_owned(),
        ])
    },
};

const CONTESTS: [Contest<Stage>; 2] = [
    Contest {
        title: "Small files to 4 nodes, and other tools",
        unit: "files/s",
        goal: Goal::AtLeast(1.0),
        tools: &[GARLAND, TAR, RSYNC],
    },
    Contest {
        title: "Small files to 4 nodes, and what their file system takes",
        unit: "files/s",
        goal: Goal::AtLeast(0.7),
        tools: &[FILES, LIMIT],
    },
];

fn make(setting: &Setting<'_>) -> Result<Stage> {
    Stage::up(setting.root, NODES, setting.words.count("--files")?)
        .context("failed to set up the nodes")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_contest_has_a_title_of_its_own_and_a_peer_or_a_bound() {
        crate::contest::assert_sound(&super::BENCHMARK);
    }
}
