//! The rates that the wires of a topology allow for typical loads.

use std::fmt;

use garland_topology::Topology;
use garland_topology::bounds::{
    TrafficPattern, by_hash, expected, loads, max_min, max_min_over_rails, rails,
};
use serde::Serialize;

/// A traffic pattern and the bounds of its rates, in bits per second of TCP payload. A bound is
/// infinite (`null` in JSON) if no wire on the route has a rate limit.
#[derive(Clone, Debug, Serialize)]
pub struct Bound {
    #[serde(flatten)]
    load: TrafficPattern,
    /// The rate of each connection, in the order of the load's connections.
    each: Vec<f64>,
    /// The sum of `each`.
    total: f64,
    /// The expected sum of the rates if random hashes choose the paths of connections; `None` if no
    /// path is chosen by a hash.
    by_chance: Option<f64>,
}

/// Returns the bounds of all loads. If there are several rails, the bounds of the loads over all
/// rails follow.
pub fn find_bounds(topology: &Topology) -> Vec<Bound> {
    let patterns = loads(topology);
    let mut all: Vec<Bound> = patterns
        .iter()
        .map(|load| {
            let hash = by_hash(topology, &load.flows);
            let by_chance = hash.then(|| expected(topology, &load.flows).iter().sum());
            Bound::new(load.clone(), max_min(topology, &load.flows), by_chance)
        })
        .collect();
    let count = rails(topology);
    if count > 1 {
        all.extend(patterns.into_iter().map(|load| {
            let each = max_min_over_rails(topology, &load.flows);
            let name = format!("{}, over {count} rails", load.name);
            Bound::new(TrafficPattern { name, ..load }, each, None)
        }));
    }
    all
}

impl Bound {
    fn new(load: TrafficPattern, each: Vec<f64>, by_chance: Option<f64>) -> Self {
        let total = each.iter().sum();
        Self { load, each, total, by_chance }
    }
}

/// Writes a row of the table: the load, the number of flows, the rate of each, and the sum.
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let low = self.each.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.each.iter().copied().fold(0.0, f64::max);
        let each = if (high - low).abs() <= 1e-6 * high || low.is_infinite() {
            megabits(low)
        } else {
            format!("{} - {}", megabits(low), megabits(high))
        };
        let name = &self.load.name;
        let count = self.each.len();
        let bytes =
            if self.total.is_infinite() { "-".to_owned() } else { three_digits(self.total / 8e6) };
        write!(f, "{name:<37}{count:>5}{each:>17}{:>12}{bytes:>9}", megabits(self.total))?;
        // A difference below 1 % is not shown.
        if let Some(total) = self.by_chance.filter(|total| *total < 0.99 * self.total) {
            write!(f, "  by chance {}", megabits(total))?;
        }
        Ok(())
    }
}

/// Formats a rate in bits per second as Mbit/s with three digits; `no bound` if it is infinite.
fn megabits(rate: f64) -> String {
    match rate {
        rate if rate.is_infinite() => "no bound".to_owned(),
        rate if rate <= 0.0 => "no route".to_owned(),
        rate => three_digits(rate / 1e6),
    }
}

fn three_digits(value: f64) -> String {
    match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}
