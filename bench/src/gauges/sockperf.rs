//! sockperf's ping-pong over TCP.

use anyhow::Result;

use super::super::contest::{Figure, Gauge};
use super::super::field::Field;
use super::duet::{Duet, Inside, number_after};
use xtask::packages::Need;

const PORT: &str = "11111";

/// A measurement by sockperf; the variants are ways of receiving.
pub(crate) enum Sockperf {
    /// Blocking receives.
    Blocking,
    /// Busy-polling receives.
    Polling,
}

impl Gauge<Field> for Sockperf {
    fn tool(&self) -> &'static str {
        match self {
            Self::Blocking => "sockperf",
            Self::Polling => "sockperf --nonblocked",
        }
    }

    fn about(&self) -> &'static str {
        match self {
            Self::Blocking => {
                "`ping-pong --tcp -m 14 -t 1`, blocking receives; 14 bytes is its minimum"
            }
            Self::Polling => {
                "`ping-pong --tcp --nonblocked -m 14 -t 1`, busy-polling receives on both \
                 sides; 14 bytes is its minimum"
            }
        }
    }

    fn need(&self) -> Option<Need> {
        Some(("sockperf", "sockperf"))
    }

    fn measure(&self, field: &Field) -> Result<Figure> {
        let address = field.address(1)?;
        let way: &[&str] = match self {
            Self::Blocking => &[],
            Self::Polling => &["--nonblocked"],
        };
        let place = ["--tcp", "-i", &address, "-p", PORT];
        let server = [&["sockperf", "server"][..], &place, way].concat();
        let client = [&["sockperf", "ping-pong", "-m", "14", "-t", "1"][..], &place, way].concat();
        let duet =
            Duet { server: &server, listens: ("tcp", 11_111), client: &client, place: Inside::Lab };
        let said = duet.play(field)?;
        Ok(Figure {
            mean: Some(number_after(&said, "Latency is ")?),
            median: Some(number_after(&said, "percentile 50.000 =")?),
            best: None,
            beside: Some(format!("p99 {:.1}", number_after(&said, "percentile 99.000 =")?)),
        })
    }
}
