//! `garland report`: writes runs as one self-contained HTML file.

mod collect;
mod prediction;
mod sources;
mod wiring;

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use garland_core::printable;
use garland_core::units::bytes;
use garland_fleet::context::Context;
use garland_report::page::page;
use garland_results::head::{Head, Phases, show};
use garland_state::places::Places;
use garland_terminal::browser;
use garland_terminal::failure::{Exit, Failure};
use serde::Serialize;

use super::trace::Target;
use crate::args::Report;

/// The result object `garland.report/2`.
#[derive(Serialize)]
struct ReportResult {
    #[serde(flatten)]
    head: Head,
    file: PathBuf,
    bytes: u64,
    runs: Vec<RunResult>,
    /// Whether the report has a forecast.
    forecast: bool,
    warnings: Vec<String>,
}

/// Which parts of a run are in the report.
#[derive(Serialize)]
struct RunResult {
    name: String,
    timeline: bool,
    explained: bool,
}

/// Writes a report of the runs that `asked` names.
pub fn run(context: &Context, asked: &Report) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let written =
        write(&places, &asked.runs, &asked.output, asked.forecast.as_deref(), &mut phases)?;
    let head = Head::new("garland.report/2", None, phases);
    let result = ReportResult { head, ..written };
    show(context.json, &result)?;
    if asked.open {
        // The report is written, and its place was printed.
        if let Err(failure) = browser::open(&asked.output) {
            garland_terminal::errln!("{}", failure.message());
        }
    }
    Ok(Exit::Done)
}

/// Writes a report of these runs to a file; returns a summary as text.
pub fn of_runs(runs: &[String], file: &Path) -> Result<String, Failure> {
    Ok(write(&Places::open()?, runs, file, None, &mut Phases::begin())?.to_string())
}

fn write(
    places: &Places,
    runs: &[String],
    file: &Path,
    forecast: Option<&Path>,
    phases: &mut Phases,
) -> Result<ReportResult, Failure> {
    let sheets =
        runs.iter().map(|asked| collect::sheet(places, asked)).collect::<Result<Vec<_>, _>>()?;
    let mut warnings: Vec<String> = Vec::new();
    let forecast = match forecast {
        Some(file) => Some(prediction::read(file)?),
        None => prediction::of(places, &sheets, &mut warnings),
    };
    phases.end("read");
    let mut target = Target::open(Some(file))?;
    if let Err(error) = page(&mut target, &sheets, forecast.as_ref()).and_then(|()| target.flush())
    {
        return Err(target.failure(&error));
    }
    let bytes = target.finish()?;
    phases.end("write");
    warnings.extend(
        sheets
            .iter()
            .flat_map(|sheet| sheet.notes.iter().map(|note| format!("{}: {note}", sheet.name))),
    );
    let runs = sheets.iter().map(|sheet| RunResult {
        name: sheet.name.clone(),
        timeline: sheet.timeline.is_some(),
        explained: sheet.explained.is_some(),
    });
    let runs = runs.collect();
    let head = Head::new("garland.report/2", None, Phases::begin());
    let file = file.to_owned();
    let forecast = forecast.is_some();
    Ok(ReportResult { head, file, bytes, runs, forecast, warnings })
}

impl fmt::Display for ReportResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = printable::path(&self.file);
        let size = bytes::format(self.bytes);
        let names: Vec<&str> = self.runs.iter().map(|run| run.name.as_str()).collect();
        let timelines = self.runs.iter().filter(|run| run.timeline).count();
        let with = if self.forecast { "; with a forecast" } else { "" };
        writeln!(
            f,
            "{file}: {size}; runs: {}; {timelines} with a timeline{with}",
            names.join(", ")
        )?;
        self.warnings.iter().try_for_each(|warning| writeln!(f, "note    {warning}"))
    }
}
