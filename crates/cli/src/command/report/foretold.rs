//! The forecast of a report: one that was kept, or what its runs allow.

use std::fs;
use std::path::Path;

use garland_report::page::Sheet;
use serde_json::Value;

use super::super::forecast;
use crate::failure::{Failure, OrFailure};
use crate::places::Places;

/// Reads what `garland forecast --json` has told.
pub fn read(file: &Path) -> Result<Value, Failure> {
    let text = fs::read(file).or_nothing(format!("reading {}", file.display()))?;
    let told: Option<Value> = serde_json::from_slice(&text).ok();
    told.filter(|told| told["schema"] == "garland.forecast/1").ok_or_else(|| {
        Failure::usage(format!("{} is no forecast", file.display()))
            .hint("garland forecast --json ... > FILE makes one")
    })
}

/// Of runs of one work on different node counts a forecast; if they don't carry one, why.
pub fn of(places: &Places, sheets: &[Sheet], warnings: &mut Vec<String>) -> Option<Value> {
    const KNOWN: [&str; 2] = ["garland.cp/1", "garland.farm/1"];
    let schema = sheets.first()?.result["schema"].as_str()?;
    let same = sheets.iter().all(|sheet| sheet.result["schema"] == schema);
    if sheets.len() < 2 || !same || !KNOWN.contains(&schema) {
        return None;
    }
    let names: Vec<String> = sheets.iter().map(|sheet| sheet.name.clone()).collect();
    match forecast::of_runs(places, &names) {
        Ok(told) => serde_json::to_value(told).ok(),
        Err(failure) => {
            warnings.push(format!("no forecast: {}", failure.message()));
            None
        }
    }
}
