//! qperf's `tcp_lat`.

use anyhow::{Context, Result, bail};

use super::super::contest::{Figure, Tool};
use super::SIZE;
use super::duet::{Duet, Inside, Pair};

/// qperf with blocking reads and writes.
pub(crate) const QPERF: Tool<Pair> = Tool {
    name: "qperf",
    about: "`tcp_lat -m 8 -t 1`: blocking reads and writes; the mean",
    need: Some(("qperf", "qperf")),
    measure,
};

fn measure(pair: &Pair) -> Result<Figure> {
    let address = pair.address(1)?;
    let client = ["qperf", "-t", "1", "-m", SIZE, &address, "tcp_lat"];
    let duet =
        Duet { server: &["qperf"], listens: ("tcp6", 19_765), client: &client, place: Inside::Lab };
    latency(&duet.play(pair)?).map(Figure::from_mean)
}

/// Parses `latency  =  27.3 us`, and returns microseconds.
fn latency(text: &str) -> Result<f64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("latency"));
    let line =
        line.with_context(|| format!("the output of qperf has no latency: {}", text.trim()))?;
    let [_, value, unit] = line.split_whitespace().collect::<Vec<_>>()[..] else {
        bail!("the latency of qperf has no value and unit: {line}");
    };
    let value: f64 =
        value.parse().with_context(|| format!("the latency of qperf is not a number: {line}"))?;
    Ok(value
        * match unit {
            "ns" => 1e-3,
            "us" => 1.0,
            "ms" => 1e3,
            _ => bail!("unknown unit `{unit}` in the output of qperf: {line}"),
        })
}

#[cfg(test)]
mod tests {
    use super::latency;

    #[test]
    fn its_words_are_understood() {
        assert_eq!(latency("tcp_lat:\n    latency  =  27.3 us\n").unwrap(), 27.3);
        assert_eq!(latency("tcp_lat:\n    latency  =  1.5 ms\n").unwrap(), 1500.0);
        assert!(latency("tcp_lat:\n    latency  =  1.5 s\n").is_err());
        assert!(latency("failed to connect").is_err());
    }
}
