//! Prints a report as text, with one line or two per medium.

use std::fmt;

use super::report::{Measured, Report};

/// The maximum number of deviating pairs that are printed.
const MAX_PRINTED_PAIRS: usize = 10;

/// The CPU utilization, 0 to 1, above which this machine may be the cause of deviations.
const SATURATED: f64 = 0.9;

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for medium in &self.media {
            let word = verdict(medium.holds());
            writeln!(out, "{word}{}: alone {}", medium.medium, words(&medium.alone))?;
            match medium.shared {
                Some(theory) => {
                    let sum = medium.both_ways.iter().map(|flow| flow.goodput).sum::<f64>();
                    let each = medium.both_ways.iter().map(|flow| mbits(flow.goodput));
                    let each = each.collect::<Vec<_>>().join(" + ");
                    writeln!(out, "    both ways {each}, together {}", against(sum, Some(theory)))?;
                }
                None => {
                    let each = medium.both_ways.iter().map(words).collect::<Vec<_>>();
                    writeln!(out, "    both ways {}", each.join(" and "))?;
                }
            }
        }
        let others = self.all_media - self.media.len();
        if others > 0 {
            writeln!(out, "    {others} more media were measured only between pairs of nodes")?;
        }
        let off: Vec<_> = self.pairs.iter().filter(|pair| !pair.holds()).collect();
        let measured = self.pairs.len();
        let all = self.all_pairs;
        let worst = self.pairs.iter().filter_map(Measured::ratio);
        let worst = worst.map(|ratio| (ratio - 1.0).abs()).fold(0.0, f64::max);
        writeln!(
            out,
            "{}pairs: {measured} of {all} measured, {} as predicted, largest deviation {:.1} %",
            verdict(off.is_empty()),
            measured - off.len(),
            worst * 100.0
        )?;
        for pair in off.iter().take(MAX_PRINTED_PAIRS) {
            writeln!(out, "    {}, with {} flows at once", words(pair), pair.at_once)?;
        }
        for anomaly in &self.anomalies {
            writeln!(out, "{}{anomaly}", verdict(false))?;
        }
        if !self.holds() && self.busy > SATURATED {
            writeln!(
                out,
                "    the CPUs were busy for {:.0} % of the time: the deviations may be caused by this \
                 machine",
                self.busy * 100.0
            )?;
        }
        Ok(())
    }
}

fn verdict(holds: bool) -> &'static str {
    if holds { "ok  " } else { "off " }
}

fn words(measured: &Measured) -> String {
    let Measured { from, to, goodput, theory, .. } = measured;
    format!("{from} -> {to} {}", against(*goodput, *theory))
}

fn against(goodput: f64, theory: Option<f64>) -> String {
    match theory {
        Some(theory) => {
            let share = goodput / theory * 100.0;
            format!("{} of {} Mbit/s: {share:.2} %", mbits(goodput), mbits(theory))
        }
        None => format!("{} Mbit/s, unshaped", mbits(goodput)),
    }
}

fn mbits(bits: f64) -> String {
    format!("{:.1}", bits / 1e6)
}
