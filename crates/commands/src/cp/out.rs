//! `garland cp` to nodes: plan, fleet, comparison, copy, result.

use std::sync::Arc;

use garland_control::{CopyJob, Outcome};
use garland_core::cluster::Node;
use garland_core::plan::Plan;
use garland_lab::Lab;
use garland_sys::process;
use garland_sys::signal::Interrupts;

use super::command_line::CommandLine;
use super::incremental::Remaining;
use super::injections::Injections;
use super::limit;
use super::overtime::Overtime;
use super::planning::{self, Planned};
use super::progress::Bars;
use super::request::CopyRequest;
use super::source::CopySource;
use super::tell::{Unasked, Would, save, tell, tell_plan, tell_would};
use super::{ends, incremental};
use garland_fleet::builder::{Children, Fleet, FleetBuilder};
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::join_listener::JoinListener;
use garland_fleet::launch::{FAREWELL, HURRY};
use garland_results::copied::Copied;
use garland_results::copy::{CopyResult, Direction, NodeResult};
use garland_results::head::{NodeVerdict, Phases};
use garland_results::places::Places;
use garland_results::run::Run;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

/// What a copy needs before it is planned.
struct Opened {
    inventory: Inventory,
    /// The destination: the nodes, and the path on them.
    nodes: Vec<Node>,
    path: Vec<u8>,
    places: Places,
    lab: Option<Lab>,
    /// The source.
    given: CopySource,
}

/// Copies a file, a tree, a stream or an object to every node.
pub fn run(context: &Context, request: &CopyRequest<'_>) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let args = request.args;
    let Opened { inventory, nodes, path, places, lab, given } =
        open(context, request, &interrupts)?;
    let Planned { nodes, plan, stripes, why, payload, encoding } =
        planning::plan(request, (&given, &path), &nodes, (&inventory, &places, lab.as_ref()))?;
    let injections = Injections::parse(&args.inject, &plan)?;
    save(request, &plan)?;
    if !names_changes(request, &given)? && args.dry_run {
        return tell_plan((context, request), &plan, why.as_deref(), given.tree().as_ref());
    }
    let run = begin(request, &plan, &places)?;
    let builder = FleetBuilder {
        inventory: Some(&inventory),
        interrupts: Some(Arc::clone(&interrupts)),
        quiet: args.quiet || context.json,
        clocks: &injections.clocks,
        ..FleetBuilder::new(&nodes, &inventory, &places, &args.launch, &run, lab.as_ref())
    };
    let fleet = builder.assemble()?;
    if args.dry_run {
        let ends = given.ends(request, &path, None)?;
        let copy = Remaining { given, ends, plan, agents: fleet.agents };
        let how = (why.as_deref(), &interrupts, &mut phases);
        return dry_run((context, request), copy, fleet.children, how);
    }
    let overtime = Overtime::watch("copying", &interrupts)?;
    let transport = request.transport(lab.as_ref(), plan.lanes.len());
    let here = (lab.as_ref(), &places);
    let limit = limit::of_copy(request, here, (&plan, payload), transport, &fleet.agents);
    let manifest = stripes.map(|stripes| given.manifest(&plan, stripes)).transpose()?;
    let ends = given.ends(request, &path, manifest)?;
    let copy = Remaining { given, ends, plan, agents: fleet.agents };
    let before = incremental::compare_first(request, copy, (&places, &interrupts, &mut phases))?;
    let Remaining { given, ends, plan, agents } = before.copy;
    before.changes.filter(|_| !context.json).map_or(Ok(()), output::print)?;
    let job = CopyJob {
        plan: &plan,
        ends,
        stripes,
        known: before.digests,
        pipeline: request.pipeline,
        read_back: request.read_back(),
        sealed: !args.no_encrypt,
        packing: args.compress.beginning_with(encoding),
        congestion: request.congestion(),
        transport,
        policy: request.policy(&plan, stripes.is_some(), inventory.cluster()),
        late: None,
        tracing: request.tracing(lab.as_ref(), process::start_ns()),
        injections: injections.faults,
    };
    let fleet = Fleet { agents, children: fleet.children };
    // Nodes that join read the result, so the listener must live until the result is saved.
    // A node that joins would get only what is left of a tree.
    let joinable = job.takes_latecomers() && before.unchanged == 0;
    let (outcome, children, _listener) =
        make(context, request, &builder, job, fleet, joinable.then_some(&run))?;
    let plan = given.ended(plan, &outcome);
    keep((&run, &places), (&given, &plan), &outcome)?;
    end(children, &outcome, &overtime);
    let result = CopyResult::new(&run, Direction::Out, &[Copied { plan, outcome }], phases)
        .with_congestion(request.congestion_in_force())
        .with_unchanged(before.unchanged, given.is_bare())
        .with_limit(limit)
        .with_before(before.unusable, before.unread)
        .with_path(&path)
        .with_read_back(request.read_back())
        .with_tree(given.tree());
    end_with(context, request, &path, (&run, &result))
}

/// Returns whether each entry that changes is named.
fn names_changes(request: &CopyRequest<'_>, given: &CopySource) -> Result<bool, Failure> {
    let args = request.args;
    let names = args.verbose && matches!(given, CopySource::Tree(_));
    if names && (args.whole || args.checksum || args.checks.verify) {
        let why =
            "-v names what differs by size and time, not what --whole, --checksum or --verify send";
        return Err(Failure::usage(why).hint("omit -v, or the other option"));
    }
    Ok(names)
}

