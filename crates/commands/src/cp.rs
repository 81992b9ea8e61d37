//! `garland cp` to nodes: plan, muster, copy, tell.

use std::sync::Arc;

use garland_control::{Agent, CopyJob, Outcome, Pipeline};
use garland_core::cluster::Node;
use garland_core::cluster::target::Target;
use garland_core::plan::{Plan, Stripes};
use garland_core::units::bytes;
use garland_dataplane::{Packing, Tracing};
use garland_lab::Lab;
use garland_protocol::{Cut, Policy, SlowNodes};
use garland_sys::signal::Interrupts;
use garland_sys::{mptcp::Transport, process, tcp};
use serde::Serialize;

use super::chain::Chain;
use super::cp_options::{from_nodes, kind_of, refuse_unreachable, refuse_without_effect};
use super::injections::Injections;
use super::shape::shaped;
use super::{ends, join};
use crate::args::{CompressName, Cp, SlowName};
use crate::gathering;
use crate::incremental;
use crate::limit;
use crate::overtime::Overtime;
use crate::progress::Bars;
use crate::source::CopySource;
use garland_fleet::builder::{Children, Fleet, FleetBuilder};
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::join_listener::JoinListener;
use garland_fleet::launch::{FAREWELL, HURRY};
use garland_results::copy::{Copied, CopyResult, Direction};
use garland_results::head::{Phases, print_json};
use garland_results::limit::Limit;
use garland_results::places::Places;
use garland_results::run::Run;
use garland_results::tree::TreeResult;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

/// As many nodes read parts of a source that they see by themselves: each part is a lane, which takes a
/// thread and memory on every node.
const READERS: u16 = 16;

/// Copies files to every node, or from them.
pub fn run(context: &Context, cp: &Cp) -> Result<Exit, Failure> {
    let kind = kind_of(cp)?;
    refuse_without_effect(cp, kind)?;
    if let Some(run) = &cp.join {
        return join::run(context, cp, run);
    }
    if cp.sources().is_empty() {
        let only = cp.destination().to_string_lossy();
        let message = format!("a copy has a SOURCE and a DESTINATION, and there is only {only}");
        return Err(Failure::usage(message).hint("such as garland cp FILE 'n[01-20]:/path'"));
    }
    if cp.sources().iter().any(|source| source.as_os_str().is_empty()) {
        return Err(Failure::usage("the path of a SOURCE is empty"));
    }
    if let Some(Target::Nodes { nodes, path }) = from_nodes(cp)? {
        return gathering::run(context, cp, &nodes, &path);
    }
    copy_out(context, cp)
}

/// Copies a file or a tree to every node.
fn copy_out(context: &Context, cp: &Cp) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let inventory = Inventory::open(context)?;
    let (nodes, path) = destination(cp, &inventory)?;
    let places = Places::open()?;
    // A plan can be had without the lab. What is elsewhere is seen from the lab's head, too.
    let entered = cp.launch.enter_lab(&nodes, &places);
    let lab = if cp.dry_run { entered.unwrap_or(None) } else { entered? };
    let disk = lab.as_ref().and_then(|lab| lab.disk(lab.head()).ok().flatten());
    let given = open(cp, &interrupts, disk)?;
    let near = (&places, lab.as_ref());
    let Chain { nodes, why } = Chain::ordered(&inventory, near, &cp.order, &nodes)?;
    let (plan, stripes) = make_plan(cp, (&given, &path), &nodes, lab.as_ref())?;
    let injections = Injections::parse(&cp.inject, &plan)?;
    save(cp, &plan)?;
    if cp.dry_run {
        return tell_plan((context, cp), &plan, why.as_deref(), given.tree().as_ref());
    }
    let run = Run::begin_keeping(&places, "cp", cp.keep_traces)?;
    run.keep("plan.json", &plan)?;
    let muster = FleetBuilder {
        inventory: Some(&inventory),
        interrupts: Some(Arc::clone(&interrupts)),
        quiet: cp.quiet || context.json,
        clocks: &injections.clocks,
        ..FleetBuilder::new(&nodes, &inventory, &places, &cp.launch, &run, lab.as_ref())
    };
    let fleet = muster.assemble()?;
    let overtime = Overtime::watch("copying", &interrupts)?;
    let transport = transport(cp, lab.as_ref(), plan.lanes.len());
    let limit = limit_of(cp, &plan, lab.as_ref(), transport, &fleet.agents);
    let manifest = stripes.map(|stripes| given.manifest(&plan, stripes)).transpose()?;
    let ends = given.ends(cp, &path, manifest)?;
    let here = (&places, &interrupts, &mut phases);
    let before = incremental::look(cp, &given, &ends, plan, fleet.agents, here)?;
    let job = CopyJob {
        plan: &before.plan,
        ends,
        stripes,
        known: before.digests,
        pipeline: pipeline(cp)?,
        read_back: cp.checks.read_back(),
        sealed: !cp.clear,
        packing: packing(cp),
        congestion: congestion(cp),
        transport,
        policy: policy(cp, nodes.len(), stripes.is_some(), before.plan.layout.open),
        late: None,
        tracing: tracing(cp, lab.as_ref()),
        injections: injections.faults,
    };
    let fleet = Fleet { agents: before.agents, children: fleet.children };
    // The door is open until the result is kept: whoever joins reads it there.
    let (outcome, children, _door) = make(context, cp, &muster, job, fleet, &run)?;
    let plan = given.ended(before.plan, &outcome);
    run.keep("plan.json", &plan)?;
    end(children, &outcome, &overtime);
    run.keep_traces(&places, None, &outcome.traces);
    incremental::remember(&given, &plan, &places, outcome.digests.as_deref());
    let result = CopyResult::new(&run, Direction::Out, &[Copied { plan, outcome }], phases)
        .with_congestion(congestion_in_force(cp))
        .with_limit(limit)
        .with_before(before.strange, before.unseen)
        .with_path(&path)
        .with_read_back(cp.checks.read_back())
        .with_tree(given.tree());
    run.keep("result.json", &result)?;
    tell(context, cp, &path, &result).map(|()| result.exit(cp.min_ok))
}

