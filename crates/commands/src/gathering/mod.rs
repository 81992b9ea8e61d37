//! `garland cp` from nodes: every node's file, or the stripes of one.

mod at_the_same_time;
mod tasks;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use garland_control::stat;
use garland_core::cluster::Node;
use garland_core::cluster::target::{self, Target};
use garland_core::plan::Plan;
use garland_dataplane::{Tally, Tracing};
use garland_protocol::{StatRequest, TreeStatRequest};
use garland_sys::signal::Interrupts;

use self::at_the_same_time::{Common, take_all};
use super::cp::{congestion, congestion_in_force, save, tell, transport};
use super::cp_options::{refuse_to_read_back, refuse_unreachable};
use crate::args::Cp;
use crate::gathering::tasks::{GatherTask, Here, Place};
use crate::limit;
use crate::overtime::Overtime;
use crate::source::excludes;
use garland_fleet::builder::FleetBuilder;
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::launch::{FAREWELL, HURRY};
use garland_results::copy::{Copied, CopyResult, Direction};
use garland_results::head::{Phases, print_json};
use garland_results::limit::Limit;
use garland_results::places::Places;
use garland_results::run::Run;
use garland_results::tree::TreeResult;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

/// Copies `path` from the nodes of `list` to this machine.
pub fn run(context: &Context, cp: &Cp, list: &str, path: &Path) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let inventory = Inventory::open(context)?;
    let nodes = inventory.nodes(list)?;
    let target = target::parse(cp.destination()).map_err(Failure::usage)?;
    let here = Here::new(place(cp, &target)?, path, &nodes, cp)?;
    refuse_what_cannot_be(cp, &here, nodes.len())?;
    let places = Places::open()?;
    let lab = cp.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin_keeping(&places, "cp", cp.keep_traces)?;
    let muster = FleetBuilder {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet: cp.quiet || context.json,
        ..FleetBuilder::new(&nodes, &inventory, &places, &cp.launch, &run, lab.as_ref())
    };
    let fleet = muster.assemble()?;
    let overtime = Overtime::watch("copying", &interrupts)?;
    let looked = stat(fleet.agents, &here.stat_request(cp), Some(&interrupts));
    let seen = looked.or_nothing("asking the nodes what they have")?;
    let takes = tasks::all(cp, &here, &nodes, seen)?;
    let plans: Vec<&Plan> = takes.iter().map(|take| &take.plan).collect();
    save(cp, &plans)?;
    if cp.dry_run {
        tell_plans(context, &plans)?;
        fleet.children.end(FAREWELL, |_| false);
        return Ok(Exit::Done);
    }
    keep_plans(&run, &plans)?;
    let lanes = takes.iter().map(|take| take.plan.lanes.len()).max().unwrap_or(1);
    let transport = transport(cp, lab.as_ref(), lanes);
    let limit = limit_of(&takes, |plan, agents| {
        let known = limit::known(lab.as_ref(), cp.launch.sender(), plan, transport, agents);
        limit::held(known, cp.checks.pace(), plan)
    });
    let several = takes.len() > 1;
    let tracing = Tracing { started_ns: phases.last_ns(), emulated: lab.is_some() };
    let common = Common {
        sealed: !cp.clear,
        congestion: congestion(cp),
        transport,
        read_back: cp.checks.read_back(),
        tracing: Some(tracing).filter(|_| !cp.no_trace),
        // Not at the end: the traces of a thousand copies would take a gigabyte of memory.
        keep: &|plan, traces| {
            let node = several.then(|| plan.nodes[1].name.as_str());
            run.keep_traces(&places, node, traces);
        },
        interrupts: &interrupts,
        quiet: cp.quiet || context.json || cp.progress.is_some(),
        silent: cp.quiet || cp.progress.is_some(),
        for_programs: cp.progress.is_some(),
    };
    let tallies: Vec<Option<Tally>> = takes.iter().map(|take| take.tally).collect();
    let copies = take_all(takes, &common);
    overtime.end();
    let interrupted = copies.iter().any(|copied| copied.outcome.interrupted);
    let silent = |at: usize| is_silent(&copies, nodes.get(at));
    fleet.children.end(if interrupted { HURRY } else { FAREWELL }, silent);
    let result = CopyResult::new(&run, Direction::In, &copies, phases)
        .with_congestion(congestion_in_force(cp))
        .with_limit(limit)
        .with_read_back(common.read_back)
        .with_tree(TreeResult::gathered(&tallies, &copies));
    run.keep("result.json", &result)?;
    let told_at: &[u8] = if here.is_output() { b"-" } else { b"" };
    tell(context, cp, told_at, &result)?;
    Ok(result.exit(cp.min_ok))
}

