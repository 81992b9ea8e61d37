//! iperf3: the rate of a stream as its receiver counts it.

use anyhow::{Context, Result};
use serde_json::Value;

use super::super::contest::{Figure, Tool};
use super::duet::{Duet, Inside, Pair};

/// The rate of one stream.
pub(crate) const IPERF3: Tool<Pair> = Tool {
    name: "iperf3",
    about: "`-t 2 -O 1 -P STREAMS`: the rate that the receiver counts in 2 s, after a first second that is not counted",
    need: Some(("iperf3", "iperf3")),
    measure: |pair| measure(pair, "1"),
};

/// The rate of four streams together.
pub(crate) const IPERF3_OF_4: Tool<Pair> = Tool { measure: |pair| measure(pair, "4"), ..IPERF3 };

fn measure(pair: &Pair, streams: &str) -> Result<Figure> {
    let address = pair.address(1)?;
    let client = ["iperf3", "-c", &address, "-t", "2", "-O", "1", "-P", streams, "-J"];
    let server = ["iperf3", "-s", "-1"];
    let duet =
        Duet { server: &server, listens: ("tcp6", 5201), client: &client, place: Inside::Lab };
    let said: Value =
        serde_json::from_str(&duet.play(pair)?).context("failed to parse iperf3's result")?;
    let bits = said["end"]["sum_received"]["bits_per_second"].as_f64();
    Ok(Figure::from_mean(bits.context("iperf3's result has no rate")? / 8e6))
}
