//! The forecast of a report: one from a file, or one made from its runs.

use std::fs;
use std::path::Path;

use garland_core::printable;
use garland_report::page::Sheet;
use garland_state::places::Places;
use garland_terminal::failure::{Failure, OrFailure};
use serde_json::Value;

use super::super::forecast;

/// Reads a result of `garland forecast --json`.
pub fn read(file: &Path) -> Result<Value, Failure> {
    let text = fs::read(file).or_nothing(format!("cannot read {}", printable::path(file)))?;
    let forecast: Option<Value> = serde_json::from_slice(&text).ok();
    forecast.filter(|forecast| forecast["schema"] == "garland.forecast/2").ok_or_else(|| {
        Failure::usage(format!("{} is not a forecast", printable::path(file)))
            .hint("make one by: garland forecast --json ... > FILE")
    })
}

/// Makes a forecast from runs of the same work on different node counts. If the runs are of several
/// works, the work with the most runs is used. Returns `None` if no work has two runs. Problems are
/// added to `warnings`.
pub fn of(places: &Places, sheets: &[Sheet], warnings: &mut Vec<String>) -> Option<Value> {
    let mut works: Vec<(Work<'_>, Vec<String>)> = Vec::new();
    for sheet in sheets {
        let Some(done) = work(&sheet.result) else { continue };
        match works.iter_mut().find(|(known, _)| *known == done) {
            Some((_, names)) => names.push(sheet.name.clone()),
            None => works.push((done, vec![sheet.name.clone()])),
        }
    }
    let (_, names) = works.into_iter().max_by_key(|(_, names)| names.len())?;
    if names.len() < 2 {
        return None;
    }
    match forecast::of_runs(places, &names) {
        Ok(forecast) => serde_json::to_value(forecast).ok(),
        Err(failure) => {
            warnings.push(format!("no forecast: {}", failure.message()));
            None
        }
    }
}

/// What runs of the same work have in common: the kind, and the number of bytes or jobs.
type Work<'a> = (&'a str, u64);

fn work(result: &Value) -> Option<Work<'_>> {
    match result["schema"].as_str()? {
        kind @ "garland.cp/2" => Some((kind, result["bytes"].as_u64()?)),
        kind @ "garland.farm/2" => Some((kind, result["jobs"].as_u64()?)),
        _ => None,
    }
}
