//! `bench ping`: measures small messages, gets and puts between two nodes with Garland and other
//! tools.

use std::time::Duration;

use anyhow::Result;
use xtask::packages::Need;

use super::contest::{Benchmark, Choice, Contest, Goal, Heading, Place, Setting, Tool};
use super::gauges::{
    AM_TCP, BLOCKING, CMA_LATENCY, GET_TCP, GETS, NETPIPE, PINGPONG, POLLING, POSIX_LATENCY,
    POSIX_RATE, PUTS, Pair, QPERF, SHARED, SOCKPERF, SOCKPERF_POLLING, SYSV_LATENCY, SYSV_RATE,
    cpus,
};

/// Options of this benchmark and of `bench wires`.
pub(super) const OPTIONS: &[Choice] =
    &[("--cc", "reno", "congestion control of both nodes: reno or bbr")];

/// Packages that the emulated nodes need.
pub(super) const NEEDS: &[Need] =
    &[("iproute2", "ip"), ("procps", "sysctl"), ("util-linux", "taskset")];

/// Microseconds of an 8-byte get with 32 in flight on Quadrics' Elan4 (pgping, 2005).
const ELAN4_GET_US: f64 = 0.79;

/// The benchmark.
pub(crate) const BENCHMARK: Benchmark<Pair> = Benchmark {
    bench: Heading {
        schema: "garland.bench-ping/1",
        name: "ping",
        title: "Small messages between two nodes",
    },
    // A round takes about 20 s.
    rounds: "9",
    options: OPTIONS,
    needs: NEEDS,
    sandboxed: true,
    time: Duration::from_secs(240),
    places: &[Place {
        make: |setting| Pair::up(setting, None),
        contests: &[
            contest(
                "Half a round trip of 8 bytes over TCP, blocking",
                Goal::AtMost(1.0),
                &[BLOCKING, QPERF, NETPIPE, SOCKPERF],
            ),
            contest(
                "Half a round trip of 8 bytes over TCP, polling",
                Goal::AtMost(1.0),
                &[POLLING, AM_TCP, PINGPONG, SOCKPERF_POLLING],
            ),
            contest(
                "Puts of 8 bytes into shared memory, there and back, half",
                Goal::AtMost(1.2),
                &[SHARED, POSIX_LATENCY, SYSV_LATENCY, CMA_LATENCY],
            ),
            contest(
                "Puts of 8 bytes into shared memory, one after the other",
                Goal::AtMost(1.2),
                &[PUTS, POSIX_RATE, SYSV_RATE],
            ),
            contest(
                "Gets of 8 bytes over TCP, 32 in flight, time per get",
                Goal::Below(ELAN4_GET_US),
                &[GETS, GET_TCP],
            ),
        ],
    }],
    notes,
};

const fn contest(title: &'static str, goal: Goal, tools: &'static [Tool<Pair>]) -> Contest<Pair> {
    Contest { title, unit: "µs", goal, tools }
}

/// Returns notes for the report on where and how the figures were measured.
pub(super) fn notes(setting: &Setting<'_>, _: &Pair) -> Result<Vec<String>> {
    let [head, other] = cpus()?;
    Ok(vec![
        "nodes: two network namespaces on one bridge of this machine".to_owned(),
        format!(
            "processors: all that runs on the first node stays on CPU {head}, all on the other \
                 on CPU {other} (taskset)"
        ),
        format!("congestion control: {}", setting.words.value("--cc")),
    ])
}
