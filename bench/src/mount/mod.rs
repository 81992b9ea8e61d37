//! `bench mount`: measures access to a node's files through `garland mount`, through sshfs, and
//! without a mount.

mod tools;

use std::time::Duration;

use anyhow::{Context, Result};

use self::tools::{
    COPY_BACK, COPY_OUT, LIST, LIST_SSHFS, RANDOM, RANDOM_SSHFS, READ, READ_SSHFS, ROUND_TRIPS,
    WRITE, WRITE_SSHFS, prepare,
};
use super::contest::{Benchmark, Contest, Goal, Heading, Place, Setting};
use super::star::Stage;

/// The benchmark.
pub(crate) const BENCHMARK: Benchmark<Stage> = Benchmark {
    bench: Heading {
        schema: "garland.bench-mount/1",
        name: "mount",
        title: "A node's files through a mount",
    },
    rounds: "5",
    options: &[("--size", "512MiB", "size of the large file")],
    needs: &[("iproute2", "ip"), ("gcc", "cc"), ("fuse3", "fusermount3"), ("fio", "fio")],
    sandboxed: true,
    time: Duration::from_secs(150),
    places: &[
        Place {
            make: |setting| server(setting, Some("1gbit")),
            contests: &[
                Contest::rate(
                    "Reading at 1 Gbit/s, and a copy",
                    Goal::AtLeast(0.9),
                    &[READ, COPY_BACK],
                ),
                Contest::rate(
                    "Writing at 1 Gbit/s, and a copy",
                    Goal::AtLeast(0.9),
                    &[WRITE, COPY_OUT],
                ),
            ],
        },
        Place {
            make: |setting| server(setting, None),
            contests: &[
                Contest::rate("Reading, unshaped", Goal::AtLeast(2.0), &[READ, READ_SSHFS]),
                Contest::rate("Writing, unshaped", Goal::AtLeast(2.0), &[WRITE, WRITE_SSHFS]),
                Contest {
                    title: "ls -lR of 10 000 files",
                    unit: "files/s",
                    goal: Goal::AtLeast(3.0),
                    tools: &[LIST, LIST_SSHFS],
                },
                Contest {
                    title: "Reads of 4 KiB at random places, and round trips",
                    unit: "1/s",
                    // 1.2 round trips for each read.
                    goal: Goal::AtLeast(0.83),
                    tools: &[RANDOM, ROUND_TRIPS],
                },
                Contest {
                    title: "Reads of 4 KiB at random places, and sshfs",
                    unit: "1/s",
                    goal: Goal::AtLeast(1.0),
                    tools: &[RANDOM, RANDOM_SSHFS],
                },
            ],
        },
    ],
    notes: |_, stage| {
        Ok(vec![
            "a client and a server: network namespaces of this machine with a wire between them, \
             all files in memory (tmpfs)"
                .to_owned(),
            format!(
                "large: {} MiB by dd, 1 MiB at a time, until it is closed; small: 10 000 files of 4 KiB, \
                 100 in a directory; mounted again before each turn, the time of mounting is not counted",
                stage.bytes >> 20
            ),
            "encrypted by the default cipher of each tool: Garland by AES-256-GCM, ssh by its first choice"
                .to_owned(),
        ])
    },
};

fn server(setting: &Setting<'_>, rate: Option<&str>) -> Result<Stage> {
    let stage = Stage::up(setting, 1, rate).context("failed to set up the server")?;
    prepare(&stage, setting.root).context("failed to create the files on the server")?;
    Ok(stage)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_contest_has_a_title_of_its_own_and_a_peer_or_a_bound() {
        crate::contest::assert_sound(&super::BENCHMARK);
    }
}
