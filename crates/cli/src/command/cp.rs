//! `garland cp` to nodes: plan, muster, copy, tell.

use std::sync::Arc;

use garland_core::cluster::target::{self, Target};
use garland_core::cluster::{Node, nodelist};
use garland_core::plan::{Layout, Order, Plan, Stripes, chain_order};
use garland_core::proto::{Cut, Policy};
use garland_core::units::bytes;
use garland_lab::Lab;
use garland_node::{CopyJob, Ends, Pipeline, Tracing, run_copy};
use garland_sys::{mptcp::Transport, signal::Interrupts, tcp};

use super::copy_result::{Copied, CopyResult, Way};
use super::given::Given;
use super::injections::Injections;
use super::tree_result::TreeResult;
use super::{cp_in, ends};
use crate::args::{Args, Cp};
use crate::failure::{Exit, Failure, OrFailure};
use crate::fleet::Muster;
use crate::launch::{FAREWELL, HURRY, lab};
use crate::limit;
use crate::nodes::Inventory;
use crate::places::Places;
use crate::result::{Phases, print_json};
use crate::run::Run;
use crate::ui::output;
use crate::ui::progress::Bars;

/// Copies files to every node, or from them.
pub fn run(args: &Args, cp: &Cp) -> Result<Exit, Failure> {
    if let [source] = cp.sources.as_slice()
        && !source.exists()
        && let Ok(Target::Nodes { nodes, path }) = target::parse(source.as_os_str())
    {
        return cp_in::run(args, cp, &nodes, &path);
    }
    copy_out(args, cp)
}

/// Copies a file or a tree to every node.
fn copy_out(args: &Args, cp: &Cp) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let inventory = Inventory::open(args)?;
    let (nodes, path) = ends::destination(&inventory, &cp.destination)?;
    let places = Places::open()?;
    // A plan can be had without the lab.
    let found = match lab::find(&nodes, &places, &cp.launch.lab) {
        Err(_) if cp.dry_run => None,
        found => found?,
    };
    let disk = found.as_ref().and_then(|lab| lab.disk(lab.head()).ok().flatten());
    let given = Given::open(cp, &interrupts, disk)?;
    let source = given.content();
    let lanes = found.as_ref().map(Lab::lanes);
    let (plan, stripes, nodes) = make_plan(&inventory, cp, source.length(), nodes, lanes)?;
    let injections = Injections::parse(&cp.inject, &plan)?;
    if let Some(file) = &cp.save_plan {
        let text = serde_json::to_string_pretty(&plan).or_nothing("writing the plan")?;
        std::fs::write(file, text).or_nothing(format!("writing {}", file.display()))?;
    }
    if cp.dry_run {
        return tell_plan(args, &plan, given.tree().as_ref());
    }
    let lab = cp.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin(&places, "cp")?;
    run.keep("plan.json", &plan)?;
    let muster = Muster {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet: cp.quiet || args.json,
        clocks: &injections.clocks,
        ..Muster::new(&nodes, &inventory, &places, &cp.launch, &run, lab.as_ref())
    };
    let fleet = muster.assemble()?;
    let transport = Transport::mptcp_if(cp.launch.speaks_mptcp(lab.as_ref(), plan.lanes.len()));
    let limit = limit::known(lab.as_ref(), cp.launch.sender(), &plan, transport, &fleet.agents);
    let congestion = congestion(cp);
    let manifest = stripes.map(|stripes| given.manifest(&plan, stripes)).transpose()?;
    let job = CopyJob {
        plan: &plan,
        ends: Ends::Out { source, destination: given.destination(cp, &path)?, manifest },
        stripes,
        pipeline: pipeline(cp)?,
        sealed: !cp.clear,
        congestion: congestion.clone(),
        transport,
        policy: policy(nodes.len(), stripes.is_some()),
        tracing: (!cp.no_trace)
            .then(|| Tracing { started_ns: phases.last_ns(), emulated: lab.is_some() }),
        injections: injections.faults,
    };
    let mut bars = Bars::new(&plan, cp.quiet || args.json).silent(cp.quiet);
    let copied = run_copy(&job, fleet.agents, Some(&interrupts), &mut |now| bars.show(&plan, now));
    bars.clear();
    let outcome = copied.or_nothing("copying")?;
    let patience = if outcome.interrupted { HURRY } else { FAREWELL };
    fleet.children.end(patience, |at| outcome.nodes.get(at).is_some_and(|node| node.silent));
    run.keep_traces(&places, None, &outcome.traces);
    let names: Vec<&str> = congestion.iter().map(String::as_str).collect();
    let result = CopyResult::new(&run, Way::Out, &[Copied { plan, outcome }], phases)
        .with_congestion(tcp::congestion_in_force(&names).ok())
        .with_limit(limit)
        .with_tree(given.tree());
    run.keep("result.json", &result)?;
    tell(args, &path, &result)?;
    Ok(result.exit(cp.min_ok))
}

