//! iperf3: the rate of a stream as its receiver counts it.

use anyhow::{Context, Result};
use serde_json::Value;

use super::super::contest::{Figure, Gauge};
use super::super::field::Field;
use super::duet::{Duet, Inside};
use xtask::packages::Need;

/// A measurement by iperf3 over one or several streams.
pub(crate) struct Iperf3 {
    /// Number of streams.
    pub(crate) streams: &'static str,
}

impl Gauge<Field> for Iperf3 {
    fn tool(&self) -> &'static str {
        "iperf3"
    }

    fn about(&self) -> &'static str {
        "`-t 2 -O 1 -P STREAMS`: the rate that the receiver counts in 2 s, after a first second that is not counted"
    }

    fn need(&self) -> Option<Need> {
        Some(("iperf3", "iperf3"))
    }

    fn measure(&self, field: &Field) -> Result<Figure> {
        let address = field.address(1)?;
        let client = ["iperf3", "-c", &address, "-t", "2", "-O", "1", "-P", self.streams, "-J"];
        let server = ["iperf3", "-s", "-1"];
        let duet =
            Duet { server: &server, listens: ("tcp6", 5201), client: &client, place: Inside::Lab };
        let said: Value =
            serde_json::from_str(&duet.play(field)?).context("failed to parse iperf3's result")?;
        let bits = said["end"]["sum_received"]["bits_per_second"].as_f64();
        Ok(Figure::of(bits.context("iperf3's result has no rate")? / 8e6))
    }
}
