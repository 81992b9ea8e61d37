//! The tables of `garland wires --sweep`: one for each kind of wire, with a line for each packet
//! size and a column for each number of pairs.

use std::fmt;

use garland_terminal::verdicts::folded;

use super::result::{PointResult, SweepResult, WireResult};

/// The maximum number of pairs that are listed by name.
const NAMED: usize = 8;

impl fmt::Display for SweepResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.wires.iter().try_for_each(|wire| self.wire(f, wire))?;
        let failed = self.nodes.iter().filter(|node| !node.end.is_ok());
        f.write_str(&folded(failed.map(|node| node.end.of(&node.name))))?;
        for pair in &self.failed {
            let ([one, other], reason) = (&pair.nodes, &pair.reason);
            writeln!(f, "left out: {one} and {other}: {reason}")?;
        }
        self.measured.warnings.iter().try_for_each(|warning| writeln!(f, "note: {warning}"))
    }
}

impl SweepResult {
    fn wire(&self, f: &mut fmt::Formatter<'_>, wire: &WireResult) -> fmt::Result {
        let points = || self.points.iter().filter(|point| point.wire == wire.wire);
        let pairs = wire.pairs.iter().take(NAMED).map(|[from, to]| format!("{from} to {to}"));
        let more = if wire.pairs.len() > NAMED { " .." } else { "" };
        let pairs = pairs.collect::<Vec<_>>().join(", ");
        writeln!(f, "{} wire: {pairs}{more}", wire.wire)?;
        let mut counts: Vec<usize> = points().map(|point| point.pairs).collect();
        counts.sort_unstable();
        counts.dedup();
        write!(f, "{:<20}{:<12}", "MB/s of all pairs", "")?;
        counts.iter().try_for_each(|count| write!(f, "{count:>9}"))?;
        writeln!(f)?;
        let mut sizes: Vec<u16> = points().map(|point| point.packet).collect();
        sizes.dedup();
        for size in sizes {
            let cell = |count: &usize| {
                points().find(|point| (point.packet, point.pairs) == (size, *count))
            };
            let mut line = |name: &str, what: &str, of: &dyn Fn(&PointResult) -> Option<f64>| {
                let values: Vec<Option<f64>> =
                    counts.iter().map(|count| cell(count).and_then(of)).collect();
                if values.iter().all(Option::is_none) {
                    return Ok(());
                }
                write!(f, "{name:<20}{what:<12}")?;
                for value in values {
                    match value {
                        Some(value) => write!(f, " {value:>8.*}", digits(value))?,
                        None => write!(f, " {:>8}", "-")?,
                    }
                }
                writeln!(f)
            };
            line(&format!("{size}-byte packets"), "measured", &|one| Some(one.rate / 1e6))?;
            line("", "wires", &|one| one.bound.map(|bound| bound / 1e6))?;
            line("", "of wires, %", &|one| one.bound.map(|bound| one.rate / bound * 100.0))?;
        }
        writeln!(f)
    }
}

/// Returns the number of decimals with which `value` is printed.
fn digits(value: f64) -> usize {
    match value {
        ..10.0 => 3,
        ..1000.0 => 1,
        _ => 0,
    }
}
