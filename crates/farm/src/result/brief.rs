//! The summary of a farm's result in a few lines: how many jobs are done, which failed and why, and
//! what the cluster was worth. All figures are in `table`.

use std::fmt::{self, Display, Formatter};

use garland_analysis::farm::{Loss, Losses};
use garland_core::printable;
use garland_terminal::verdicts::folded;

use super::summary::{Failed, Summary};
use super::table::{FarmTitle, in_words};
use super::value::FarmResult;
use super::words::took;

/// The most reasons of failed jobs that have a line of their own.
const MAX_REASONS: usize = 3;

/// The most failed jobs that are named in a line.
const MAX_NAMED_JOBS: usize = 5;

/// The least share of a run in which processors worked, from which its power is told.
const MIN_WORK: f64 = 0.1;

/// A result whose [`Display`] is the short summary.
#[derive(Clone, Copy, Debug)]
pub struct Brief<'a> {
    /// The result.
    pub result: &'a FarmResult,
    /// Whether the last lines of failed jobs are shown: nothing else shows what they said.
    pub has_last_words: bool,
}

impl Display for Brief<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let FarmResult { nodes, summary, .. } = self.result;
        writeln!(f, "{}", FarmTitle(self.result))?;
        self.failures(f)?;
        let bad = nodes.iter().filter(|node| !node.end.is_ok());
        f.write_str(&folded(bad.map(|node| node.end.of(&node.name))))?;
        if summary.jobs.retries > 0 {
            writeln!(f, "again   {} tries failed and were repeated", summary.jobs.retries)?;
        }
        worth(f, summary)?;
        let run = self.result.run();
        if summary.jobs.open > 0 {
            writeln!(f, "to continue: garland farm run --resume {run}")?;
        }
        writeln!(f, "run     {run}")?;
        writeln!(f, "more    garland farm run --resume {run} --analysis")
    }
}

impl Brief<'_> {
    fn failures(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let jobs = &self.result.summary.jobs;
        let reasons = by_reason(&jobs.failures);
        // A line that says "1 more" could as well say which.
        let lines = if reasons.len() == MAX_REASONS + 1 { reasons.len() } else { MAX_REASONS };
        for same in reasons.iter().take(lines) {
            writeln!(f, "failed  {same}")?;
            let words = same.jobs.iter().take(1).flat_map(|job| &job.last_words);
            for line in words.filter(|_| self.has_last_words) {
                writeln!(f, "          {line}")?;
            }
        }
        let shown: usize = reasons.iter().take(lines).map(|same| same.jobs.len()).sum();
        match jobs.failures.len().saturating_sub(shown) {
            0 => {}
            1 => writeln!(f, "failed  1 more job, for another reason")?,
            more => writeln!(f, "failed  {more} more jobs, for other reasons")?,
        }
        match jobs.failed.saturating_sub(jobs.failures.len()) {
            0 => Ok(()),
            more => writeln!(f, "failed  {more} more, which only the run's records.jsonl names"),
        }
    }
}

/// Jobs that failed for one reason.
struct SameReason<'a> {
    reason: &'a str,
    jobs: Vec<&'a Failed>,
}

fn by_reason(failures: &[Failed]) -> Vec<SameReason<'_>> {
    let mut reasons: Vec<SameReason<'_>> = Vec::new();
    for job in failures {
        match reasons.iter_mut().find(|same| same.reason == job.reason) {
            Some(same) => same.jobs.push(job),
            None => reasons.push(SameReason { reason: &job.reason, jobs: vec![job] }),
        }
    }
    // The most frequent reason first; of equally frequent ones that of the earlier job.
    reasons.sort_by_key(|same| std::cmp::Reverse(same.jobs.len()));
    reasons
}

impl Display for SameReason<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let named = |job: &&Failed| {
            let node = job.node.as_deref().unwrap_or("no node");
            format!("{} ({}) on {node}", job.job, job.name)
        };
        let names: Vec<String> = self.jobs.iter().take(MAX_NAMED_JOBS).map(named).collect();
        let word = if self.jobs.len() == 1 { "job" } else { "jobs" };
        write!(f, "{word} {}", names.join(", "))?;
        match self.jobs.len().saturating_sub(MAX_NAMED_JOBS) {
            0 => {}
            more => write!(f, " and {more} more")?,
        }
        // A reason must stay on its line, whatever a node sends.
        write!(f, ": {}", printable::line(self.reason))
    }
}

/// Writes what the cluster was worth, and what took most of the rest. Power says nothing of jobs
/// that hardly used a processor, unless the time of one machine was measured.
fn worth(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    let is_measured = summary.one.as_ref().is_some_and(|one| one.run.is_some());
    let has_work = |losses: &Losses| losses.work >= MIN_WORK * losses.whole;
    let is_told = is_measured || summary.losses.as_ref().is_some_and(has_work);
    let Some(standing) = summary.standing.as_ref().filter(|_| is_told) else { return Ok(()) };
    let percent = standing.efficiency * 100.0;
    write!(
        f,
        "power   {:.2} times one node, {percent:.0} % of all nodes together",
        standing.speed_up
    )?;
    let losses = summary.losses.as_ref();
    let of = |cause: Loss| losses.map_or(0.0, |losses| losses.of(cause));
    let most = Loss::ALL.into_iter().max_by(|one, other| of(*one).total_cmp(&of(*other)));
    match most.filter(|cause| of(*cause) > 0.0) {
        Some(cause) => writeln!(f, "; lost most: {}, {}", in_words(cause), took(of(cause))),
        None => writeln!(f),
    }
}
