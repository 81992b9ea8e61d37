//! sockperf's ping-pong over TCP.

use anyhow::Result;

use super::super::contest::{Figure, Tool};
use super::duet::{Duet, Inside, Pair, number_after};

const PORT: &str = "11111";

/// Blocking receives.
pub(crate) const SOCKPERF: Tool<Pair> = Tool {
    name: "sockperf",
    about: "`ping-pong --tcp -m 14 -t 1`, blocking receives; 14 bytes is its minimum",
    need: Some(("sockperf", "sockperf")),
    measure: |pair| measure(pair, &[]),
};

/// Busy-polling receives.
pub(crate) const SOCKPERF_POLLING: Tool<Pair> = Tool {
    name: "sockperf --nonblocked",
    about: "`ping-pong --tcp --nonblocked -m 14 -t 1`, busy-polling receives on both sides; 14 bytes is its \
            minimum",
    measure: |pair| measure(pair, &["--nonblocked"]),
    ..SOCKPERF
};

fn measure(pair: &Pair, way: &[&str]) -> Result<Figure> {
    let address = pair.address(1)?;
    let place = ["--tcp", "-i", &address, "-p", PORT];
    let server = [&["sockperf", "server"][..], &place, way].concat();
    let client = [&["sockperf", "ping-pong", "-m", "14", "-t", "1"][..], &place, way].concat();
    let duet =
        Duet { server: &server, listens: ("tcp", 11_111), client: &client, place: Inside::Lab };
    let said = duet.play(pair)?;
    Ok(Figure {
        mean: Some(number_after(&said, "Latency is ")?),
        median: Some(number_after(&said, "percentile 50.000 =")?),
        best: None,
        beside: Some(format!("p99 {:.1}", number_after(&said, "percentile 99.000 =")?)),
    })
}
