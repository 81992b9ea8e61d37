//! `garland cp` from nodes: every node's file, or the stripes of one.

mod at_the_same_time;
mod takes;

use std::path::Path;
use std::sync::Arc;

use garland_core::cluster::Node;
use garland_core::cluster::target::{self, Target};
use garland_core::plan::Plan;
use garland_core::proto::Look;
use garland_node::{Tracing, look};
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;
use garland_sys::tcp;

use self::at_the_same_time::{Common, take_all};
use self::takes::{Here, Take};
use super::copy_result::{CopyResult, Way};
use super::cp::congestion;
use crate::args::{Args, Cp};
use crate::failure::{Exit, Failure, OrFailure};
use crate::fleet::Muster;
use crate::launch::{FAREWELL, HURRY};
use crate::limit::{self, Limit};
use crate::nodes::Inventory;
use crate::places::Places;
use crate::result::{Phases, print_json};
use crate::run::Run;
use crate::ui::output;

/// Copies `path` from the nodes of `list` to this machine.
pub fn run(args: &Args, cp: &Cp, list: &str, path: &Path) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let inventory = Inventory::open(args)?;
    let nodes = inventory.nodes(list)?;
    let here = Here::new(destination(cp)?, path, &nodes)?;
    refuse_what_only_goes_out(cp)?;
    let places = Places::open()?;
    let lab = cp.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin(&places, "cp")?;
    let muster = Muster {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet: cp.quiet || args.json,
        ..Muster::new(&nodes, &inventory, &places, &cp.launch, &run, lab.as_ref())
    };
    let fleet = muster.assemble()?;
    let looked = look(fleet.agents, &here.look(cp.stripe.is_some()), Some(&interrupts));
    let seen = looked.or_nothing("asking the nodes what they have")?;
    let takes = if cp.stripe.is_some() {
        vec![takes::stripes(cp, &here, &nodes, seen)?]
    } else {
        takes::files(cp, &here, &nodes, seen)?
    };
    let plans: Vec<&Plan> = takes.iter().map(|take| &take.plan).collect();
    if let Some(file) = &cp.save_plan {
        let text = serde_json::to_string_pretty(&plans).or_nothing("writing the plans")?;
        std::fs::write(file, text).or_nothing(format!("writing {}", file.display()))?;
    }
    if cp.dry_run {
        tell_plans(args, &plans)?;
        fleet.children.end(FAREWELL, |_| false);
        return Ok(Exit::Done);
    }
    keep_plans(&run, &plans)?;
    let lanes = takes.iter().map(|take| take.plan.lanes.len()).max().unwrap_or(1);
    let transport = Transport::mptcp_if(cp.launch.speaks_mptcp(lab.as_ref(), lanes));
    let limit = limit_of(&takes, |plan, agents| {
        limit::known(lab.as_ref(), cp.launch.sender(), plan, transport, agents)
    });
    let several = takes.len() > 1;
    let tracing = Tracing { started_ns: phases.last_ns(), emulated: lab.is_some() };
    let common = Common {
        sealed: !cp.clear,
        congestion: congestion(cp),
        transport,
        tracing: Some(tracing).filter(|_| !cp.no_trace),
        // Not at the end: the traces of a thousand copies would take a gigabyte of memory.
        keep: &|plan, traces| {
            let node = several.then(|| plan.nodes[1].name.as_str());
            run.keep_traces(&places, node, traces);
        },
        interrupts: &interrupts,
        quiet: cp.quiet || args.json,
        silent: cp.quiet,
    };
    let copies = take_all(takes, &common);
    let interrupted = copies.iter().any(|copied| copied.outcome.interrupted);
    let ends = || copies.iter().flat_map(|copied| &copied.outcome.nodes);
    let silent = |at: usize| ends().any(|end| end.silent && end.name == nodes[at].name);
    fleet.children.end(if interrupted { HURRY } else { FAREWELL }, silent);
    let names: Vec<&str> = common.congestion.iter().map(String::as_str).collect();
    let result = CopyResult::new(&run, Way::In, &copies, phases)
        .with_congestion(tcp::congestion_in_force(&names).ok())
        .with_limit(limit);
    run.keep("result.json", &result)?;
    tell(args, &result)?;
    Ok(result.exit(cp.min_ok))
}

fn tell(args: &Args, result: &CopyResult) -> Result<(), Failure> {
    if args.json { print_json(result) } else { output::print(result) }
}

/// The path of this machine that the bytes go to.
fn destination(cp: &Cp) -> Result<&Path, Failure> {
    match target::parse(&cp.destination) {
        Ok(Target::Local(_)) => Ok(Path::new(&cp.destination)),
        Ok(Target::Nodes { .. }) => {
            let shown = cp.destination.to_string_lossy();
            let message = "one end of a copy must be a path of this machine";
            Err(Failure::usage(message)
                .hint(format!("for a file of this machine named {shown} say ./{shown}")))
        }
        Ok(Target::Pipe) => Err(Failure::usage("what comes from nodes goes to files")
            .hint("for the bytes of one small file: garland exec NODE -- cat PATH")),
        Err(error) => Err(Failure::usage(error)),
    }
}

/// What would have to be done by the nodes together, who give each by itself.
fn refuse_what_only_goes_out(cp: &Cp) -> Result<(), Failure> {
    if cp.recursive {
        return Err(Failure::usage("folders can't be gathered so far")
            .hint("-r is for copies to nodes; until then: tar"));
    }
    if cp.op_size.is_some() {
        return Err(Failure::usage("operations can only be cut where the file is read")
            .hint("--op-size is for copies to nodes"));
    }
    if !cp.inject.is_empty() {
        return Err(Failure::usage("faults can only be put into copies to nodes")
            .hint("leave --inject out"));
    }
    if cp.order != "list" {
        return Err(Failure::usage("files that come from nodes come in no order")
            .hint("--order is for copies to nodes"));
    }
    Ok(())
}

impl Here<'_> {
    fn look(&self, stripes: bool) -> Look {
        Look { path: self.source.to_vec(), stripes }
    }
}

fn tell_plans(args: &Args, plans: &[&Plan]) -> Result<(), Failure> {
    match plans {
        [plan] if args.json => print_json(plan),
        _ if args.json => print_json(&plans),
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
    takes: &[Take],
    known: impl FnOnce(&Plan, &[Result<garland_node::Agent, String>]) -> Option<Limit>,
) -> Option<Limit> {
    let [Take { plan, agents: Ok(agents), .. }] = takes else { return None };
    known(&plan.clone().reversed(), agents)
}

/// The node's own part of its name, as a folder's.
fn folder_of(node: &Node) -> String {
    let own = node.name.strip_prefix(crate::nodes::LAB_PREFIX).unwrap_or(&node.name);
    own.replace(['/', ':'], "_")
}
