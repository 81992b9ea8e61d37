//! A benchmark's outcomes as Markdown and as JSON.

use std::fmt::{self, Write as _};
use std::path::Path;

use anyhow::{Result, bail};
use serde::Serialize;

use super::super::kept::Head;
use super::super::result::Tool;
use super::super::spread::Spread;
use super::{Entry, Outcome};

/// The names of a benchmark.
#[derive(Clone, Copy)]
pub(crate) struct Heading {
    /// The schema of the JSON file.
    pub(crate) schema: &'static str,
    /// The name of the benchmark in `cargo xtask bench NAME`.
    pub(crate) name: &'static str,
    /// The report's title.
    pub(crate) title: &'static str,
}

/// A benchmark's report.
#[derive(Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    head: Head,
    #[serde(skip)]
    title: &'static str,
    /// Notes on where and how it ran.
    notes: Vec<String>,
    rounds: usize,
    tools: Vec<Tool>,
    outcomes: Vec<Outcome>,
}

impl Report {
    /// Returns the report of a benchmark that has just ended; `args` are the arguments after its
    /// name.
    pub(crate) fn new(
        bench: Heading,
        args: &[String],
        notes: Vec<String>,
        tools: Vec<Tool>,
        outcomes: Vec<Outcome>,
    ) -> Self {
        let turns = |outcome: &Outcome| outcome.entries.first().map(|entry| entry.turns.len());
        Self {
            head: Head::new(bench.schema, bench.name, args),
            title: bench.title,
            notes,
            rounds: outcomes.iter().find_map(turns).unwrap_or(0),
            tools,
            outcomes,
        }
    }

    /// Prints the report, and writes it to files if `write`.
    ///
    /// # Errors
    /// If a file cannot be written; after that, if a tool failed or a goal was missed.
    pub(crate) fn finish(&self, root: &Path, write: bool) -> Result<()> {
        self.head.keep(root, self, self.to_string(), write)?;
        let entries = self.outcomes.iter().flat_map(|outcome| &outcome.entries);
        let failed = entries.filter(|entry| entry.failed.is_some()).count();
        let missed = self.outcomes.iter().filter(|outcome| !outcome.is_reached());
        let missed: Vec<&str> = missed.map(|outcome| outcome.title).collect();
        match (failed, &missed[..]) {
            (0, []) => Ok(()),
            (0, _) => bail!("goals missed: {}", missed.join("; ")),
            _ => bail!("{failed} tools failed; goals missed: {}", missed.join("; ")),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}: {}\n\n{}", self.title, self.head.date, self.head)?;
        self.notes.iter().try_for_each(|note| writeln!(f, "- {note}"))?;
        writeln!(
            f,
            "- figures: median (minimum - maximum) of {} rounds; in each round every tool has one \
             turn; ratios: median (minimum - maximum) of the quotients of figures of the same \
             round, of a statistic that both tools print",
            self.rounds
        )?;
        self.outcomes.iter().try_for_each(|outcome| outcome.section(f))?;
        writeln!(f)?;
        for tool in &self.tools {
            writeln!(f, "- **{}** ({}): {}", tool.name, tool.version, tool.about)?;
        }
        Ok(())
    }
}

impl Outcome {
    fn section(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n## {}\n", self.title)?;
        let shown = self.decisive().map(|value| format!(" ({value:.2})")).unwrap_or_default();
        let reached = if self.is_reached() { "reached" } else { "missed" };
        writeln!(f, "Goal: {}: **{reached}**{shown}.\n", self.goal)?;
        writeln!(
            f,
            "| tool | {} | statistic | garland's divided by this | further results |",
            self.unit
        )?;
        writeln!(f, "|---|--:|---|--:|---|")?;
        self.entries.iter().try_for_each(|entry| f.write_str(&self.line(entry)))
    }

    fn line(&self, entry: &Entry) -> String {
        let (of, spread) = entry
            .spread()
            .map_or_else(Default::default, |(of, spread)| (of.name(), shown(spread, 3)));
        let is_own = self.own().is_some_and(|own| std::ptr::eq(own, entry));
        let ratio = self.own().and_then(|own| own.ratio(entry)).filter(|_| !is_own);
        let ratio = ratio.map(|(of, ratio)| format!("{}, {}", shown(ratio, 2), of.name()));
        let ratio = ratio.unwrap_or_default();
        let failed = entry.failed.as_ref().map(|why| format!("failed: {}", why.replace('|', "/")));
        let beside = failed.as_deref().or(entry.beside()).unwrap_or_default().replace('\n', " ");
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {} | {spread} | {of} | {ratio} | {beside} |", entry.tool);
        text
    }
}

/// Formats a spread as `1.234 (1.200 - 1.300)`: median, minimum, maximum. Numbers of four digits
/// and more get no decimals.
fn shown(Spread { median, min, max }: Spread, digits: usize) -> String {
    let digits = if median >= 1000.0 { 0 } else { digits };
    format!("{median:.digits$} ({min:.digits$} - {max:.digits$})")
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, Goal};
    use super::*;

    #[test]
    fn a_table_has_a_line_a_tool_and_says_whether_the_goal_is_reached() {
        let entry = |tool, mean: f64, failed: Option<&str>| Entry {
            tool,
            turns: vec![Some(Figure::from_mean(mean)), None],
            failed: failed.map(str::to_owned),
        };
        let outcome = Outcome {
            title: "something",
            unit: "µs",
            goal: Goal::AtMost(1.0),
            entries: vec![entry("garland", 3.0, None), entry("other", 4.0, Some("broke|down"))],
        };
        let bench = Heading { schema: "s/1", name: "x", title: "Title" };
        let report = Report::new(bench, &[], vec![], vec![], vec![outcome]);
        let text = report.to_string();
        assert!(text.contains("**reached** (0.75)"), "{text}");
        assert!(text.contains("| garland | 3.000 (3.000 - 3.000) | mean |  |  |"), "{text}");
        assert!(text.contains("| 0.75 (0.75 - 0.75), mean | failed: broke/down |"), "{text}");
        let error = report.finish(Path::new("/"), false).unwrap_err();
        assert!(error.to_string().starts_with("1 tools failed"), "{error}");
    }
}
