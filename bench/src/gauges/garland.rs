//! Garland's own `ping` and `wires`.

use std::fs::{self, File};

use anyhow::{Context, Result};
use serde_json::Value;

use super::super::contest::{Figure, Tool};
use super::super::field::{DIR, Field, LAB};
use super::super::peers::garland_program;
use super::super::processes::alone;
use super::SIZE;
use super::duet::{NODES, Pair};

const PING: Tool<Pair> = Tool {
    name: "garland",
    about: "`garland ping`, three times 0.3 s a turn: `-f msg --wait block` and `--wait poll` there and back; \
            `--transport shm -f msg`, a store that the other side waits for and answers; `--transport \
            shm -f put -b 64`, stores that nobody waits for but this side, every 64; `-f get --wait poll \
            -b 32`, emulated by the other CPU as everywhere over TCP",
    need: None,
    measure: |pair| pings(pair, &["-f", "msg", "--wait", "block"]),
};

/// Messages there and back, blocking.
pub(crate) const BLOCKING: Tool<Pair> = PING;

/// Messages there and back, polling.
pub(crate) const POLLING: Tool<Pair> =
    Tool { measure: |pair| pings(pair, &["-f", "msg", "--wait", "poll"]), ..PING };

/// Messages there and back through shared memory.
pub(crate) const SHARED: Tool<Pair> =
    Tool { measure: |pair| pings(pair, &["-f", "msg", "--transport", "shm"]), ..PING };

/// Puts into shared memory, one after the other.
pub(crate) const PUTS: Tool<Pair> =
    Tool { measure: |pair| pings(pair, &["-f", "put", "--transport", "shm", "-b", "64"]), ..PING };

/// Gets with 32 in flight.
pub(crate) const GETS: Tool<Pair> =
    Tool { measure: |pair| pings(pair, &["-f", "get", "--wait", "poll", "-b", "32"]), ..PING };

/// The rate of one stream.
pub(crate) const WIRES: Tool<Pair> = Tool {
    name: "garland",
    about: "`garland wires --streams STREAMS`: the rate that the receivers count once it is steady",
    need: None,
    measure: |pair| rate(pair, "rate", "1"),
};

/// The rate of four streams together.
pub(crate) const WIRES_OF_4: Tool<Pair> =
    Tool { measure: |pair| rate(pair, "streams_rate", "4"), ..WIRES };

fn pings(pair: &Pair, words: &[&str]) -> Result<Figure> {
    // Measure for as long as the other tools do, even if the figure is precise earlier.
    let time = ["ping", "--lab", LAB, NODES, SIZE, "-n", "4000000000", "--time", "0.3"];
    let third = |_| {
        let result = garland(pair, &[&time, words].concat())?;
        ping(&result)
            .with_context(|| format!("unexpected result of garland ping: {}", result["pairs"]))
    };
    (0..3).map(third).collect::<Result<Vec<_>>>().map(|thirds| whole(&thirds))
}

/// Returns the rate at `key` of the JSON result of `garland wires`.
fn rate(pair: &Pair, key: &str, streams: &str) -> Result<Figure> {
    let result = garland(pair, &["wires", "--lab", LAB, NODES, "--streams", streams])?;
    let ways = result["directions"].as_array().map_or(&[][..], Vec::as_slice);
    let way = ways.iter().find(|way| way["from"] == "lab:n0");
    let rate = way.and_then(|way| way[key].as_f64());
    let rate = rate.with_context(|| format!("the result of garland wires has no {key}"))?;
    Ok(Figure::from_mean(rate / 1e6))
}

/// Runs garland on the head, and returns its JSON result.
fn garland(field: &Field, words: &[&str]) -> Result<Value> {
    let mut command = field.outside(&garland_program()?)?;
    let heard = format!("{DIR}/garland.json");
    command.arg("--json").args(words);
    command.stdout(File::create(&heard).context("failed to create the file for garland's result")?);
    alone(field, 0, command).with_context(|| format!("garland {}", words.join(" ")))?;
    let text = fs::read(&heard).context("failed to read garland's result")?;
    serde_json::from_slice(&text).context("failed to parse garland's result")
}

/// Combines the figures of three runs: the mean of their means, the mean of their medians, and the
/// best mean.
fn whole(thirds: &[Figure]) -> Figure {
    let numbers =
        |of: fn(&Figure) -> Option<f64>| -> Option<Vec<f64>> { thirds.iter().map(of).collect() };
    let mean = |numbers: Vec<f64>| numbers.iter().sum::<f64>() / numbers.len() as f64;
    let best = |numbers: Vec<f64>| numbers.into_iter().min_by(f64::total_cmp);
    Figure {
        median: numbers(|third| third.median).map(mean),
        mean: numbers(|third| third.mean).map(mean),
        best: numbers(|third| third.mean).and_then(best),
        beside: thirds.last().and_then(|third| third.beside.clone()),
    }
}

/// Returns the figures, in microseconds, of the only point of a `garland.ping/2` result.
fn ping(result: &Value) -> Option<Figure> {
    let point = &result["pairs"][0]["points"][0];
    let mean = point["each_ns"].as_f64()? / 1e3;
    let stay = point["sojourn"]["p50"].as_f64()? / 1e3;
    let p99 = point["sojourn"]["p99"].as_f64()? / 1e3;
    let depth = point["in_flight"].as_u64()?;
    let together = point["timed_together"].as_u64()?;
    if depth > 1 {
        let count = point["count"].as_f64()?;
        let writes = point["writes"].as_f64()?;
        let mut beside = format!("each stays {stay:.2} (p50)");
        if writes > 0.0 {
            beside += &format!("; {:.1} go out in one write", count / writes);
        }
        // Operations in memory are timed in groups: the median of one operation follows from that
        // of its group.
        let median = (together > 1).then(|| stay / depth as f64);
        return Some(Figure { mean: Some(mean), median, best: None, beside: Some(beside) });
    }
    let ways = if point["function"] == "msg" { 2.0 } else { 1.0 };
    let beside = Some(format!("p99 {:.1}", p99 / ways));
    Some(Figure { mean: Some(mean), median: Some(stay / ways), best: None, beside })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(point: &Value) -> Option<Figure> {
        ping(&json!({"pairs": [{"points": [point]}]}))
    }

    #[test]
    fn the_result_object_is_understood() {
        let point = json!({"function": "msg", "each_ns": 4000.0, "in_flight": 1, "count": 10,
            "timed_together": 1, "writes": 10, "sojourn": {"p50": 7000, "p99": 20_000}});
        let figure = found(&point).unwrap();
        assert_eq!((figure.mean, figure.median), (Some(4.0), Some(3.5)));
        assert_eq!(figure.beside.as_deref(), Some("p99 10.0"));
        let point = json!({"function": "get", "each_ns": 300.0, "in_flight": 32, "count": 320,
            "timed_together": 1, "writes": 10, "sojourn": {"p50": 9000, "p99": 20_000}});
        let figure = found(&point).unwrap();
        assert_eq!((figure.mean, figure.median), (Some(0.3), None));
        assert!(figure.beside.unwrap().ends_with("9.00 (p50); 32.0 go out in one write"));
        assert_eq!(found(&json!({})), None);
        let thirds = [4.0, 2.0, 6.0].map(Figure::from_mean);
        let figure = whole(&thirds);
        assert_eq!((figure.median, figure.mean, figure.best), (None, Some(4.0), Some(2.0)));
    }
}
