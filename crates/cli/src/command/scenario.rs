//! `garland scenario`: the experiments that Garland reproduces.

use garland_lab::Spec;
use garland_sys::clock;
use serde::Serialize;

use crate::args::{Args, ScenarioCommand};
use crate::failure::{Exit, Failure, OrFailure};
use crate::places::Places;
use crate::result::{Head, Phases, print_json};
use crate::run::Run;
use crate::scenario::{self, Bench, Row, Scenario, ScenarioResult, Tool};
use crate::ui::output;

/// The name of the file on the nodes.
const NAME: &str = "copy";

/// Lists scenarios, or runs one.
pub fn run(args: &Args, command: &ScenarioCommand) -> Result<Exit, Failure> {
    match command {
        ScenarioCommand::List => list(args),
        ScenarioCommand::Run { name, scale } => {
            if !(*scale > 0.0 && *scale <= 100.0) {
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

fn rerun(args: &Args, scenario: &Scenario, scale: f64) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let experiment = scenario.experiment()?;
    let length = experiment.length(scale)?;
    let spec = Spec {
        name: "lab".to_owned(),
        topology: scenario.topology.clone(),
        roots: None,
        faults: Vec::new(),
    };
    let Some(goodput) = spec.goodput() else {
        let problem = format!("scenario {} has no rate, so nothing to compare with", scenario.name);
        return Err(Failure::usage(problem).hint("give [topology] a `rate`"));
    };
    let places = Places::open()?;
    let run = Run::begin(&places, "scenario")?;
    let nodes: Vec<String> = spec.node_names().map(str::to_owned).collect();
    let bench = Bench::build(&run, spec, length * nodes.len() as u64)?;
    let source = bench.random_file("source", length)?;
    phases.end("set-up");
    let mut rows = Vec::new();
    for &tool in &experiment.job.steps {
        for &receivers in &experiment.job.receivers {
            eprintln!("{} to {receivers} ...", tool.name());
            let used = &nodes[..=receivers as usize];
            let (whole_ns, stream_ns) = copy(&bench, tool, &source, used)?;
            let mut equal = true;
            for node in &used[1..] {
                equal &= bench.verify(node, NAME, &source)?;
            }
            let (whole_s, stream_s) = (whole_ns as f64 / 1e9, stream_ns as f64 / 1e9);
            rows.push(Row { tool, receivers, whole_s, stream_s, equal });
        }
    }
    phases.end("copies");
    bench.end()?;
    phases.end("teardown");
    let head = Head::new("garland.scenario/1", Some(&run), phases);
    let result =
        ScenarioResult::new(head, scenario, experiment, scale, length, goodput / 8.0, rows);
    run.keep("result.json", &result)?;
    if args.json {
        print_json(&result)?
    } else {
        output::print(&result)?
    }
    Ok(if result.reproduced() { Exit::Done } else { Exit::Fault })
}

/// Copies by one tool from the first of these nodes, the head, to all others; nanoseconds of the
/// whole command and of the stream.
fn copy(
    bench: &Bench,
    tool: Tool,
    source: &std::path::Path,
    nodes: &[String],
) -> Result<(u64, u64), Failure> {
    let receivers: Vec<String> = nodes[1..].iter().map(|node| format!("lab:{node}")).collect();
    let receivers = receivers.join(",");
    let file = source.to_string_lossy();
    let target = format!("{receivers}:/{NAME}");
    let cp = ["cp", &file, &target, "--no-fsync", "--json"];
    match tool {
        Tool::Pipes => scenario::copy_by_pipes(bench, source, NAME, nodes),
        Tool::Cold => measure(bench, &cp),
        Tool::Up => {
            bench.garland(&["up", &receivers])?;
            let measured = measure(bench, &cp);
            bench.garland(&["down", &receivers])?;
            measured
        }
    }
}

fn measure(bench: &Bench, cp: &[&str]) -> Result<(u64, u64), Failure> {
    let before = clock::now_ns();
    let output = bench.garland(cp)?;
    // As its user sees it: from before the program is started until it has ended.
    let whole = clock::now_ns() - before;
    let result: serde_json::Value =
        serde_json::from_slice(&output).or_nothing("reading the copy's result")?;
    let phases = result["phases"].as_array().into_iter().flatten();
    let stream = phases
        .filter(|phase| matches!(phase["name"].as_str(), Some("first byte" | "stream" | "drain")))
        .filter_map(|phase| phase["ns"].as_u64())
        .sum();
    Ok((whole, stream))
}
