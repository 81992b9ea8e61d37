//! `garland cp` to nodes: plan, muster, copy, tell.

use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use garland_core::cluster::target::{self, Target};
use garland_core::cluster::{Node, nodelist};
use garland_core::plan::{Layout, Manifest, Order, Plan, StripeServer, Stripes, chain_order};
use garland_core::proto::{Cut, Destination, Policy};
use garland_core::units::bytes;
use garland_lab::Lab;
use garland_node::{CopyJob, Ends, Pipeline, Source, run_copy};
use garland_sys::{clock, mptcp::Transport, random, signal::Interrupts, tcp};

use super::copy_result::{Copied, CopyResult, Way};
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

/// Copies a file to every node, or from them.
pub fn run(args: &Args, cp: &Cp) -> Result<Exit, Failure> {
    match target::parse(cp.source.as_os_str()) {
        Ok(Target::Nodes { nodes, path }) if !cp.source.exists() => {
            cp_in::run(args, cp, &nodes, &path)
        }
        _ => copy_out(args, cp),
    }
}

/// Copies a file to every node.
fn copy_out(args: &Args, cp: &Cp) -> Result<Exit, Failure> {
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
    let (plan, stripes, nodes) = make_plan(&inventory, cp, &source, nodes, lanes)?;
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
        ..Muster::new(&nodes, &inventory, &places, &cp.launch, &run, lab.as_ref())
    };
    let fleet = muster.assemble()?;
    let mptcp = cp.launch.speaks_mptcp(lab.as_ref(), plan.lanes.len());
    let transport = Transport::mptcp_if(mptcp);
    let limit = limit::known(lab.as_ref(), cp.launch.sender(), &plan, transport, &fleet.agents);
    let congestion = congestion(cp);
    let manifest = stripes.map(|stripes| manifest(cp, &source, &plan, stripes)).transpose()?;
    let policy = Policy::for_nodes(nodes.len());
    let job = CopyJob {
        plan: &plan,
        ends: Ends::Out {
            source: Arc::clone(&source),
            destination: sink(cp, &source, &path)?,
            manifest,
        },
        stripes,
        pipeline: pipeline(cp)?,
        sealed: !cp.clear,
        congestion: congestion.clone(),
        transport,
        policy: if stripes.is_some() { policy.together() } else { policy },
    };
    let mut bars = Bars::new(&plan, cp.quiet || args.json).silent(cp.quiet);
    let copied = run_copy(&job, fleet.agents, Some(&interrupts), &mut |now| bars.show(&plan, now));
    bars.clear();
    let outcome = copied.or_nothing("copying")?;
    let patience = if outcome.interrupted { HURRY } else { FAREWELL };
    fleet.children.end(patience, |at| outcome.nodes.get(at).is_some_and(|node| node.silent));
    let names: Vec<&str> = congestion.iter().map(String::as_str).collect();
    let result = CopyResult::new(&run, Way::Out, &[Copied { plan, outcome }], phases)
        .with_congestion(tcp::congestion_in_force(&names).ok())
        .with_limit(limit);
    run.keep("result.json", &result)?;
    tell(args, &path, &result)?;
    Ok(result.exit(cp.min_ok))
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

/// What is to lie beside every stripe, but for what isn't known yet: the digests.
fn manifest(cp: &Cp, source: &Source, plan: &Plan, stripes: Stripes) -> Result<Manifest, Failure> {
    let name = cp.source.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| {
        Failure::usage("the source's name isn't valid UTF-8, and a manifest is text")
            .hint("copy it under another name, by a link")
    })?;
    let server = |name: &str| StripeServer { name: name.to_owned(), digest: [0; 32] };
    Ok(Manifest {
        set: random::bytes(),
        written: i64::try_from(clock::wall_ns() / 1_000_000_000).unwrap_or(i64::MAX),
        name: name.to_owned(),
        mode: source.mode().or_nothing("asking for the source's mode")?,
        modified: source.modified(),
        stripes,
        layout: plan.layout,
        servers: plan.receivers().map(|(_, node)| server(&node.name)).collect(),
        number: 0,
    })
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

/// Prints a plan instead of following it.
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
) -> Result<(Plan, Option<Stripes>, Vec<Node>), Failure> {
    let length = source.length();
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

fn sink(cp: &Cp, source: &Source, path: &[u8]) -> Result<Destination, Failure> {
    let name = cp.source.file_name().ok_or_else(|| Failure::usage("the source has no name"))?;
    Ok(match path {
        b"/dev/null" => Destination::Null,
        b"-" if cp.stripe.is_some() => {
            return Err(Failure::usage("stripes can't go to standard output"));
        }
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
