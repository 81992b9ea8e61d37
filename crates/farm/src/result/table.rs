//! The tables of a farm's result.

use std::fmt::{self, Formatter};

use garland_analysis::farm::{Loss, Losses, Spread, bar};
use garland_core::farm::{Move, Record};
use garland_core::printable;
use garland_core::units::bytes;
use garland_terminal::verdicts::folded;

use super::summary::{Failed, Summary};
use super::value::{FarmResult, NodeResult};
use super::words::{percent, power, took};

/// If a run has more jobs than this, the table shows only the slowest ones.
const MAX_LISTED_JOBS: usize = 48;

/// The number of jobs that are shown in a table of only the slowest ones.
const SLOWEST_JOBS: usize = 5;

/// The maximum number of failed jobs that are listed.
const FAILED: usize = 20;

/// The maximum number of characters of a failed job's last line in the table of jobs.
const LINE: usize = 60;

/// The width of the column of jobs' names.
const NAME: usize = 18;

impl fmt::Display for FarmResult {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Summary { jobs, spread, losses, .. } = &self.summary;
        writeln!(f, "{}\n", FarmTitle(self))?;
        self.jobs(f)?;
        self.moves(f)?;
        if let Some(spread) = spread {
            self.spread(f, spread)?;
        }
        self.standing(f)?;
        if let Some(losses) = losses.as_ref().filter(|losses| losses.whole > 0.0) {
            show_losses(f, losses)?;
        }
        self.nodes(f)?;
        self.failed(f)?;
        if let Some(sentence) = &self.sentence {
            writeln!(f, "\n{sentence}")?;
        }
        if jobs.open > 0 {
            writeln!(f, "to continue: garland farm run --resume {}", self.run())?;
        }
        writeln!(f, "run     {}", self.run())
    }
}

/// The first line of a summary: the jobs that are done, their time, and how they were run.
pub struct FarmTitle<'a>(pub &'a FarmResult);

impl fmt::Display for FarmTitle<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Summary { jobs, total, .. } = &self.0.summary;
        let all = self.0.nodes.len();
        let takes_part = |node: &&NodeResult| node.done > 0 || node.end.is_ok();
        let nodes = match self.0.nodes.iter().filter(takes_part).count() {
            part if part < all => format!("{part} of {all} nodes"),
            1 => "1 node".to_owned(),
            nodes => format!("{nodes} nodes"),
        };
        write!(
            f,
            "{} of {} jobs done on {nodes} in {}: {}",
            jobs.done,
            jobs.all,
            took(*total),
            how(&self.0.summary)
        )
    }
}

/// Describes how jobs were run, such as `agents, pull, files through the mount, all at once`.
pub fn how(summary: &Summary) -> String {
    let data = match summary.data.as_str() {
        "mount" => "files through the mount",
        "stage" => "files staged",
        _ => "files where they are",
    };
    let engine = summary.engine.to_string();
    let mut words = vec![engine.as_str()];
    words.extend(summary.placement.as_deref());
    words.push(data);
    words.extend(summary.all_at_once.then_some("all at once"));
    words.join(", ")
}

impl FarmResult {
    fn jobs(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut records: Vec<&Record> = self.records.iter().collect();
        if records.is_empty() {
            return Ok(());
        }
        if records.len() > MAX_LISTED_JOBS {
            let ran = |record: &&Record| record.ran().unwrap_or(0.0);
            records.sort_by(|one, two| ran(two).total_cmp(&ran(one)));
            records.truncate(SLOWEST_JOBS);
            writeln!(
                f,
                "the slowest of {} jobs; all are in the run's records.jsonl",
                self.records.len()
            )?;
        }
        writeln!(
            f,
            "{:>6} {:<NAME$} {:<12}{:>9}{:>10}{:>10}{:>6}  ended",
            "job", "", "node", "start", "took", "CPU", "tries"
        )?;
        records.into_iter().try_for_each(|record| show_job(f, record))?;
        writeln!(f)
    }

    fn moves(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let records = self.records.iter();
        let moves = records.flat_map(|record| record.moves.iter().map(move |one| (record, one)));
        let moves: Vec<(&Record, &Move)> = moves.collect();
        for (record, Move { from, to, at, kind, cpu, .. }) in moves.iter().take(MAX_LISTED_JOBS) {
            let to = to.as_deref().unwrap_or("no node");
            let kind = kind.to_string();
            let at = took(*at);
            let cpu = took(*cpu);
            let job = record.job;
            writeln!(f, "{kind:<9} job {job}, from {from} to {to} at {at}, after {cpu} of CPU")?;
        }
        match moves.len() {
            0 => Ok(()),
            many if many > MAX_LISTED_JOBS => {
                writeln!(
                    f,
                    "{} more moves are in the run's records.jsonl\n",
                    many - MAX_LISTED_JOBS
                )
            }
            _ => writeln!(f),
        }
    }

