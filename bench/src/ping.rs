//! `bench ping`: measures small messages, gets and puts between two nodes with Garland and other tools.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::contest::{Benchmark, Contest, Gauge, Goal, Heading, Words, hold};
use super::field::Field;
use super::gauges::{Agents, Netpipe, PINGPONG, Ping, QPERF, Sockperf, Ucx, cpus};
use xtask::packages::Need;

/// The usage text.
pub(crate) const USAGE: &str = "\
cargo xtask bench ping [options]

  --rounds 9                  turns of each tool
  --only WORDS                only contests with these words in their title
  --cc reno|bbr               congestion control of both nodes (reno)
  --no-write                  print only, leave benches/results/ alone";

/// Options of this benchmark and of `bench wires`.
pub(super) const OPTIONS: &[&str] = &["--cc"];

/// Packages that the emulated nodes need.
pub(super) const NEEDS: &[Need] =
    &[("iproute2", "ip"), ("procps", "sysctl"), ("util-linux", "taskset")];

/// Microseconds of an 8-byte get with 32 in flight on Quadrics' Elan4 (pgping, 2005).
const ELAN4_GET_US: f64 = 0.79;

/// No round begins after this time.
const TIME: Duration = Duration::from_secs(240);

/// The benchmark.
const BENCHMARK: Benchmark<Field> = Benchmark {
    bench: Heading {
        schema: "garland.bench-ping/1",
        name: "ping",
        title: "Small messages between two nodes",
    },
    usage: USAGE,
    // A round takes about 20 s.
    rounds: 9,
    options: OPTIONS,
    needs: NEEDS,
    contests,
};

/// Runs the benchmark.
///
/// # Errors
/// If an argument is wrong, a lab cannot be made, a tool failed, or a goal is missed.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    cpus()?;
    BENCHMARK.run_in_sandbox(root, args, |run, words| {
        let contests = words.choose(contests());
        let field =
            Field::up(run, 1, None, congestion(words)).context("failed to set up two nodes")?;
        let _agents = Agents::up(&field)?;
        Ok((hold(&contests, words.rounds, TIME, &field), notes(words)?))
    })
}

/// Returns the congestion control of both nodes.
pub(super) fn congestion(words: &Words) -> &str {
    words.other("--cc").unwrap_or("reno")
}

/// Returns notes for the report on where and how the figures were measured.
pub(super) fn notes(words: &Words) -> Result<Vec<String>> {
    let [head, other] = cpus()?;
    Ok(vec![
        "nodes: two network namespaces on one bridge of this machine".to_owned(),
        format!(
            "processors: all that runs on the first node stays on CPU {head}, all on the other \
                 on CPU {other} (taskset)"
        ),
        format!("congestion control: {}", congestion(words)),
    ])
}

fn contests() -> Vec<Contest<Field>> {
    let own = |words| -> Box<dyn Gauge<Field>> { Box::new(Ping { words }) };
    let mut put_latency = vec![own(&["-f", "msg", "--transport", "shm"][..])];
    for way in Ucx::PUT_LATENCY {
        put_latency.push(Box::new(way));
    }
    let mut put_rate = vec![own(&["-f", "put", "--transport", "shm", "-b", "64"][..])];
    for way in Ucx::PUT_RATE {
        put_rate.push(Box::new(way));
    }
    vec![
        Contest {
            title: "Half a round trip of 8 bytes over TCP, blocking",
            unit: "µs",
            goal: Goal::AtMost(1.0),
            gauges: vec![
                own(&["-f", "msg", "--wait", "block"]),
                Box::new(QPERF),
                Box::new(Netpipe),
                Box::new(Sockperf::Blocking),
            ],
        },
        Contest {
            title: "Half a round trip of 8 bytes over TCP, polling",
            unit: "µs",
            goal: Goal::AtMost(1.0),
            gauges: vec![
                own(&["-f", "msg", "--wait", "poll"]),
                Box::new(Ucx::AM_TCP),
                Box::new(PINGPONG),
                Box::new(Sockperf::Polling),
            ],
        },
        Contest {
            title: "Puts of 8 bytes into shared memory, there and back, half",
            unit: "µs",
            goal: Goal::AtMost(1.2),
            gauges: put_latency,
        },
        Contest {
            title: "Puts of 8 bytes into shared memory, one after the other",
            unit: "µs",
            goal: Goal::AtMost(1.2),
            gauges: put_rate,
        },
        Contest {
            title: "Gets of 8 bytes over TCP, 32 in flight, time per get",
            unit: "µs",
            goal: Goal::Below(ELAN4_GET_US),
            gauges: vec![own(&["-f", "get", "--wait", "poll", "-b", "32"]), Box::new(Ucx::GET_TCP)],
        },
    ]
}
