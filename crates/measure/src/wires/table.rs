//! The printed form of the result of `garland wires`.

use std::fmt;

use garland_core::units::{Nanos, Rate};
use garland_terminal::verdicts::folded;

use super::result::{DirectionResult, FailedOnRail, WiresFindings, WiresResult};

/// The maximum number of nodes for which the matrix shows rates; for more, it shows one character
/// for each pair.
const NUMBERS: usize = 16;

/// The maximum number of nodes for which a matrix is printed.
const CHARACTERS: usize = 128;

impl fmt::Display for WiresResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let findings = &self.findings;
        let pairs =
            findings.directions.iter().filter(|pair| pair.rail == 0 && pair.from < pair.to).count();
        let rounds = findings.rounds;
        let at_once = findings.at_once;
        write!(f, "{pairs} pairs in {rounds} rounds, up to {at_once} at once; unencrypted TCP")?;
        writeln!(f, "{}", if findings.rails > 1 { ", rail by rail" } else { "" })?;
        for rail in 0..findings.rails {
            if findings.rails > 1 {
                writeln!(f, "rail {rail}")?;
            }
            let directions = findings.directions.iter().filter(|pair| pair.rail == rail).collect();
            OnRail { findings, rail, directions }.fmt(f)?;
        }
        if let Some(sum) = findings.bisection {
            writeln!(f, "  between both halves of the nodes, both directions: {}", rate(sum))?;
        }
        let failed = findings.nodes.iter().filter(|node| !node.end.is_ok());
        f.write_str(&folded(failed.map(|node| node.end.of(&node.name))))?;
        for FailedOnRail { rail, pair } in &findings.failed {
            let ([one, other], reason) = (&pair.nodes, &pair.reason);
            let rail = if findings.rails > 1 { format!(" on rail {rail}") } else { String::new() };
            writeln!(f, "no measurement between {one} and {other}{rail}: {reason}")?;
        }
        if let Some(baseline) = &findings.baseline {
            let share = baseline.share * 100.0;
            writeln!(f, "compared with run {}: on average {share:.0} % of its rate", baseline.run)?;
        }
        findings.measured.warnings.iter().try_for_each(|warning| writeln!(f, "note: {warning}"))?;
        for fault in &findings.faults {
            writeln!(f, "fault: {}", fault.text)?;
        }
        if findings.faults.is_empty() && !findings.directions.is_empty() {
            writeln!(f, "no part is slower than its peers")?;
        }
        Ok(())
    }
}

/// The part of the table for one rail.
struct OnRail<'t> {
    findings: &'t WiresFindings,
    rail: usize,
    directions: Vec<&'t DirectionResult>,
}

impl fmt::Display for OnRail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_summary(f)?;
        self.write_loads(f)?;
        match self.findings.nodes.len() {
            few if few <= NUMBERS => self.write_numbers(f),
            some if some <= CHARACTERS => self.write_characters(f),
            _ => Ok(()),
        }
    }
}