    fn spread(&self, f: &mut Formatter<'_>, spread: &Spread) -> fmt::Result {
        let whose = |number: usize| {
            let found = self.records.iter().find(|record| record.job as usize == number);
            found.map(|record| {
                let node = record.node.as_deref().unwrap_or("-");
                format!("job {number} on {node}")
            })
        };
        let line = |f: &mut Formatter<'_>, what, seconds, more: Option<String>| {
            writeln!(f, "{what:<10}{:>10}  {}", took(seconds), more.unwrap_or_default())
        };
        line(f, "slowest", spread.slowest, whose(spread.slowest_at))?;
        line(f, "fastest", spread.fastest, whose(spread.fastest_at))?;
        let share = format!("{:.1} % of the slowest", spread.share * 100.0);
        line(f, "DIFF", spread.difference, Some(share))?;
        if let Some(slowdown) = self.summary.slowdown {
            writeln!(
                f,
                "{:<10}{slowdown:>10.2}  times the job's own time from queue to end, on average",
                "slowdown"
            )?;
        }
        writeln!(f)
    }

    fn standing(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Summary { one, standing, unit, total, .. } = &self.summary;
        let (Some(one), Some(standing)) = (one, standing) else { return Ok(()) };
        let from = match &one.run {
            Some(run) => format!("as measured in {run}"),
            None => "estimated from the jobs' CPU time".to_owned(),
        };
        writeln!(f, "one PC    {:>10}  {} {unit}, {from}", took(one.seconds), power(one.power))?;
        writeln!(
            f,
            "cluster   {:>10}  speed-up {:.2}, efficiency {}",
            took(*total),
            standing.speed_up,
            percent(standing.efficiency)
        )?;
        writeln!(f, "  {:>8}  {}", "100.00 %", bar(1.0))?;
        writeln!(f, "  {:>8}  {}\n", percent(standing.of_one), bar(standing.of_one))?;
        writeln!(
            f,
            "equivalent power {} {unit}; all nodes together {}: {:+.2} %\n",
            power(standing.equivalent),
            power(standing.theory),
            standing.difference * 100.0
        )
    }

    fn nodes(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let unit = &self.summary.unit;
        writeln!(f, "{:<14}{:>7}{:>7}{:>10}  traffic", "node", unit, "jobs", "CPU")?;
        for node in &self.nodes {
            let NodeResult { name, done, cpu, .. } = node;
            write!(f, "{name:<14}{:>7}{done:>7}{:>10}", power(node.power), took(*cpu))?;
            for nic in &node.nics {
                let [sent, received] = [nic.sent, nic.received].map(bytes::format);
                write!(f, "  {} {sent} out, {received} in", nic.nic)?;
            }
            writeln!(f)?;
        }
        let bad = self.nodes.iter().filter(|node| !node.end.is_ok());
        f.write_str(&folded(bad.map(|node| node.end.of(&node.name))))
    }

    fn failed(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let failed = &self.summary.jobs.failures;
        if self.summary.jobs.retries > 0 {
            writeln!(f, "\n{} tries failed and were repeated", self.summary.jobs.retries)?;
        }
        for one in failed.iter().take(FAILED) {
            let node = one.node.as_deref().unwrap_or("no node");
            let tries = if one.tries == 1 { "try" } else { "tries" };
            let Failed { job, name, reason, tries: count, .. } = one;
            // A reason must stay on its line, whatever a node sends.
            let reason = printable::line(reason);
            writeln!(f, "failed  job {job} ({name}) on {node}: {reason} ({count} {tries})")?;
            one.last_words.iter().try_for_each(|line| writeln!(f, "          {line}"))?;
        }
        if failed.len() > FAILED {
            writeln!(
                f,
                "failed  {} more jobs: see records.jsonl in the run's directory",
                failed.len() - FAILED
            )?;
        }
        Ok(())
    }
}

fn show_job(f: &mut Formatter<'_>, record: &Record) -> fmt::Result {
    let dash = || "-".to_owned();
    let time = |seconds: Option<f64>| seconds.map_or_else(dash, took);
    let name = record.name.to_string();
    let name = if name.chars().count() > NAME {
        // Keep the end: the end of a path distinguishes it better than its beginning.
        let skipped = name.chars().count() - NAME + 1;
        format!("…{}", name.chars().skip(skipped).collect::<String>())
    } else {
        name
    };
    let ended = match record.outcome.is_done() {
        true => "ok".to_owned(),
        false => match record.last_words.first() {
            Some(line) => format!("{}: {}", record.outcome, beginning(&line.to_string())),
            None => printable::line(&record.outcome.to_string()),
        },
    };
    writeln!(
        f,
        "{:>6} {name:<NAME$} {:<12}{:>9}{:>10}{:>10}{:>6}  {ended}",
        record.job,
        record.node.as_deref().unwrap_or("-"),
        time(record.started),
        time(record.ran()),
        time(record.worked()),
        record.tries
    )
}

/// Returns the beginning of a line for the table of jobs; the list of failed jobs shows the whole
/// line.
fn beginning(line: &str) -> String {
    match line.char_indices().nth(LINE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Writes the table of the run's time by cause: why the run took longer than the theoretical best.
pub fn show_losses(f: &mut Formatter<'_>, losses: &Losses) -> fmt::Result {
    let mut line = |what: &str, seconds: f64| {
        writeln!(f, "  {what:<46}{:>10}{:>10}", took(seconds), percent(seconds / losses.whole))
    };
    line("work, on all nodes together", losses.work)?;
    for cause in Loss::ALL {
        line(in_words(cause), losses.of(cause))?;
    }
    line("the run", losses.whole)?;
    if !losses.counted {
        writeln!(f, "  the CPU time of some jobs is unknown: their waiting time counts as work")?;
    }
    writeln!(f)
}

/// Returns the text for a cause of lost time in the table.
pub fn in_words(cause: Loss) -> &'static str {
    match cause {
        Loss::IntegerRounds => "integer rounds: the last one is not full",
        Loss::Network => "network, and the source of files",
        Loss::Disk => "disks, and other waits of jobs",
        Loss::Engine => "the engine: start, between jobs, end",
        Loss::Stragglers => "stragglers: the last jobs",
    }
}
