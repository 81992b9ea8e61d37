//! The answer of a farm in three tiles: its time, what cost most, and the jobs that need attention.

use garland_core::units::Nanos;
use serde_json::Value;

use super::tile::{MAX_REASONS, percent, tile};
use crate::page::escape::escaped;
use crate::page::timeline::nanos;

/// The largest number of jobs that are named in one line of a tile; the result has all.
const MAX_JOBS_NAMED: usize = 6;

/// Returns the tiles of a farm's result (`garland.farm/2`).
pub(super) fn of(result: &Value) -> impl Iterator<Item = String> {
    [time(result), cost(result), attention(result)].into_iter().flatten()
}

/// Returns the tile of the time, with the time of one PC if that is known.
fn time(result: &Value) -> Option<String> {
    let total = result["total"].as_f64()?;
    let one = result["one"]["seconds"].as_f64();
    let ratio = result["standing"]["of_one"].as_f64();
    let line = one.zip(ratio).map(|(one, ratio)| {
        format!("One PC needs {}: this took {} of that.", Nanos(nanos(one)), percent(ratio))
    });
    Some(tile("Time", "", &Nanos(nanos(total)).to_string(), line.as_slice()))
}

/// Returns the tile of what cost most of the time, beside work.
fn cost(result: &Value) -> Option<String> {
    let whole = result["losses"]["whole"].as_f64().filter(|whole| *whole > 0.0)?;
    let causes = result["losses"]["causes"].as_array()?.iter();
    let known = causes.filter_map(|cause| Some((cause[0].as_str()?, cause[1].as_f64()?)));
    let (name, most) = known.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let work = result["losses"]["work"].as_f64().unwrap_or(0.0);
    let lines = [
        format!("{}, {} of the time.", Nanos(nanos(most)), percent(most / whole)),
        format!("Work took {}.", percent(work / whole)),
    ];
    Some(tile("Cost most beside work", "", &name.replace('-', " "), &lines))
}

/// Returns the tile of jobs that failed, and of those that did not run; jobs that failed for the
/// same reason are one line.
fn attention(result: &Value) -> Option<String> {
    const TITLE: &str = "Jobs that need attention";
    let jobs = result["jobs"].as_u64()?;
    let open = result["open"].as_u64().unwrap_or(0);
    let failed = result["failed"].as_u64().unwrap_or(0);
    if failed + open == 0 {
        return Some(tile(TITLE, " good", "none", &[format!("{jobs} of {jobs} are done.")]));
    }
    let mut reasons: Vec<Failures> = Vec::new();
    for failure in result["failures"].as_array().into_iter().flatten() {
        let reason = failure["reason"].as_str().unwrap_or("failed");
        let job = format!("{} ({})", failure["job"], failure["name"].as_str().unwrap_or("?"));
        match reasons.iter_mut().find(|known| known.reason == reason) {
            Some(known) => known.jobs.push(job),
            None => reasons.push(Failures { reason, jobs: vec![job] }),
        }
    }
    let mut lines: Vec<String> = reasons.iter().take(MAX_REASONS).map(Failures::line).collect();
    if open > 0 {
        lines.push(format!("{open} did not run."));
    }
    let listed = result["failures"].as_array().map_or(0, |failures| failures.len() as u64);
    if reasons.len() > MAX_REASONS || failed > listed {
        lines.push("The others are in the run's records.".to_owned());
    }
    Some(tile(TITLE, " bad", &format!("{} of {jobs}", failed + open), &lines))
}

/// Jobs that failed for one reason.
struct Failures<'a> {
    reason: &'a str,
    /// Each job's number and name.
    jobs: Vec<String>,
}

impl Failures<'_> {
    fn line(&self) -> String {
        let jobs = if self.jobs.len() == 1 { "job" } else { "jobs" };
        let few = self.jobs[..self.jobs.len().min(MAX_JOBS_NAMED)].join(", ");
        let more = match self.jobs.len().saturating_sub(MAX_JOBS_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("<b>{jobs} {}{more}</b> {}", escaped(&few), escaped(self.reason))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn jobs_that_failed_for_one_reason_are_a_line_and_those_that_did_not_run_are_told() {
        let failure = |job: u32, reason: &str| json!({ "job": job, "name": format!("<{job}>"), "reason": reason });
        let failures: Vec<Value> = (1..=8).map(|job| failure(job, "exit code 1")).collect();
        let result = json!({ "schema": "garland.farm/2", "jobs": 12, "failed": 8, "open": 2, "total": 4.0,
            "failures": failures, "losses": { "whole": 4.0, "work": 1.0, "causes": [["disk", 0.5], ["integer-rounds", 2.5]] } });
        let tiles = of(&result).collect::<String>();
        for told in [
            "10 of 12",
            "jobs 1 (&lt;1&gt;), 2 (&lt;2&gt;)",
            "6 (&lt;6&gt;) and 2 more</b> exit code 1",
            "2 did not run.",
            ">integer rounds<",
            "2.50 s, 62 %",
        ] {
            assert!(tiles.contains(told), "no {told}: {tiles}");
        }
        let done =
            json!({ "schema": "garland.farm/2", "jobs": 3, "failed": 0, "open": 0, "total": 1.0 });
        assert!(of(&done).collect::<String>().contains("3 of 3 are done."));
    }
}