impl OnRail<'_> {
    fn write_summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = [
            ("one stream", self.of(|pair| pair.rate)),
            ("both directions", self.of(|pair| pair.two_way_rate)),
            ("several streams", self.of(|pair| pair.streams_rate)),
        ];
        writeln!(f, "  {:<17}{:>30}{:>30}", "", "median", "lowest")?;
        for (name, values) in lines {
            if let (Some(&lowest), Some(&median)) = (values.first(), values.get(values.len() / 2)) {
                writeln!(f, "  {name:<17}{:>30}{:>30}", rate(median), rate(lowest))?;
            }
        }
        let lost = self.of(|pair| pair.lost);
        if let (Some(highest), Some(median)) = (lost.last(), lost.get(lost.len() / 2)) {
            let median = median * 100.0;
            let highest = highest * 100.0;
            let median = format!("{median:.2} %");
            let highest = format!("highest {highest:.2} %");
            writeln!(f, "  {:<17}{median:>30}{highest:>30}", "sent again")?;
        }
        let mut latencies: Vec<u64> = self
            .directions
            .iter()
            .filter_map(|pair| pair.round_trip_ns)
            .map(|times| times[1])
            .collect();
        latencies.sort_unstable();
        if let (Some(&highest), Some(&median)) =
            (latencies.last(), latencies.get(latencies.len() / 2))
        {
            let median = Nanos(median);
            let highest = Nanos(highest);
            writeln!(
                f,
                "  {:<17}{median:>30}{:>30}",
                "8 bytes and back",
                format!("highest {highest}")
            )?;
        }
        Ok(())
    }

    /// Returns the values that `pick` finds in the directions of this rail, the lowest first.
    fn of(&self, pick: impl Fn(&DirectionResult) -> Option<f64>) -> Vec<f64> {
        let mut values: Vec<f64> = self.directions.iter().copied().filter_map(pick).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    fn write_loads(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for load in self.findings.loads.iter().filter(|load| load.rail == self.rail) {
            let rates = [load.median, load.lowest, load.rate].map(rate);
            let [each, lowest, all] = rates;
            writeln!(f, "  {:>3} at once, each {each:>28}, lowest {lowest},", load.pairs)?;
            writeln!(f, "      together      {all:>28}")?;
        }
        Ok(())
    }

    fn cell(&self, from: &str, to: &str) -> Option<f64> {
        self.directions.iter().find(|pair| pair.from == from && pair.to == to)?.rate
    }

    /// Writes the matrix of rates in Mbit/s; rows send, columns receive.
    fn write_numbers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.directions.is_empty() {
            return Ok(());
        }
        let wide = self.findings.nodes.iter().map(|node| node.name.len()).max().unwrap_or(0).max(7);
        write!(f, "{:<wide$}", "Mbit/s")?;
        for node in &self.findings.nodes {
            write!(f, " {:>7}", tail(&node.name, 7))?;
        }
        writeln!(f)?;
        for from in &self.findings.nodes {
            write!(f, "{:<wide$}", from.name)?;
            for to in &self.findings.nodes {
                match self.cell(&from.name, &to.name) {
                    Some(rate) => write!(f, " {:>7.*}", digits(rate), rate * 8.0 / 1e6)?,
                    None => write!(f, " {:>7}", if from.name == to.name { "" } else { "-" })?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }

    /// Writes the matrix with one character for each pair: `.` for at least 95 % of the median
    /// rate, otherwise the rate in tenths of the median.
    fn write_characters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.of(|pair| pair.rate);
        let Some(&middle) = values.get(values.len() / 2) else { return Ok(()) };
        let wide = self.findings.nodes.iter().map(|node| node.name.len()).max().unwrap_or(0);
        writeln!(f, "rows send; tenths of the median rate, . for 95 % and more, - for none")?;
        for from in &self.findings.nodes {
            let mark = |to: &str| match self.cell(&from.name, to).map(|rate| rate / middle) {
                _ if from.name == to => ' ',
                None => '-',
                Some(share) if share >= 0.95 => '.',
                // From 0 to 9: the share is below 0.95.
                Some(share) => char::from(b'0' + (share * 10.0) as u8),
            };
            let marks: String = self.findings.nodes.iter().map(|to| mark(&to.name)).collect();
            writeln!(f, "{:<wide$} {}", from.name, marks.trim_end())?;
        }
        Ok(())
    }
}

/// Returns the last `most` characters of a name; these differ between nodes.
fn tail(name: &str, most: usize) -> &str {
    let from = name.char_indices().rev().nth(most - 1).map_or(0, |(at, _)| at);
    &name[from..]
}

/// Returns the number of decimals of a rate in Mbit/s: one below 1000, otherwise none.
fn digits(rate: f64) -> usize {
    if rate * 8.0 < 1e9 { 1 } else { 0 }
}

fn rate(bytes_per_second: f64) -> String {
    Rate::from_bytes_per_second(bytes_per_second.max(0.0) as u64).to_string()
}
