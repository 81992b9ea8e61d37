//! `garland scenario`: lists and runs the experiments that Garland reproduces.

use std::path::Path;

use garland_analysis::grade::RUNS;
use garland_fleet::context::Context;
use garland_results::head::{Head, Phases, print_json, tell};
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;
use serde::Serialize;

use crate::args::ScenarioCommand;
use crate::{Scenario, ScenarioResult, Stage};

/// Writes a report of runs to a file. Returns a summary as text.
pub type WriteReport = fn(&[String], &Path) -> Result<String, Failure>;

/// Runs `garland scenario`: lists scenarios, or runs them. Reports of them are written by
/// `write_report`.
pub fn run(
    context: &Context,
    command: &ScenarioCommand,
    write_report: WriteReport,
) -> Result<Exit, Failure> {
    match command {
        ScenarioCommand::List => list(context),
        ScenarioCommand::Run { name, all, quick, output, scale } => {
            if !scale.is_none_or(|scale| scale > 0.0 && scale <= 100.0) {
                return Err(Failure::usage("--scale must be above 0 and at most 100"));
            }
            if *all && context.json {
                return Err(Failure::usage("--all and --json cannot be combined")
                    .hint("omit --json, and read the results with garland report"));
            }
            let wanted = match name {
                Some(name) => vec![crate::find(name)?],
                None => {
                    debug_assert!(all, "a name or all");
                    let scenarios = crate::all()?.into_iter();
                    scenarios.filter(|scenario| scenario.experiment().is_ok()).collect()
                }
            };
            let repetitions = if *quick { 1 } else { RUNS };
            several(context, &wanted, *scale, repetitions, output.as_deref(), write_report)
        }
    }
}

/// The result object `garland.scenario-list/2`.
#[derive(Serialize)]
struct ListResult {
    #[serde(flatten)]
    head: Head,
    scenarios: Vec<Scenario>,
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let scenarios = crate::all()?;
    phases.end("read");
    if context.json {
        let head = Head::new("garland.scenario-list/2", None, phases);
        print_json(&ListResult { head, scenarios })?;
    } else {
        let line = |scenario: &Scenario| format!("{:<26}{}\n", scenario.name, scenario.question);
        output::print(scenarios.iter().map(line).collect::<String>())?;
    }
    Ok(Exit::Done)
}

/// Runs these scenarios one after the other, each so many times with files of a scale. Returns the
/// last exit that is not [`Exit::Done`]; [`Exit::Done`] if there is none.
fn several(
    context: &Context,
    wanted: &[Scenario],
    scale: Option<f64>,
    repetitions: usize,
    output: Option<&Path>,
    write_report: WriteReport,
) -> Result<Exit, Failure> {
    let mut end = Exit::Done;
    let mut runs = Vec::new();
    let mut first = Phases::begin();
    for scenario in wanted {
        if wanted.len() > 1 && !context.json {
            output::print(format_args!("{}: {}\n", scenario.name, scenario.question))?;
        }
        let phases = std::mem::replace(&mut first, Phases::since_now());
        let (run, exit) = rerun(context, scenario, scale, repetitions, phases)?;
        runs.push(run.name().to_owned());
        if exit != Exit::Done {
            end = exit;
        }
    }
    if let Some(file) = output {
        let line = write_report(&runs, file)?;
        if !context.json {
            output::print(line)?;
        }
    }
    Ok(end)
}

fn rerun(
    context: &Context,
    scenario: &Scenario,
    scale: Option<f64>,
    repetitions: usize,
    mut phases: Phases,
) -> Result<(Run, Exit), Failure> {
    let experiment = scenario.experiment()?;
    let interrupts = Interrupts::catch().or_nothing("cannot install a handler for Ctrl-C")?;
    let places = Places::open()?;
    let run = Run::begin(&places, "scenario")?;
    let stage = Stage {
        run: &run,
        file: &scenario.file,
        topologies: &scenario.topologies,
        scale,
        interrupts: &interrupts,
    };
    let mut tables = Vec::new();
    for at in 1..=repetitions {
        garland_terminal::errln!("{}, repetition {at} of {repetitions}:", scenario.name);
        tables.push(experiment.run(&stage, &mut phases)?);
    }
    let head = Head::new("garland.scenario/3", Some(&run), phases);
    let result = ScenarioResult::new(head, scenario, experiment, tables);
    tell(&run, context.json, &result)?;
    let exit = if result.is_settled() { Exit::Done } else { Exit::Fault };
    Ok((run, exit))
}
