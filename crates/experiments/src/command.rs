//! `garland scenario`: lists and runs the experiments that Garland reproduces.

use std::path::Path;

use garland_analysis::grade::{MANY_RUNS, RUNS, SHORT_S};
use garland_fleet::context::Context;
use garland_results::head::{Head, Phases, print_json, tell};
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::clock;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;
use serde::Serialize;

use crate::args::ScenarioCommand;
use crate::judged::{Judged, Standing, wrapped};
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
            several(context, &wanted, *scale, *quick, output.as_deref(), write_report)
        }
        ScenarioCommand::Show { name } => show(context, name),
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

/// The result object `garland.scenario-show/1`.
#[derive(Serialize)]
struct ShowResult {
    #[serde(flatten)]
    head: Head,
    scenario: Scenario,
    /// The facts that the scenario answers, and the statements of its file.
    statements: Vec<Judged>,
}

/// Shows what a scenario is about: its question, its topologies, its constants, and the published
/// facts that it answers.
fn show(context: &Context, name: &str) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let scenario = crate::find(name)?;
    let account = scenario.experiment.as_ref().map(|one| one.account(&scenario.name));
    let statements = account.map_or_else(Vec::new, |account| account.judge(&[]));
    phases.end("read");
    if context.json {
        let head = Head::new("garland.scenario-show/1", None, phases);
        print_json(&ShowResult { head, scenario, statements })?;
    } else {
        output::print(shown(&scenario, &statements))?;
    }
    Ok(Exit::Done)
}

/// Returns the text of [`show`].
fn shown(scenario: &Scenario, statements: &[Judged]) -> String {
    let Scenario { name, question, source, answer, topologies, experiment, .. } = scenario;
    let mut lines = wrapped("", &format!("{name}: {question}"));
    lines.extend(wrapped("", &format!("published: {source}")));
    for topology in topologies {
        let nodes = topology.nodes.len();
        lines.push(format!("topology: {} with {nodes} nodes; garland net show {0}", topology.name));
    }
    lines.extend(answer.iter().flat_map(|answer| wrapped("", &format!("answer: {answer}"))));
    let Some(experiment) = experiment else { return lines.join("\n") + "\n" };
    let account = experiment.account(name);
    for constant in account.constants {
        let on = constant.on.join(", ");
        lines.extend(wrapped("", &format!("constant: {}, from {on}", constant.name)));
    }
    for law in account.laws {
        let rates = law.rates.join(", ");
        lines.extend(wrapped("", &format!("law: {}, from {rates}", law.name)));
    }
    let titles = [("facts that count", true), ("beside these, shown and not counted", false)];
    for (title, counts) in titles {
        let is_here = |one: &&Judged| (one.standing == Standing::Counted) == counts;
        let mut here = statements.iter().filter(is_here).peekable();
        if here.peek().is_some() {
            lines.push(format!("\n{title}:"));
        }
        lines.extend(here.flat_map(|one| wrapped("  ", &one.described())));
    }
    lines.push(format!("\nto run it: garland scenario run {name}"));
    lines.join("\n") + "\n"
}

/// Runs these scenarios one after the other, each several times with files of a scale, or once if
/// `quick`. Returns the last exit that is not [`Exit::Done`]; [`Exit::Done`] if there is none.
fn several(
    context: &Context,
    wanted: &[Scenario],
    scale: Option<f64>,
    quick: bool,
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
        let (run, exit) = rerun(context, scenario, scale, quick, phases)?;
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
    quick: bool,
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
    let mut repetitions = 1;
    while tables.len() < repetitions {
        let at = tables.len() + 1;
        let of = if at > 1 { format!(" of {repetitions}") } else { String::new() };
        garland_terminal::errln!("{}, repetition {at}{of}:", scenario.name);
        let began_ns = clock::now_ns();
        tables.push(experiment.run(&stage, &mut phases)?);
        if at == 1 && !quick {
            let took_s = clock::now_ns().saturating_sub(began_ns) as f64 / 1e9;
            repetitions = if took_s < SHORT_S { MANY_RUNS } else { RUNS };
        }
    }
    let head = Head::new("garland.scenario/4", Some(&run), phases);
    let result = ScenarioResult::new(head, scenario, experiment, tables);
    tell(&run, context.json, &result)?;
    let exit = if result.is_settled() { Exit::Done } else { Exit::Fault };
    Ok((run, exit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_scenario_asks_is_shown_with_its_constants_and_facts() {
        let shown_of = |name: &str| {
            let scenario = crate::find(name).unwrap();
            let account = scenario.experiment.as_ref().map(|one| one.account(name));
            let statements = account.map_or_else(Vec::new, |account| account.judge(&[]));
            let text = shown(&scenario, &statements);
            assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
            // Words are in lines of their own.
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let text = shown_of("beowulf-1996");
        for part in [
            "topology: routed-mesh with 16 nodes; garland net show routed-mesh",
            "constant: the rate of the disks, from bw.bonded.peak",
            "facts that count: bw.routed.peak:",
            "published 6 MB/s",
            "(put in, or fitted on it)",
            "to run it: garland scenario run beowulf-1996",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(shown_of("pvfs2-cp-2007").contains("(nothing measures it)"));
        assert!(shown_of("openmosix-copy-2004").contains("from om.disk.new, om.disk.old"));
        assert!(shown_of("hub10").contains("answer: "), "a topology has its answer in words");
    }
}
