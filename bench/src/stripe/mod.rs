//! `bench stripe`: copies one file to or from several servers, each on its own wire, with Garland
//! and other tools.

mod tools;

use std::time::Duration;

use anyhow::Result;

use self::tools::{
    BACK, BARE, CLEAR, GAPS, IPERF3, OUT, RSYNC, SCP, SECONDS, TAR, Tool, UNTRACED_SECONDS,
};
use super::contest::{Benchmark, Contest, Goal, Heading, Place, Setting};
use super::star::Stage;

/// The goal relative to iperf3 over all wires at once, which is the limit.
const LIMIT: Goal = Goal::AtLeast(0.97);
const ALL: &[Tool] = &[OUT, IPERF3, RSYNC, SCP, TAR];
const RETURN: &[Tool] = &[BACK, IPERF3];
const SEALED: &[Tool] = &[OUT, RSYNC, SCP];
const UNSEALED: &[Tool] = &[CLEAR, BARE, TAR];

const fn place(
    make: fn(&Setting<'_>) -> Result<Stage>,
    contests: &'static [Contest<Stage>],
) -> Place<Stage> {
    Place { make, contests }
}

const fn gaps(title: &'static str) -> Contest<Stage> {
    Contest { title, unit: "% of the stream", goal: Goal::Below(0.5), tools: &[GAPS] }
}

const SEALED_GOAL: Goal = Goal::AtLeast(2.0);
const CLEAR_GOAL: Goal = Goal::AtLeast(0.9);

/// The benchmark.
pub(crate) const BENCHMARK: Benchmark<Stage> = Benchmark {
    bench: Heading {
        schema: "garland.bench-stripe/2",
        name: "stripe",
        title: "One file over several servers",
    },
    // A round over all contests takes about three minutes.
    rounds: "5",
    options: &[("--size", "1GiB", "size of the file")],
    needs: &[("iproute2", "ip"), ("gcc", "cc")],
    sandboxed: true,
    time: Duration::from_secs(100),
    places: &[
        place(
            |setting| Stage::up(setting, 1, Some("1gbit")),
            &[
                Contest::rate("To 1 server at 1 Gbit/s", LIMIT, ALL),
                Contest::rate("From 1 server at 1 Gbit/s", LIMIT, RETURN),
                gaps("Gaps between operations, 1 server at 1 Gbit/s"),
            ],
        ),
        place(
            |setting| Stage::up(setting, 2, Some("1gbit")),
            &[
                Contest::rate("To 2 servers at 1 Gbit/s each", LIMIT, ALL),
                Contest::rate("From 2 servers at 1 Gbit/s each", LIMIT, RETURN),
                gaps("Gaps between operations, 2 servers at 1 Gbit/s each"),
            ],
        ),
        place(
            |setting| Stage::up(setting, 4, Some("1gbit")),
            &[
                Contest::rate("To 4 servers at 1 Gbit/s each", LIMIT, ALL),
                Contest::rate("From 4 servers at 1 Gbit/s each", LIMIT, RETURN),
                gaps("Gaps between operations, 4 servers at 1 Gbit/s each"),
            ],
        ),
        place(
            |setting| Stage::up(setting, 1, None),
            &[
                Contest::rate("To 1 server, unshaped, sealed", SEALED_GOAL, SEALED),
                Contest::rate("To 1 server, unshaped, clear", CLEAR_GOAL, UNSEALED),
                Contest {
                    title: "With a trace and without, 1 server, unshaped",
                    unit: "s",
                    goal: Goal::AtMost(1.01),
                    tools: &[SECONDS, UNTRACED_SECONDS],
                },
            ],
        ),
        place(
            |setting| Stage::up(setting, 2, None),
            &[
                Contest::rate("To 2 servers, unshaped, sealed", SEALED_GOAL, SEALED),
                Contest::rate("To 2 servers, unshaped, clear", CLEAR_GOAL, UNSEALED),
            ],
        ),
        place(
            |setting| Stage::up(setting, 4, None),
            &[
                Contest::rate("To 4 servers, unshaped, sealed", SEALED_GOAL, SEALED),
                Contest::rate("To 4 servers, unshaped, clear", CLEAR_GOAL, UNSEALED),
            ],
        ),
    ],
    notes: |_, stage| {
        Ok(vec![
            "nodes: network namespaces of this machine, a wire from the client to each server"
                .to_owned(),
            format!(
                "file: {} MiB in memory (tmpfs), no fsync; the whole command; parts, and what Garland \
                 brought there and back, are compared with their sources",
                stage.bytes >> 20
            ),
            "tools that can't stripe get the file in parts that were cut before, and copy all parts at \
             once: the best that a script around them could do"
                .to_owned(),
        ])
    },
};

#[cfg(test)]
mod tests {
    #[test]
    fn every_contest_has_a_title_of_its_own_and_a_peer_or_a_bound() {
        crate::contest::assert_sound(&super::BENCHMARK);
    }
}