/// The nodes and the path there, if enough nodes are named.
fn destination(cp: &Cp, inventory: &Inventory) -> Result<(Vec<Node>, Vec<u8>), Failure> {
    let (nodes, path) = ends::destination(inventory, cp.destination())?;
    refuse_unreachable(cp, nodes.len())?;
    Ok((nodes, path))
}

/// Whether nodes could read parts by themselves of what is given, and put them to `path`.
fn can_be_shared(given: &CopySource, path: &[u8]) -> Result<(), Failure> {
    let is_plain = given.file().is_some_and(|(path, _)| path.is_file());
    let wrong = if !is_plain {
        "--shared is for one plain file, which nodes see at the same path"
    } else if path == b"-" || path.starts_with(b"|") || path == b"/dev/null" {
        "--shared is for copies that go to files"
    } else {
        return Ok(());
    };
    Err(Failure::usage(wrong).hint("leave --shared out"))
}

/// Makes the copy, and shows how it goes.
fn make(
    context: &Context,
    cp: &Cp,
    muster: &FleetBuilder<'_>,
    job: CopyJob<'_>,
    fleet: Fleet,
    run: &Run,
) -> Result<(Outcome, Children, Option<JoinListener>), Failure> {
    let plan = job.plan;
    let mut door =
        job.takes_latecomers().then(|| JoinListener::open(muster.places, run)).transpose()?;
    let mut bars = Bars::wanted(plan, context, cp);
    let copied = muster.copy(job, fleet, door.as_mut(), &mut |now| bars.show(plan, now));
    bars.clear();
    copied.map(|(outcome, children)| (outcome, children, door))
}

/// Opens the source; Ctrl-C doesn't wait for a disk that never answers.
fn open(cp: &Cp, interrupts: &Arc<Interrupts>, disk: Option<u64>) -> Result<CopySource, Failure> {
    let _overtime = Overtime::watch("opening the source", interrupts)?;
    CopySource::open(cp, interrupts, disk)
}

/// Waits for the agents that were started, but for those that say nothing any more.
fn end(children: Children, outcome: &Outcome, overtime: &Overtime) {
    overtime.end();
    let patience = if outcome.interrupted { HURRY } else { FAREWELL };
    children.end(patience, |at| outcome.nodes.get(at).is_some_and(|node| node.silent));
}

/// What the wires allow, and what was asked for.
fn limit_of(
    cp: &Cp,
    plan: &Plan,
    lab: Option<&Lab>,
    transport: Transport,
    agents: &[Result<Agent, String>],
) -> Option<Limit> {
    let wires = limit::known(lab, cp.launch.sender(), plan, transport, agents);
    limit::held(wires, cp.checks.pace(), plan)
}

/// How the copy deals with nodes: in a striped one none has a substitute, and what a node drops of a
/// stream couldn't be read again.
fn policy(cp: &Cp, nodes: usize, is_striped: bool, is_stream: bool) -> Policy {
    let slow = match cp.slow {
        SlowName::Detach => SlowNodes::Detach,
        SlowName::Wait => SlowNodes::Wait,
        SlowName::Fail => SlowNodes::Fail,
    };
    let policy = Policy::for_nodes(nodes).with_stuck_after(cp.stuck_after);
    match policy.with_slow(slow, cp.slow_below) {
        policy if is_striped => policy.striped(),
        policy if is_stream => policy.with_slow(SlowNodes::Wait, cp.slow_below),
        policy => policy,
    }
}

/// How it is traced.
fn tracing(cp: &Cp, lab: Option<&Lab>) -> Option<Tracing> {
    let tracing = || Tracing { started_ns: process::start_ns(), emulated: lab.is_some() };
    (!cp.no_trace).then(tracing)
}

/// How blocks are packed.
fn packing(cp: &Cp) -> Packing {
    match cp.compress {
        CompressName::None => Packing::None,
        CompressName::Lz4 => Packing::Lz4,
        CompressName::Zstd => Packing::Zstd,
        CompressName::Auto => Packing::Auto,
    }
}

