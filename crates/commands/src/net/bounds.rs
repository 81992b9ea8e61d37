//! What the wires of a topology allow, for the loads that show what it is good for.

use std::fmt;

use garland_topology::Topology;
use garland_topology::bounds::{
    TrafficPattern, by_hash, expected, loads, max_min, max_min_over_rails, rails,
};
use serde::Serialize;

/// A load and its bounds; rates are bits per second of TCP payload. An infinite one is `null` in
/// JSON: no wire on its way has a rate.
#[derive(Clone, Debug, Serialize)]
pub struct Bound {
    #[serde(flatten)]
    load: TrafficPattern,
    /// What each connection gets, in the order of the load's.
    each: Vec<f64>,
    /// Their sum.
    total: f64,
    /// The sum when hashes choose by chance; `None` where nothing is chosen by hash.
    by_chance: Option<f64>,
}

/// All bounds, those over several rails after the others.
pub fn bounds(topology: &Topology) -> Vec<Bound> {
    let loads = loads(topology);
    let mut all: Vec<Bound> = loads
        .iter()
        .map(|load| {
            let hash = by_hash(topology, &load.flows);
            let by_chance = hash.then(|| expected(topology, &load.flows).iter().sum());
            Bound::new(load.clone(), max_min(topology, &load.flows), by_chance)
        })
        .collect();
    let rails = rails(topology);
    if rails > 1 {
        all.extend(loads.into_iter().map(|load| {
            let each = max_min_over_rails(topology, &load.flows);
            let name = format!("{}, over {rails} rails", load.name);
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

/// A row of the table: the load, how many flows, what each gets, and all together.
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let low = self.each.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.each.iter().copied().fold(0.0, f64::max);
        let each = if (high - low).abs() <= 1e-6 * high || low.is_infinite() {
            megabits(low)
        } else {
            format!("{} - {}", megabits(low), megabits(high))
        };
        let (name, count) = (&self.load.name, self.each.len());
        let bytes =
            if self.total.is_infinite() { "-".to_owned() } else { three_digits(self.total / 8e6) };
        write!(f, "{name:<44}{count:>5}{each:>18}{:>12}{bytes:>10}", megabits(self.total))?;
        // Hardly less than at best needs no word.
        if let Some(total) = self.by_chance.filter(|total| *total < 0.99 * self.total) {
            write!(f, "  by chance {}", megabits(total))?;
        }
        Ok(())
    }
}

/// Mbit/s with three digits, or what there is instead.
fn megabits(rate: f64) -> String {
    match rate {
        rate if rate.is_infinite() => "no bound".to_owned(),
        rate if rate <= 0.0 => "no way".to_owned(),
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