/// Prints the plan of a copy of a tree, and what it would change on the nodes.
fn dry_run(
    (context, request): (&Context, &CopyRequest<'_>),
    copy: Remaining,
    children: Children,
    (why, interrupts, phases): (Option<&str>, &Arc<Interrupts>, &mut Phases),
) -> Result<Exit, Failure> {
    let (tree, plan) = (copy.given.tree(), copy.plan.clone());
    let (copy, changes) = incremental::leave_out_unchanged(request, copy, (interrupts, phases))?;
    let names = plan.nodes[1..].iter().map(|node| node.name.clone());
    let unasked = |(node, agent): (_, Result<_, _>)| Some(Unasked { node, reason: agent.err()? });
    let failed: Vec<Unasked> = names.zip(copy.agents).filter_map(unasked).collect();
    if interrupts.have_come() {
        children.end(HURRY, |_| false);
        return Err(Failure::interrupted("comparing with the files on the nodes"));
    }
    children.end(FAREWELL, |_| false);
    let would = Would { plan: &plan, changes: changes.as_ref(), failed: &failed };
    tell_would((context, request), &would, why, tree.as_ref())?;
    Ok(Exit::of_work(failed.is_empty(), failed.len() + 1 < plan.nodes.len(), false))
}

/// Begins the run of a copy, and stores the plan and what `--resume` needs. A dry run is no copy that
/// could be resumed, and no copy's traces are removed for it.
fn begin(request: &CopyRequest<'_>, plan: &Plan, places: &Places) -> Result<Run, Failure> {
    if request.args.dry_run {
        return Run::begin(places, "dry-run");
    }
    let run = Run::begin_keeping(places, "cp", request.args.keep_traces)?;
    run.keep("plan.json", plan)?;
    CommandLine::keep(request.args, &run)?;
    Ok(run)
}

/// Stores the plan and the traces of a copy, and the digests of its source.
fn keep(
    (run, places): (&Run, &Places),
    (given, plan): (&CopySource, &Plan),
    outcome: &Outcome,
) -> Result<(), Failure> {
    run.keep("plan.json", plan)?;
    run.keep_traces(places, None, &outcome.traces);
    incremental::remember(given, plan, places, outcome.digests.as_deref());
    Ok(())
}

/// Stores and prints the result, and how the copy goes on if it was interrupted or nodes died. Returns the exit
/// code.
fn end_with(
    context: &Context,
    request: &CopyRequest<'_>,
    path: &[u8],
    (run, result): (&Run, &CopyResult),
) -> Result<Exit, Failure> {
    run.keep("result.json", result)?;
    tell(context, request, path, result)?;
    let exit = result.exit(request.args.min_ok);
    let is_lost = |node: &NodeResult| !node.end.is_ok() && node.end.verdict != NodeVerdict::Failed;
    let goes_on = exit == Exit::Interrupted || result.nodes.iter().any(is_lost);
    if goes_on && !request.args.quiet && !context.json {
        CommandLine::tell_how_to_resume(run);
    }
    Ok(exit)
}

/// Finds the nodes, enters their lab if they have one, and opens the source. Ctrl-C ends the command even
/// if the disk does not respond.
fn open(
    context: &Context,
    request: &CopyRequest<'_>,
    interrupts: &Arc<Interrupts>,
) -> Result<Opened, Failure> {
    let inventory = Inventory::open(context)?;
    let (nodes, path) = ends::destination(&inventory, request.args.destination())?;
    request.refuse_unreachable(nodes.len())?;
    let places = Places::open()?;
    // A dry run that asks no node needs no lab. Remote sources can also be reached from a lab's head.
    let entered = request.args.launch.enter_lab(&nodes, &places);
    let lab = match entered {
        Err(_) if request.args.dry_run && !request.args.verbose => None,
        entered => entered?,
    };
    let disk = lab.as_ref().and_then(|lab| lab.disk(lab.head()).ok().flatten());
    let _overtime = Overtime::watch("opening the source", interrupts)?;
    let given = CopySource::open(request, interrupts, disk)?;
    Ok(Opened { inventory, nodes, path, places, lab, given })
}

/// Runs the copy, and shows its progress. Nodes can join it as the run `joinable`, if given.
fn make(
    context: &Context,
    request: &CopyRequest<'_>,
    builder: &FleetBuilder<'_>,
    job: CopyJob<'_>,
    fleet: Fleet,
    joinable: Option<&Run>,
) -> Result<(Outcome, Children, Option<JoinListener>), Failure> {
    let plan = job.plan;
    let mut listener = joinable.map(|run| JoinListener::open(builder.places, run)).transpose()?;
    let mut bars = Bars::new(plan, context, request.args);
    let copied = builder.copy(job, fleet, listener.as_mut(), &mut |now| bars.show(plan, now));
    bars.clear();
    copied.map(|(outcome, children)| (outcome, children, listener))
}

/// Waits for the agents that were started, except those that are silent.
fn end(children: Children, outcome: &Outcome, overtime: &Overtime) {
    overtime.end();
    let patience = if outcome.interrupted { HURRY } else { FAREWELL };
    children.end(patience, |at| outcome.nodes.get(at).is_some_and(|node| node.silent));
}
