//! Where the time of an operation goes, and what closes its gaps.

use std::fmt;

use garland_analysis::grade::Published;
use garland_core::units::bytes;

use super::job::PublishedCopy;
use super::table::{Row, Table};
use super::varied::Varied;

/// The milliseconds of an operation.
struct Budget {
    /// The whole copy's time, divided by the number of operations.
    whole: f64,
    /// The transfer of the bytes.
    bytes: f64,
    /// What neither the bytes nor the two pauses take.
    rest: f64,
}

impl Table {
    /// Returns the budget of the published copy, by its rates and the middle of its pauses.
    fn budget_then(&self, then: &PublishedCopy) -> Budget {
        let ms = |rate: &Published| self.common.sizes.operation as f64 * 8.0 / 1e6 / rate.middle();
        let whole = ms(&then.copy);
        let bytes = ms(&then.transfer);
        let pauses = then.between_ms.middle() + then.end_ms.middle();
        Budget { whole, bytes, rest: whole - bytes - pauses }
    }

    /// Returns the budget of the copy `paused`, by the copy `free`, which has neither operations
    /// nor pauses, and by the pauses that were injected.
    fn budget_now(&self, free: &Row, paused: &Row) -> Budget {
        let each = |seconds: f64| seconds * 1e3 / self.times(self.common.sizes.operation);
        let whole = each(paused.whole_s);
        let bytes = each(free.stream_s);
        let suspects = self.experiment.job.suspects.iter();
        let pauses: f64 = suspects.filter_map(|one| one.seconds().ok()).sum::<f64>() * 1e3;
        Budget { whole, bytes, rest: whole - bytes - pauses }
    }

    /// Writes both budgets, and how much of what nobody explained the lab has.
    pub(super) fn write_budget(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(then), Some(free), Some(paused)) =
            (self.experiment.published.first(), self.row(false, false), self.row(true, true))
        else {
            return Ok(());
        };
        let old = self.budget_then(then);
        let now = self.budget_now(free, paused);
        let start =
            (paused.whole_s - paused.stream_s) * 1e3 / self.times(self.common.sizes.operation);
        writeln!(
            f,
            "an operation: published {:.1} ms, of which its bytes {:.1}, the pauses {:.1}, and {:.1} that nobody \
             explained;\nemulated {:.1} ms, its bytes {:.1}, the pauses {:.1}, and {:.1}, {start:.1} of it the \
             start and end of the command: {:+.1} ms stay open",
            old.whole,
            old.bytes,
            old.whole - old.bytes - old.rest,
            old.rest,
            now.whole,
            now.bytes,
            now.whole - now.bytes - now.rest,
            now.rest,
            old.rest - now.rest
        )
    }

    /// Writes the varied copies with the gaps that they leave, and which were predicted to close
    /// most of them and did.
    pub(super) fn write_varied(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(free), Some(paused)) = (self.row(false, false), self.row(true, true)) else {
            return Ok(());
        };
        let varied = &self.common.varied;
        if varied.is_empty() {
            return Ok(());
        }
        let each = self.times(self.common.sizes.operation);
        // Without operations and pauses the start-up time is the same, so that the difference is
        // the gaps.
        let alone_s = self.row(true, false).map_or(free.predicted_s, |row| row.predicted_s);
        let told = |seconds: f64| (seconds - alone_s) * 1e3 / each;
        let seen = |seconds: f64| (seconds - free.whole_s) * 1e3 / each;
        let gaps = format!("ms of gaps per {}", bytes::format(self.common.sizes.operation));
        writeln!(f, "\n{:<75}{:>21} |{gaps:>23}", "with the suspects' pauses, varied", "Gbit/s")?;
        writeln!(
            f,
            "{:<75}{:>10}{:>11} |{:>10}{:>13}",
            "", "predicted", "emulated", "predicted", "emulated"
        )?;
        let mut line = |words: String, predicted_s: f64, whole_s: f64| {
            let predicted = self.gbit(predicted_s);
            let emulated = self.gbit(whole_s);
            let before = told(predicted_s);
            let after = seen(whole_s);
            writeln!(f, "{words:<75}{predicted:>10.2}{emulated:>11.2} |{before:>10.1}{after:>13.1}")
        };
        line("as published".to_owned(), paused.predicted_s, paused.whole_s)?;
        varied.iter().try_for_each(|row| line(row.to_string(), row.predicted_s, row.whole_s))?;
        let list = |is_closed: &dyn Fn(&Varied) -> bool| {
            let closed = varied.iter().filter(|row| is_closed(row)).map(ToString::to_string);
            let closed: Vec<String> = closed.collect();
            if closed.is_empty() { "none".to_owned() } else { closed.join("; ") }
        };
        let predicted = list(&|row| told(row.predicted_s) < told(paused.predicted_s) / 2.0);
        let emulated = list(&|row| seen(row.whole_s) < seen(paused.whole_s) / 2.0);
        writeln!(f, "predicted to close more than half of the gaps: {predicted}")?;
        let same = if predicted == emulated { "these".to_owned() } else { emulated };
        writeln!(f, "did: {same}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Stripes, ideal};
    use super::*;
    use crate::scenario_lab::Busy;

    /// A table with what was published, of which one variation came out as predicted and one did
    /// not.
    #[test]
    fn what_closes_the_gaps_is_predicted_and_then_seen() {
        let scenario = garland_topology::scenarios::text("pvfs2-cp-2007").unwrap();
        let experiment: Stripes = toml::from_str(scenario).unwrap();
        let mut table = ideal(&experiment, &experiment);
        let [closed_s, open_s] = [(false, false), (true, true)]
            .map(|(held, paused)| table.row(held, paused).unwrap().whole_s);
        let row = |overlap, whole_s| Varied {
            sizes: super::super::sizes::Sizes { overlap, ..table.common.sizes },
            grows: false,
            predicted_s: closed_s,
            whole_s,
            busy: Busy::default(),
            equal: true,
        };
        table.common.varied = vec![row(1, closed_s), row(3, closed_s)];
        let [one, three] =
            [1, 3].map(|more| format!("operations of 10.00 MiB, buffers of 1.00 MiB, {more} more"));
        let both = format!("predicted to close more than half of the gaps: {one}; {three}\n");
        assert!(table.to_string().contains(&format!("{both}did: these\n")), "{table}");
        table.common.varied[1].whole_s = open_s;
        assert!(table.to_string().contains(&format!("{both}did: {one}\n")), "{table}");
        // 83.9 ms are 46.6 of bytes, 28.5 of pauses and the rest, which the ideal copy has.
        assert!(table.to_string().contains("and 8.8 that nobody explained"), "{table}");
        assert!(table.to_string().contains("+0.0 ms stay open"), "{table}");
        table.common.varied[1].equal = false;
        assert_eq!(table.broken(), Some(format!("{three}: the file differs from its source")));
    }
}
