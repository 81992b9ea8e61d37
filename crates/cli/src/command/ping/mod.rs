//! `garland ping`: small gets, puts and messages between nodes.

mod ask;
mod evidence;
mod result;
mod sweep;
mod table;

use std::sync::Arc;
use std::time::Duration;

use garland_core::proto::{Finding, Task};
use garland_node::{Pair, PairEnd, Party};
use garland_sys::signal::Interrupts;

use crate::args::{Args, Ping};
use crate::failure::{Exit, Failure, OrFailure};
use crate::fleet::Muster;
use crate::launch::{FAREWELL, HURRY, lab};
use crate::nodes::Inventory;
use crate::places::Places;
use crate::result::{Phases, print_json};
use crate::run::Run;
use crate::ui::output;

use result::{PairResult, PingResult};

/// Time that a meeting may take besides its points.
const BESIDES: Duration = Duration::from_secs(20);

/// Times operations between the first node and each of the others.
pub fn run(args: &Args, ping: &Ping) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let asked = ask::read(ping)?;
    let inventory = Inventory::open(args)?;
    let nodes = inventory.nodes(&ping.nodes)?;
    if nodes.len() < 2 {
        return Err(Failure::usage(format!(
            "garland ping {}: one node has nobody to ask",
            ping.nodes
        ))
        .hint("name two nodes or more: the first one asks each of the others in turn")
        .hint("on this machine alone: garland ping 'local[1-2]'"));
    }
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let places = Places::open()?;
    let lab = lab::enter(&nodes, &places, &ping.launch.lab)?;
    let run = Run::begin(&places, "ping")?;
    let muster = Muster {
        nodes: &nodes,
        cluster: inventory.cluster(),
        places: &places,
        launch: &ping.launch,
        logs: run.folder().to_owned(),
        lab: lab.as_ref(),
        stay: None,
        interrupts: Some(Arc::clone(&interrupts)),
        quiet: args.json,
    };
    let fleet = muster.assemble()?;
    phases.end("set-up");
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let absent: Vec<Option<String>> =
        fleet.agents.iter().map(|agent| agent.as_ref().err().cloned()).collect();
    let mut party = Party::new(fleet.agents.into_iter().map(Result::ok).collect());
    let time: u64 = asked.task.points.iter().map(|point| u64::from(point.time_ms)).sum();
    let mut pairs: Vec<PairResult> = Vec::new();
    let mut interrupted = false;
    for to in 1..names.len() {
        let mut pair = PairResult::new(&names, to, &asked);
        if let Some(at) = [0, to].into_iter().find(|&at| absent[at].is_some()) {
            pair.fail(&names[at], absent[at].as_deref().unwrap_or_default());
        } else if interrupted {
            pair.skip();
        } else {
            let meeting = Pair {
                from: 0,
                to,
                rail: 0,
                streams: 1,
                limit: Duration::from_millis(2 * time) + BESIDES,
                pin: asked.pin,
                task: Task::Ping(asked.task.clone()),
            };
            let mut found =
                |_: usize, node: usize, finding: Finding| pair.found(node == 0, finding);
            let ends =
                party.round(&[meeting], Some(&interrupts), &mut found).or_nothing("measuring")?;
            match ends.into_iter().next() {
                Some(PairEnd::Failed(node, reason)) => pair.fail(&names[node], &reason),
                Some(PairEnd::Interrupted) => {
                    interrupted = true;
                    pair.skip();
                }
                Some(PairEnd::Done) | None => {}
            }
        }
        pair.conclude(&asked);
        if !args.json {
            output::print(table::Table { pair: &pair, asked: &asked, place: to })?;
        }
        pairs.push(pair);
    }
    phases.end("ping");
    drop(party);
    fleet.children.end(if interrupted { HURRY } else { FAREWELL }, |_| false);
    phases.end("teardown");
    let result = PingResult::new(&run, phases, &asked, &names, pairs, interrupted);
    run.keep("result.json", &result)?;
    if args.json {
        print_json(&result)?;
    } else {
        output::print(format_args!("\nrun     {}\n", run.name()))?;
    }
    Ok(result.exit())
}
