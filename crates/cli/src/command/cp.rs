//! `garland cp`: plan, muster, copy, tell.

use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use garland_core::cluster::{Node, nodelist};
use garland_core::plan::{Layout, Order, Plan, chain_order};
use garland_core::proto::{Destination, Policy};
use garland_core::units::bytes;
use garland_lab::Lab;
use garland_node::{CopyJob, Source, Tracing, run_copy};
use garland_sys::{mptcp::Transport, signal::Interrupts, tcp};

use super::copy_result::CopyResult;
use super::ends;
use super::injections::Injections;
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

/// Copies a file to every node.
pub fn run(args: &Args, cp: &Cp) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let inventory = Inventory::open(args)?;
    let (nodes, path) = ends::destination(&inventory, &cp.destination)?;
    let source = ends::source(&cp.source)?;
    let places = Places::open()?;
    // A plan can be had without the lab.
    let found = match lab::find(&nodes, &places, &cp.launch.lab) {
        Err(_) if cp.dry_run => None,
        found => found?,
    };
    let disk = found.as_ref().and_then(|lab| lab.disk(lab.head()).ok().flatten());
    let source = Arc::new(source.on_disk_of(disk));
    let lanes = found.as_ref().map(Lab::lanes);
    let (plan, nodes) = make_plan(&inventory, cp, &source, nodes, lanes)?;
    let injections = Injections::parse(&cp.inject, &plan)?;
    if let Some(file) = &cp.save_plan {
        let text = serde_json::to_string_pretty(&plan).or_nothing("writing the plan")?;
        std::fs::write(file, text).or_nothing(format!("writing {}", file.display()))?;
    }
    if cp.dry_run {
        return tell_plan(args, &plan);
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
    let mptcp = cp.launch.speaks_mptcp(lab.as_ref(), plan.lanes.len());
    let transport = Transport::mptcp_if(mptcp);
    let limit = limit::known(lab.as_ref(), cp.launch.sender(), &plan, transport, &fleet.agents);
    let congestion = match &cp.congestion {
        Some(name) => vec![name.clone()],
        None => tcp::PREFERRED.map(str::to_owned).to_vec(),
    };
    let job = CopyJob {
        plan: &plan,
        source: Arc::clone(&source),
        destination: sink(cp, &source, &path)?,
        sealed: !cp.clear,
        congestion: congestion.clone(),
        transport,
        policy: Policy::for_nodes(nodes.len()),
        tracing: (!cp.no_trace)
            .then(|| Tracing { started_ns: phases.last_ns(), emulated: lab.is_some() }),
        injections: injections.faults,
    };
    let mut bars = Bars::new(&plan, cp.quiet || args.json).silent(cp.quiet);
    let copied = run_copy(&job, fleet.agents, Some(&interrupts), &mut |now| bars.show(now));
    bars.clear();
    let outcome = copied.or_nothing("copying")?;
    let patience = if outcome.interrupted { HURRY } else { FAREWELL };
    fleet.children.end(patience, |at| outcome.nodes.get(at).is_some_and(|node| node.silent));
    if let Err(failure) = run.keep_traces(&places, &outcome.traces) {
        // The copy is as good without.
        eprintln!("this run has no whole trace: {failure}");
    }
    let names: Vec<&str> = congestion.iter().map(String::as_str).collect();
    let result = CopyResult::new(&run, &plan, &outcome, phases)
        .with_congestion(tcp::congestion_in_force(&names).ok())
        .with_limit(limit);
    run.keep("result.json", &result)?;
    tell(args, &path, &result)?;
    Ok(result.exit(cp.min_ok))
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

fn tell_plan(args: &Args, plan: &Plan) -> Result<Exit, Failure> {
    if args.json {
        print_json(plan)?;
    } else {
        output::print(plan)?;
    }
    Ok(Exit::Done)
}

/// The plan, and the nodes in its order; by so many `lanes` where neither the user nor the cluster
/// file say.
fn make_plan(
    inventory: &Inventory,
    cp: &Cp,
    source: &Source,
    nodes: Vec<Node>,
    lanes: Option<usize>,
) -> Result<(Plan, Vec<Node>), Failure> {
    let layout = match &cp.block_size {
        None => Layout::fitting(source.length()),
        Some(text) => {
            let size = bytes::parse(text).map_err(Failure::usage)?;
            let size = u32::try_from(size).unwrap_or(u32::MAX);
            Layout::new(source.length(), size).map_err(Failure::usage)?
        }
    };
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
    let plan = Plan::broadcast(layout, &names, rails).map_err(Failure::usage)?;
    Ok((plan, nodes))
}

fn sink(cp: &Cp, source: &Source, path: &[u8]) -> Result<Destination, Failure> {
    let name = cp.source.file_name().ok_or_else(|| Failure::usage("the source has no name"))?;
    Ok(match path {
        b"/dev/null" => Destination::Null,
        b"-" => Destination::Output,
        path => Destination::File {
            path: path.to_vec(),
            name: name.as_bytes().to_vec(),
            mode: source.mode().or_nothing("asking for the source's mode")?,
            times: cp.preserve.then(|| source.modified()),
            fsync: !cp.no_fsync,
        },
    })
}
