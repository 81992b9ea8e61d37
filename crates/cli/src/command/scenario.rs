//! `garland scenario`: the experiments that Garland reproduces.

use std::path::Path;

use garland_sys::signal::Interrupts;
use serde::Serialize;

use super::report;
use crate::args::{Args, ScenarioCommand};
use crate::failure::{Exit, Failure, OrFailure};
use crate::places::Places;
use crate::result::{Head, Phases, print_json, tell};
use crate::run::Run;
use crate::scenario::{self, Scenario, ScenarioResult, Stage};
use crate::ui::output;

/// Lists scenarios, or runs one.
pub fn run(args: &Args, command: &ScenarioCommand) -> Result<Exit, Failure> {
    match command {
        ScenarioCommand::List => list(args),
        ScenarioCommand::Run { name, all, output, scale } => {
            if !scale.is_none_or(|scale| scale > 0.0 && scale <= 100.0) {
                return Err(Failure::usage("--scale is above 0 and at most 100"));
            }
            if *all && args.json {
                return Err(Failure::usage("--all has no one result object")
                    .hint("each run keeps its own: garland report reads them"));
            }
            let wanted = match name {
                Some(name) => vec![scenario::find(name)?],
                None => {
                    debug_assert!(all, "a name or all");
                    let all = scenario::all()?.into_iter();
                    all.filter(|scenario| scenario.experiment().is_ok()).collect()
                }
            };
            several(args, &wanted, *scale, output.as_deref())
        }
    }
}

/// The result object `garland.scenario-list/1`.
#[derive(Serialize)]
struct ListResult {
    #[serde(flatten)]
    head: Head,
    scenarios: Vec<Scenario>,
}

fn list(args: &Args) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let scenarios = scenario::all()?;
    phases.end("read");
    if args.json {
        let head = Head::new("garland.scenario-list/1", None, phases);
        print_json(&ListResult { head, scenarios })?;
    } else {
        let line = |scenario: &Scenario| format!("{:<26}{}\n", scenario.name, scenario.question);
        output::print(scenarios.iter().map(line).collect::<String>())?;
    }
    Ok(Exit::Done)
}

/// Runs these one after another; the worst of their ends is the command's.
fn several(
    args: &Args,
    wanted: &[Scenario],
    scale: Option<f64>,
    output: Option<&Path>,
) -> Result<Exit, Failure> {
    let (mut end, mut runs) = (Exit::Done, Vec::new());
    let mut first = Phases::begin();
    for scenario in wanted {
        if wanted.len() > 1 && !args.json {
            output::print(format_args!("{}: {}\n", scenario.name, scenario.question))?;
        }
        let phases = std::mem::replace(&mut first, Phases::since_now());
        let (run, exit) = rerun(args, scenario, scale, phases)?;
        runs.push(run.name().to_owned());
        if exit != Exit::Done {
            end = exit;
        }
    }
    if let Some(file) = output {
        let told = report::of_runs(&runs, file)?;
        if !args.json {
            output::print(told)?;
        }
    }
    Ok(end)
}

fn rerun(
    args: &Args,
    scenario: &Scenario,
    scale: Option<f64>,
    mut phases: Phases,
) -> Result<(Run, Exit), Failure> {
    let experiment = scenario.experiment()?;
    let interrupts = Interrupts::catch().or_nothing("catching interrupts")?;
    let places = Places::open()?;
    let run = Run::begin(&places, "scenario")?;
    let stage =
        Stage { run: &run, topologies: &scenario.topologies, scale, interrupts: &interrupts };
    let table = experiment.run(&stage, &mut phases)?;
    let head = Head::new("garland.scenario/1", Some(&run), phases);
    let result = ScenarioResult::new(head, scenario, table);
    tell(&run, args.json, &result)?;
    let exit = if result.reproduced() { Exit::Done } else { Exit::Fault };
    Ok((run, exit))
}