/// The congestion controls to ask for, best first.
pub fn congestion(cp: &Cp) -> Vec<String> {
    match &cp.congestion {
        Some(name) => vec![name.clone()],
        None => tcp::PREFERRED.map(str::to_owned).to_vec(),
    }
}

/// What data links speak. A pace is held by each of TCP's connections; those that MPTCP makes of one
/// would each have it.
pub fn transport(cp: &Cp, lab: Option<&Lab>, lanes: usize) -> Transport {
    Transport::mptcp_if(cp.checks.pace() == 0 && cp.launch.speaks_mptcp(lab, lanes))
}

/// The one that links get.
pub fn congestion_in_force(cp: &Cp) -> Option<String> {
    let names = congestion(cp);
    tcp::congestion_in_force(&names.iter().map(String::as_str).collect::<Vec<_>>()).ok()
}

/// What may be under way at a time.
fn pipeline(cp: &Cp) -> Result<Pipeline, Failure> {
    let cut = |text: &String| match bytes::parse(text).map_err(Failure::usage)? {
        0 => Err(Failure::usage("an operation of no bytes: --op-size is at least 1")),
        size => Ok(Cut { size, overlap: cp.op_overlap }),
    };
    let cut = cp.op_size.as_ref().map(cut).transpose()?;
    Ok(Pipeline { buffers: cp.buffers, cut, pace: cp.checks.pace() })
}

/// Tells the result: digests for other programs alone on standard output, if there are any.
pub fn tell(context: &Context, cp: &Cp, path: &[u8], result: &CopyResult) -> Result<(), Failure> {
    let is_output = path == b"-";
    if context.json && is_output {
        // Standard output has the bytes themselves.
        let text = serde_json::to_string_pretty(result).or_nothing("writing the result")?;
        output::warn_json(&text);
        Ok(())
    } else if context.json {
        print_json(result)
    } else if cp.checks.checksum.is_some() {
        output::warn(result);
        output::print_bytes(&result.sums())
    } else if is_output {
        output::warn(result);
        Ok(())
    } else {
        output::print(result)
    }
}

/// Saves what is planned, where that was asked for.
pub fn save(cp: &Cp, planned: &impl Serialize) -> Result<(), Failure> {
    let Some(file) = &cp.save_plan else { return Ok(()) };
    let text = serde_json::to_string_pretty(planned).or_nothing("writing the plan")?;
    std::fs::write(file, text).or_nothing(format!("writing {}", file.display()))
}

/// Prints a plan, why its order is as it is, and what it is to bring of a tree and remove, instead of
/// following it.
fn tell_plan(
    (context, cp): (&Context, &Cp),
    plan: &Plan,
    why: Option<&str>,
    tree: Option<&TreeResult>,
) -> Result<Exit, Failure> {
    if context.json {
        print_json(plan)?;
    } else {
        output::print(plan)?;
        why.map_or(Ok(()), |why| output::print(format_args!("order: {why}\n")))?;
        tree.map_or(Ok(()), output::print)?;
        if cp.delete {
            // Which names those are only the nodes know.
            let line = "delete  what these folders have on nodes and not here (nobody was asked)\n";
            output::print(line)?;
        }
    }
    Ok(Exit::Done)
}

/// The plan, for nodes in their order; by so many lanes as the lab has where neither the user nor the
/// cluster file say.
fn make_plan(
    cp: &Cp,
    (given, path): (&CopySource, &[u8]),
    nodes: &[Node],
    lab: Option<&Lab>,
) -> Result<(Plan, Option<Stripes>), Failure> {
    let block = block_size(cp)?;
    let rails = nodes.iter().map(|node| node.addresses.len()).min().unwrap_or(1);
    let rails = rails.max(lab.map_or(1, Lab::lanes));
    let rails = cp.rails.unwrap_or(u16::try_from(rails).unwrap_or(1));
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    if cp.shared {
        can_be_shared(given, path)?;
        let layout = given.layout(block)?;
        let plan = Plan::shared(layout, &names, READERS, rails).map_err(Failure::usage)?;
        return Ok((plan, None));
    }
    let Some(unit) = &cp.stripe else {
        let plan = Plan::broadcast(given.layout(block)?, &names, rails).map_err(Failure::usage)?;
        return Ok((shaped(cp, lab, plan)?, None));
    };
    let unit = bytes::parse(unit).map_err(Failure::usage)?;
    let stripes =
        Stripes::new(given.content().length(), unit, nodes.len()).map_err(Failure::usage)?;
    let layout = match block {
        None => stripes.fitting_layout(),
        Some(block) => stripes.layout(block),
    };
    let layout = layout.map_err(Failure::usage)?;
    let plan = Plan::striped(layout, stripes, &names, rails).map_err(Failure::usage)?;
    Ok((plan, Some(stripes)))
}

/// Bytes of a block, if the user says.
pub fn block_size(cp: &Cp) -> Result<Option<u32>, Failure> {
    let parse = |text: &String| {
        let size = bytes::parse(text).map_err(Failure::usage)?;
        Ok(u32::try_from(size).unwrap_or(u32::MAX))
    };
    cp.block_size.as_ref().map(parse).transpose()
}
