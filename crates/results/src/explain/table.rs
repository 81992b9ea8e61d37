//! The printed form of the result of `garland explain`.

use std::fmt;

use garland_core::units::{Nanos, Rate, bytes};

use crate::explain::result::ExplainResult;

/// Rows with less than this fraction of the time are summed up in one line.
const SMALL: f64 = 0.001;

impl fmt::Display for ExplainResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = self.head.run.as_deref().unwrap_or_default();
        let size = bytes::format(self.bytes);
        let wall = Nanos(self.wall_ns);
        let preposition = self.direction.preposition();
        let ok = self.ok;
        writeln!(f, "{run}: {size} {preposition} {ok} of {} nodes in {wall}\n", self.of)?;
        self.write_rows(f)?;
        self.write_path(f)?;
        if let Some(limit) = &self.head.limit {
            let achieved = limit.achieved.map(|share| format!("{:.1} % of ", share * 100.0));
            let achieved = achieved.unwrap_or_default();
            let rate = Rate::from_bytes_over(limit.rate, Nanos::from_secs(1));
            let rate = rate.map_or_else(String::new, |rate| rate.to_string());
            writeln!(f, "limit   {achieved}{rate}, {}", limit.source)?;
        }
        for fault in &self.faults {
            writeln!(f, "fault   {}", fault.text)?;
        }
        match self.faults.is_empty() {
            true if self.too_short => writeln!(f, "fault   too short to judge")?,
            true => writeln!(f, "fault   none found")?,
            false => {}
        }
        if let Some(fix) = &self.fix {
            let gain = Nanos(fix.gain_ns);
            let share = fix.gain_ns as f64 / self.wall_ns.max(1) as f64;
            let text = &fix.text;
            let remedy = fix.remedy;
            let percent = share * 100.0;
            let low = Nanos(fix.low_ns);
            let high = Nanos(fix.high_ns);
            writeln!(
                f,
                "next    {text}: {remedy}; {gain} ({low} to {high}) sooner, {percent:.0} %"
            )?;
        } else {
            writeln!(f, "next    none: {}", self.no_fix.unwrap_or_default())?;
        }
        self.write_clocks(f)?;
        for resent in self.resent.iter().filter(|resent| resent.share > SMALL) {
            let from = resent.at.node.as_deref();
            let to = resent.at.to.as_deref();
            let from = from.unwrap_or_default();
            let to = to.unwrap_or_default();
            writeln!(f, "loss    {:.1} % resent from {from} to {to}", resent.share * 100.0)?;
        }
        for disk in &self.disks {
            let node = disk.node.as_deref().unwrap_or_default();
            let busy = disk.busy * 100.0;
            let others = disk.others.filter(|others| *others > 0.0).map(|others| others * 100.0);
            let others = others.map_or_else(String::new, |others| {
                format!(", {others:.0} % of its bytes by other processes")
            });
            writeln!(f, "disk    of {node}: the device was busy {busy:.0} % of the time{others}")?;
        }
        self.undecided.iter().try_for_each(|open| writeln!(f, "open    {open}"))?;
        self.warnings.iter().try_for_each(|warning| writeln!(f, "note    {warning}"))
    }
}

impl ExplainResult {
    fn write_rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (large, small): (Vec<_>, Vec<_>) = self.rows.iter().partition(|row| row.share >= SMALL);
        let texts = large.iter().map(|row| row.text.chars().count());
        let width = texts.max().unwrap_or(0).max("where the time went".len());
        writeln!(f, "{:<width$} {:>12} {:>8}", "where the time went", "time", "share")?;
        let line = |f: &mut fmt::Formatter<'_>, text: &str, ns: u64, share: f64| {
            writeln!(f, "{text:<width$} {:>12} {:>6.1} %", Nanos(ns).to_string(), share * 100.0)
        };
        large.iter().try_for_each(|row| line(f, &row.text, row.ns, row.share))?;
        if !small.is_empty() {
            let text = format!("{} smaller rows", small.len());
            let ns = small.iter().map(|r| r.ns).sum();
            let share = small.iter().map(|r| r.share).sum();
            line(f, &text, ns, share)?;
        }
        line(f, "all of it", self.wall_ns, if self.wall_ns > 0 { 1.0 } else { 0.0 })?;
        writeln!(f)
    }

    fn write_path(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "critical path")?;
        for stretch in &self.path {
            let at = Nanos(u64::try_from(stretch.begin_ns).unwrap_or(0)).to_string();
            let long = Nanos(u64::try_from(stretch.ns).unwrap_or(0)).to_string();
            let share = match stretch.share {
                share if share > 0.995 => String::new(),
                share => format!(", {:.0} % of it", share * 100.0),
            };
            writeln!(f, "  at {at:>9} for {long:>9}  {}{share}", stretch.text)?;
        }
        writeln!(f)
    }

    fn write_clocks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.clocks.iter().filter_map(|clock| clock.error_ns);
        match known.max() {
            Some(error) => writeln!(f, "clocks  compared within {}", Nanos(error)),
            None => writeln!(f, "clocks  not compared"),
        }
    }
}
