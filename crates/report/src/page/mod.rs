//! A page that tells of runs: one HTML file that needs no network, with an embedded chart library
//! (uPlot, MIT) and scripts of its own. What a browser without scripts shows is the summary in words.
//!
//! Results come in as the JSON that commands keep, so that those of other versions still show what
//! they have; timelines come from traces, thinned out to what a screen can show.

mod figures;
mod html;
mod picture;
mod rates;
mod slices;
mod summary;
mod timeline;

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

pub use picture::{Joint, Picture};
pub use rates::Nics;
pub use timeline::{Bar, Timeline};

/// A run for the page.
#[derive(Clone, Debug, Serialize)]
pub struct Sheet {
    /// Its name.
    pub name: String,
    /// Its result, as it was kept.
    pub result: Value,
    /// What the ledger says of it, if it was a copy with traces.
    pub explained: Option<Value>,
    /// When which node did what.
    pub timeline: Option<Timeline>,
    /// What joined its nodes, or those of each of its parts.
    pub pictures: Vec<Picture>,
    /// What is wrong with what was kept, in words.
    pub notes: Vec<String>,
}

/// Writes a page of these runs, and of a forecast if there is one (`garland.forecast/1`).
///
/// # Errors
/// When `output` can't be written.
pub fn page(output: &mut dyn Write, sheets: &[Sheet], forecast: Option<&Value>) -> io::Result<()> {
    html::write(output, sheets, forecast)
}

#[cfg(test)]
mod tests;