/// Whether a node has died or hangs. Behind the nodes' agents there may be what all of them hang on.
fn is_silent(copies: &[Copied], node: Option<&Node>) -> bool {
    let mut ends = copies.iter().flat_map(|copied| &copied.outcome.nodes);
    node.is_some_and(|node| ends.any(|end| end.silent && end.name == node.name))
}

/// Where on this machine the bytes go.
fn place<'a>(cp: &'a Cp, target: &'a Target) -> Result<Place<'a>, Failure> {
    match target {
        Target::Local(_) => Ok(Place::Path(Path::new(cp.destination()))),
        Target::Pipe => Ok(Place::Output),
        Target::Command(line) if line.trim_ascii().is_empty() => {
            Err(Failure::usage("there is no command behind `|`")
                .hint("such as garland cp n1:/x '|zstd -d > x'"))
        }
        Target::Command(line) => Ok(Place::Command(line)),
        Target::Nodes { .. } => {
            let shown = cp.destination().to_string_lossy();
            let message = "one end of a copy must be a path of this machine";
            Err(Failure::usage(message)
                .hint(format!("for a file of this machine named {shown} say ./{shown}")))
        }
    }
}

/// Refuses values and places that can't be.
fn refuse_what_cannot_be(cp: &Cp, here: &Here<'_>, nodes: usize) -> Result<(), Failure> {
    excludes(cp)?;
    refuse_unreachable(cp, nodes)?;
    if !here.is_kept() {
        refuse_to_read_back(cp, "nothing can be read back from /dev/null or a pipe")?;
    }
    Ok(())
}

impl Here<'_> {
    fn stat_request(&self, cp: &Cp) -> StatRequest {
        let excludes = || cp.exclude.iter().map(|pattern| pattern.as_bytes().to_vec()).collect();
        let tree = || TreeStatRequest { excludes: excludes(), attributes: cp.xattrs };
        StatRequest {
            path: self.source.to_vec(),
            stripes: cp.stripe.is_some(),
            tree: cp.recursive.then(tree),
        }
    }
}

fn tell_plans(context: &Context, plans: &[&Plan]) -> Result<(), Failure> {
    match plans {
        [plan] if context.json => print_json(plan),
        _ if context.json => print_json(&plans),
        _ => plans.iter().try_for_each(output::print),
    }
}

fn keep_plans(run: &Run, plans: &[&Plan]) -> Result<(), Failure> {
    match plans {
        [plan] => run.keep("plan.json", plan),
        _ => run.keep("plan.json", &plans),
    }
}

/// What the wires allow to one copy: the same as the other way round. Of several copies at once it
/// isn't known.
fn limit_of(
    takes: &[GatherTask],
    known: impl FnOnce(&Plan, &[Result<garland_control::Agent, String>]) -> Option<Limit>,
) -> Option<Limit> {
    let [GatherTask { plan, agents: Ok(agents), .. }] = takes else { return None };
    known(&plan.clone().reversed(), agents)
}

/// The node's own part of its name, as a folder's.
fn folder_of(node: &Node) -> String {
    let own = node.name.strip_prefix(garland_fleet::inventory::LAB_PREFIX).unwrap_or(&node.name);
    own.replace(['/', ':'], "_")
}
