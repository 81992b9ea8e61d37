//! `garland scenario`: the experiments that Garland reproduces.

use garland_sys::signal::Interrupts;
use serde::Serialize;

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
        ScenarioCommand::Run { name, scale } => {
            if !scale.is_none_or(|scale| scale > 0.0 && scale <= 100.0) {
                return Err(Failure::usage("--scale is above 0 and at most 100"));
            }
            rerun(args, &scenario::find(name)?, *scale)
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

fn rerun(args: &Args, scenario: &Scenario, scale: Option<f64>) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
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
    Ok(if result.reproduced() { Exit::Done } else { Exit::Fault })
}
