//! `garland wires`: every pair of nodes is measured, and what is worse than its peers is named.

mod baseline;
mod naming;
mod result;
mod survey;
mod table;

use std::sync::Arc;

use garland_core::cluster::Node;
use garland_node::Party;
use garland_sys::clock;
use garland_sys::processors::Processors;
use garland_sys::signal::Interrupts;

use self::baseline::Baseline;
pub use self::result::TcpAccount;
use self::result::{FailedPair, SCHEMA, Told, WiresResult};
use self::survey::Survey;
use crate::args::{Args, Wires};
use crate::failure::{Exit, Failure, OrFailure};
use crate::fleet::Muster;
use crate::launch::{FAREWELL, HURRY};
use crate::nodes::{self, Inventory};
use crate::places::Places;
use crate::result::{Head, Phases, print_json};
use crate::run::Run;
use crate::ui::output;
use crate::ui::screen::Screen;

/// Busier than this, an emulated cluster measures its machine.
const BUSY: f64 = 0.9;

/// Pairs that give less than this share of the baseline are told of, all together.
const SLOWER: f64 = 0.9;

/// Measures all pairs of nodes.
pub fn run(args: &Args, wires: &Wires) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let inventory = Inventory::open(args)?;
    let nodes = inventory.nodes(&wires.nodes)?;
    if nodes.len() < 2 {
        return Err(Failure::usage("one node has no wire to measure")
            .hint("name two nodes at least; from four on, a faulty one can be told"));
    }
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let places = Places::open()?;
    let baseline = baseline::find(&places, wires.baseline.as_deref(), &names)?;
    let lab = wires.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin(&places, "wires")?;
    let muster = Muster {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet: args.json,
        ..Muster::new(&nodes, &inventory, &places, &wires.launch, &run, lab.as_ref())
    };
    let fleet = muster.assemble()?;
    phases.end("set-up");
    let out: Vec<Option<String>> =
        fleet.agents.iter().map(|agent| agent.as_ref().err().cloned()).collect();
    let never: Vec<bool> = out.iter().map(Option::is_some).collect();
    let party = Party::new(fleet.agents.into_iter().map(Result::ok).collect());
    let mut survey = Survey::new(party, out, wires.streams, &interrupts);
    let since = Processors::now();
    measure(&mut survey, args.json)?;
    let cpu = since.busy_since();
    phases.end("rounds");
    let patience = if survey.interrupted { HURRY } else { FAREWELL };
    let result = told(&nodes, &survey, &never, baseline.as_ref(), cpu);
    // Agents end with their channels.
    drop(survey);
    fleet.children.end(patience, |_| false);
    phases.end("teardown");
    let result = WiresResult { head: Head::new(SCHEMA, Some(&run), phases), told: result };
    run.keep("result.json", &result)?;
    if args.json {
        print_json(&result)?
    } else {
        output::print(&result)?
    }
    Ok(exit(&result.told))
}

/// All that the survey tells.
fn told(
    nodes: &[Node],
    survey: &Survey<'_>,
    never: &[bool],
    baseline: Option<&Baseline>,
    cpu: f64,
) -> Told {
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let (faults, baseline) = result::judge(survey, baseline, &names);
    Told {
        nodes: result::nodes(survey, &names, never),
        ways: result::ways(survey, &names),
        failed: failed(survey, &names),
        loads: result::loads(survey),
        at_once: survey.at_once,
        rounds: survey.rounds,
        bisection: survey.bisection,
        faults,
        cpu,
        warnings: warnings(nodes, survey, cpu, baseline.as_ref()),
        baseline,
        interrupted: survey.interrupted,
    }
}

fn measure(survey: &mut Survey<'_>, quiet: bool) -> Result<(), Failure> {
    let mut screen = Screen::new(quiet);
    survey.run(&mut |done, all| {
        screen.draw(clock::now_ns(), &[format!("measuring: round {} of {all}", done + 1)]);
    })
}

/// Pairs that failed though both nodes are there.
fn failed(survey: &Survey<'_>, names: &[&str]) -> Vec<FailedPair> {
    let there = survey
        .failed
        .iter()
        .filter(|((a, b), _)| survey.out[*a].is_none() && survey.out[*b].is_none());
    there
        .map(|(&(a, b), reason)| FailedPair {
            nodes: [names[a].to_owned(), names[b].to_owned()],
            reason: reason.clone(),
        })
        .collect()
}

fn warnings(
    nodes: &[Node],
    survey: &Survey<'_>,
    cpu: f64,
    baseline: Option<&result::BaselineResult>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let is_emulated =
        |node: &Node| node.name.starts_with(nodes::LAB_PREFIX) || nodes::is_local(&node.name);
    if nodes.iter().any(is_emulated) && cpu > BUSY {
        warnings.push(format!(
            "this machine's processors were busy for {:.0} % of the time: what is measured is the \
             emulator, not the wires; take a lower rate",
            cpu * 100.0
        ));
    }
    let most = survey.loads.last().map_or(0, |load| load.pairs);
    if survey.at_once < most {
        warnings.push(format!(
            "with more than {} pairs at once they take from each other: pairs were measured {} at a \
             time",
            survey.at_once, survey.at_once
        ));
    }
    if nodes.len() < 4 {
        warnings.push("with fewer than four nodes nobody can be told to be at fault".to_owned());
    }
    if let Some(baseline) = baseline.filter(|baseline| baseline.share < SLOWER) {
        let share = baseline.share * 100.0;
        warnings.push(format!("all are slower than in {}: {share:.0} % of then", baseline.run));
    }
    warnings
}

fn exit(result: &Told) -> Exit {
    match () {
        () if result.interrupted => Exit::Interrupted,
        () if result.ways.is_empty() => Exit::Nothing,
        () if !result.faults.is_empty() => Exit::Fault,
        () if !result.failed.is_empty() || result.nodes.iter().any(|n| n.reason.is_some()) => {
            Exit::SomeFailed
        }
        () => Exit::Done,
    }
}
