//! `garland cp` from nodes: copies a file or tree from each node, or the stripes of one file.

mod side_by_side;
mod tasks;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use garland_control::stat;
use garland_core::cluster::Node;
use garland_core::cluster::target::{self, Target};
use garland_core::plan::Plan;
use garland_dataplane::Tally;
use garland_protocol::{StatRequest, TreeStatRequest};
use garland_sys::signal::Interrupts;

use crate::cp::gathering::side_by_side::{Common, run_all};
use crate::cp::gathering::tasks::{GatherTask, Here, Place};
use crate::cp::limit;
use crate::cp::overtime::Overtime;
use crate::cp::request::CopyRequest;
use crate::cp::tell::{save, tell, tell_plans};
use garland_fleet::builder::FleetBuilder;
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::launch::{FAREWELL, HURRY};
use garland_results::copied::Copied;
use garland_results::copy::{CopyResult, Direction};
use garland_results::head::Phases;
use garland_results::limit::Limit;
use garland_results::places::Places;
use garland_results::run::Run;
use garland_results::tree::TreeResult;
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// Copies `path` from the nodes of `list` to this machine.
pub fn run(
    context: &Context,
    request: &CopyRequest<'_>,
    list: &str,
    path: &Path,
) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let inventory = Inventory::open(context)?;
    let nodes = inventory.nodes(list)?;
    let target = target::parse(request.args.destination()).map_err(Failure::usage)?;
    let here = Here::new(place(request, &target)?, path, &nodes, request)?;
    refuse_conflicts(request, &here, nodes.len())?;
    let places = Places::open()?;
    let lab = request.args.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin_keeping(&places, "cp", request.args.keep_traces)?;
    let builder = FleetBuilder {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet: request.args.quiet || context.json,
        ..FleetBuilder::new(&nodes, &inventory, &places, &request.args.launch, &run, lab.as_ref())
    };
    let fleet = builder.assemble()?;
    let overtime = Overtime::watch("copying", &interrupts)?;
    let replies = stat(fleet.agents, &here.stat_request(request), Some(&interrupts));
    let seen = replies.or_nothing("asking the nodes for their files")?;
    let takes = tasks::all(request, &here, &nodes, seen)?;
    let plans: Vec<&Plan> = takes.iter().map(|take| &take.plan).collect();
    save(request, &plans)?;
    if request.args.dry_run {
        tell_plans(context, &plans)?;
        fleet.children.end(FAREWELL, |_| false);
        return Ok(Exit::Done);
    }
    keep_plans(&run, &plans)?;
    let lanes = takes.iter().map(|take| take.plan.lanes.len()).max().unwrap_or(1);
    let transport = request.transport(lab.as_ref(), lanes);
    let limit = limit_of(&takes, |plan, agents| {
        let known =
            limit::known(lab.as_ref(), request.args.launch.sender(), plan, transport, agents);
        limit::held(known, request.args.checks.pace(), plan)
    });
    let several = takes.len() > 1;
    let common = Common {
        sealed: !request.args.no_encrypt,
        congestion: request.congestion(),
        transport,
        read_back: request.read_back(),
        tracing: request.tracing(lab.as_ref(), phases.last_ns()),
        // Each copy's traces are kept as it ends: those of a thousand copies would need 1 GB of memory.
        keep: &|plan, traces| {
            let node = several.then(|| plan.nodes[1].name.as_str());
            run.keep_traces(&places, node, traces);
        },
        interrupts: &interrupts,
        quiet: request.args.quiet || context.json || request.args.progress.is_some(),
        silent: request.args.quiet || request.args.progress.is_some(),
        for_programs: request.args.progress.is_some(),
    };
    let tallies: Vec<Option<Tally>> = takes.iter().map(|take| take.tally).collect();
    let copies = run_all(takes, &common);
    overtime.end();
    let interrupted = copies.iter().any(|copied| copied.outcome.interrupted);
    let silent = |at: usize| is_silent(&copies, nodes.get(at));
    fleet.children.end(if interrupted { HURRY } else { FAREWELL }, silent);
    let result = CopyResult::new(&run, Direction::In, &copies, phases)
        .with_congestion(request.congestion_in_force())
        .with_limit(limit)
        .with_read_back(common.read_back)
        .with_tree(TreeResult::gathered(&tallies, &copies));
    run.keep("result.json", &result)?;
    let path: &[u8] = if here.is_output() { b"-" } else { b"" };
    tell(context, request, path, &result)?;
    Ok(result.exit(request.args.min_ok))
}

/// Whether a node has died or hangs in any of the copies: its agent is then not waited for.
fn is_silent(copies: &[Copied], node: Option<&Node>) -> bool {
    let mut ends = copies.iter().flat_map(|copied| &copied.outcome.nodes);
    node.is_some_and(|node| ends.any(|end| end.silent && end.name == node.name))
}

/// Returns the place on this machine that a destination names.
fn place<'a>(request: &CopyRequest<'a>, target: &'a Target) -> Result<Place<'a>, Failure> {
    match target {
        Target::Local(_) => Ok(Place::Path(Path::new(request.args.destination()))),
        Target::Pipe => Ok(Place::Output),
        Target::Command(line) if line.trim_ascii().is_empty() => {
            Err(Failure::usage("no command after `|`")
                .hint("such as garland cp n1:/x '|zstd -d > x'"))
        }
        Target::Command(line) => Ok(Place::Command(line)),
        Target::Nodes { .. } => {
            let shown = request.args.destination().to_string_lossy();
            let message = "one end of a copy must be a path of this machine";
            Err(Failure::usage(message)
                .hint(format!("to name a file of this machine, write ./{shown}")))
        }
    }
}

/// Refuses options that do not fit the number of nodes or the destination.
fn refuse_conflicts(
    request: &CopyRequest<'_>,
    here: &Here<'_>,
    nodes: usize,
) -> Result<(), Failure> {
    request.refuse_unreachable(nodes)?;
    if !here.is_kept() {
        request.refuse_to_read_back("data that goes to /dev/null or a pipe cannot be read back")?;
    }
    Ok(())
}

impl Here<'_> {
    fn stat_request(&self, request: &CopyRequest<'_>) -> StatRequest {
        let excludes =
            || request.args.exclude.iter().map(|pattern| pattern.as_bytes().to_vec()).collect();
        let tree = || TreeStatRequest { excludes: excludes(), attributes: request.args.xattrs };
        StatRequest {
            path: self.source.to_vec(),
            stripes: request.args.stripe.is_some(),
            tree: request.args.recursive.then(tree),
        }
    }
}

fn keep_plans(run: &Run, plans: &[&Plan]) -> Result<(), Failure> {
    match plans {
        [plan] => run.keep("plan.json", plan),
        _ => run.keep("plan.json", &plans),
    }
}

/// Returns the limit of a single copy, which is that of the reverse direction. The limit of several copies
/// at once is unknown.
fn limit_of(
    takes: &[GatherTask],
    known: impl FnOnce(&Plan, &[Result<garland_control::Agent, String>]) -> Option<Limit>,
) -> Option<Limit> {
    let [GatherTask { plan, agents: Ok(agents), .. }] = takes else { return None };
    known(&plan.clone().reversed(), agents)
}
