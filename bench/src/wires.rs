//! `bench wires`: measures the rate between two nodes with Garland and with iperf3.

use std::time::Duration;

use super::contest::{Benchmark, Contest, Goal, Heading, Place, Tool};
use super::gauges::{IPERF3, IPERF3_OF_4, Pair, WIRES, WIRES_OF_4};
use super::ping::{NEEDS, OPTIONS, notes};

/// The benchmark.
pub(crate) const BENCHMARK: Benchmark<Pair> = Benchmark {
    bench: Heading {
        schema: "garland.bench-wires/1",
        name: "wires",
        title: "Rates between two nodes",
    },
    // A round takes about 25 s.
    rounds: "7",
    options: OPTIONS,
    needs: NEEDS,
    sandboxed: true,
    time: Duration::from_secs(120),
    places: &[
        Place {
            make: |setting| Pair::up(setting, Some(1_000_000_000)),
            contests: &[
                contest("One stream at 1 Gbit/s", ONE),
                contest("4 streams at 1 Gbit/s", FOUR),
            ],
        },
        Place {
            make: |setting| Pair::up(setting, None),
            contests: &[contest("One stream, unshaped", ONE), contest("4 streams, unshaped", FOUR)],
        },
    ],
    notes,
};

const ONE: &[Tool<Pair>] = &[WIRES, IPERF3];
const FOUR: &[Tool<Pair>] = &[WIRES_OF_4, IPERF3_OF_4];

const fn contest(title: &'static str, tools: &'static [Tool<Pair>]) -> Contest<Pair> {
    Contest::rate(title, Goal::AtLeast(1.0), tools)
}