/// How the copy deals with nodes: in a striped one none has a substitute.
fn policy(nodes: usize, is_striped: bool) -> Policy {
    let policy = Policy::for_nodes(nodes);
    if is_striped { policy.together() } else { policy }
}

/// The congestion controls to ask for, best first.
pub fn congestion(cp: &Cp) -> Vec<String> {
    match &cp.congestion {
        Some(name) => vec![name.clone()],
        None => tcp::PREFERRED.map(str::to_owned).to_vec(),
    }
}

/// What may be under way at a time.
fn pipeline(cp: &Cp) -> Result<Pipeline, Failure> {
    let cut = |text: &String| match bytes::parse(text).map_err(Failure::usage)? {
        0 => Err(Failure::usage("an operation of no bytes: --op-size is at least 1")),
        size => Ok(Cut { size, overlap: cp.op_overlap }),
    };
    Ok(Pipeline { buffers: cp.buffers, cut: cp.op_size.as_ref().map(cut).transpose()? })
}

fn tell(args: &Args, path: &[u8], result: &CopyResult) -> Result<(), Failure> {
    if args.json {
        print_json(result)
    } else if path == b"-" {
        // Standard output has the bytes themselves.
        eprint!("{result}");
        Ok(())
    } else {
        output::print(result)
    }
}

/// Prints a plan, and what it is to bring of a tree, instead of following it.
fn tell_plan(args: &Args, plan: &Plan, tree: Option<&TreeResult>) -> Result<Exit, Failure> {
    if args.json {
        print_json(plan)?;
    } else {
        output::print(plan)?;
        tree.map_or(Ok(()), output::print)?;
    }
    Ok(Exit::Done)
}

/// The plan, and the nodes in its order; by so many `lanes` where neither the user nor the cluster
/// file say.
fn make_plan(
    inventory: &Inventory,
    cp: &Cp,
    length: u64,
    nodes: Vec<Node>,
    lanes: Option<usize>,
) -> Result<(Plan, Option<Stripes>, Vec<Node>), Failure> {
    let block = block_size(cp)?;
    let order = match cp.order.as_str() {
        "list" => Order::List,
        "rack" => Order::Rack,
        list => Order::Given(nodelist::expand(list, inventory).map_err(Failure::usage)?),
    };
    let racks: Vec<_> = nodes.iter().map(|node| (node.name.clone(), node.rack.clone())).collect();
    let places = chain_order(&order, &racks).map_err(Failure::usage)?;
    let nodes: Vec<Node> = places.into_iter().map(|place| nodes[place].clone()).collect();
    let rails = nodes.iter().map(|node| node.addresses.len()).min().unwrap_or(1);
    let rails = rails.max(lanes.unwrap_or(1));
    let rails = cp.rails.unwrap_or(u16::try_from(rails).unwrap_or(1));
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let Some(unit) = &cp.stripe else {
        let layout = match block {
            None => Layout::fitting(length),
            Some(block) => Layout::new(length, block).map_err(Failure::usage)?,
        };
        let plan = Plan::broadcast(layout, &names, rails).map_err(Failure::usage)?;
        return Ok((plan, None, nodes));
    };
    let unit = bytes::parse(unit).map_err(Failure::usage)?;
    let stripes = Stripes::new(length, unit, nodes.len()).map_err(Failure::usage)?;
    let layout = match block {
        None => stripes.fitting_layout(),
        Some(block) => stripes.layout(block),
    };
    let layout = layout.map_err(Failure::usage)?;
    let plan = Plan::striped(layout, stripes, &names, rails).map_err(Failure::usage)?;
    Ok((plan, Some(stripes), nodes))
}

/// Bytes of a block, if the user says.
pub fn block_size(cp: &Cp) -> Result<Option<u32>, Failure> {
    let parse = |text: &String| {
        let size = bytes::parse(text).map_err(Failure::usage)?;
        Ok(u32::try_from(size).unwrap_or(u32::MAX))
    };
    cp.block_size.as_ref().map(parse).transpose()
}
