//! `garland cp` from nodes: copies a file or tree from each node, or the stripes of one file.

mod side_by_side;
mod tasks;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use garland_control::stat;
use garland_core::cluster::target::{self, Target};
use garland_core::cluster::{Node, nodelist::fold};
use garland_core::plan::Plan;
use garland_dataplane::Tally;
use garland_protocol::{Destination, StatRequest, TreeStatRequest};
use garland_sys::signal::Interrupts;

use crate::cp::gathering::side_by_side::{Common, run_all};
use crate::cp::gathering::tasks::{GatherTask, Here, Place};
use crate::cp::overtime::Overtime;
use crate::cp::spec::CopySpec;
use crate::cp::tell::{save, tell, tell_plans};
use crate::cp::{handling, limit};
use garland_fleet::builder::FleetBuilder;
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::launch::{FAREWELL, HURRY};
use garland_results::copied::Copied;
use garland_results::copy::{CopyResult, Direction};
use garland_results::head::Phases;
use garland_results::places::Places;
use garland_results::run::Run;
use garland_results::tree::TreeResult;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

/// Copies `path` from the nodes of `list` to this machine.
pub fn run(
    context: &Context,
    spec: &CopySpec,
    list: &str,
    path: &Path,
    destination: &OsStr,
) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let inventory = Inventory::open(context)?;
    let nodes = inventory.nodes(list)?;
    let target = target::parse(destination)?;
    let here = Here::new(place(destination, &target)?, path, &nodes, spec)?;
    spec.slow.refuse_unreachable(nodes.len())?;
    if !here.is_kept() {
        spec.refuse_to_read_back("data that goes to /dev/null or a pipe cannot be read back")?;
    }
    let places = Places::open()?;
    let lab = spec.run.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin_keeping(&places, "cp", spec.run.keep_traces)?;
    spec.run.command_line.iter().try_for_each(|line| line.keep(&run))?;
    let builder = FleetBuilder {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet: spec.run.is_quiet || context.json,
        ..FleetBuilder::new(&nodes, &inventory, &places, &spec.run.launch, &run, lab.as_ref())
    };
    let fleet = builder.assemble()?;
    let overtime = Overtime::watch("copying", &interrupts)?;
    let replies = stat(fleet.agents, &here.stat_request(spec), Some(&interrupts));
    let seen = replies.or_nothing("asking the nodes for their files")?;
    let tasks = tasks::all(spec, &here, &nodes, seen, inventory.cluster())?;
    let plans: Vec<&Plan> = tasks.iter().map(|task| &task.plan).collect();
    save(spec, &plans)?;
    tell_sources(context, spec, &tasks, path)?;
    if spec.run.is_dry {
        tell_plans(context, &plans)?;
        fleet.children.end(FAREWELL, |_| false);
        return Ok(Exit::Done);
    }
    keep_plans(&run, &plans)?;
    let lanes = tasks.iter().map(|task| task.plan.lanes.len()).max().unwrap_or(1);
    let transport = spec.transport(lab.as_ref(), lanes);
    let limit = match &tasks[..] {
        // The wires have the same rate in the other direction.
        [GatherTask { plan, agents: Ok(agents), .. }] => {
            let planned = (&plan.clone().reversed(), handling::plain(spec));
            limit::of_copy(spec, (lab.as_ref(), &places), planned, transport, agents)
        }
        // Outside of a lab the limit of several simultaneous copies is unknown.
        _ => limit::of_gather(spec, lab.as_ref(), &plans, transport),
    };
    let several = tasks.len() > 1;
    let common = Common {
        context,
        spec,
        transport,
        tracing: spec.tracing(lab.as_ref(), phases.last_ns()),
        // Save the traces of each copy when it ends: keeping those of a thousand copies in memory
        // would need 1 GB.
        keep: &|plan, traces| {
            let node = several.then(|| plan.nodes[1].name.as_str());
            run.keep_traces(&places, node, traces);
        },
        interrupts: &interrupts,
    };
    let tallies: Vec<Option<Tally>> = tasks.iter().map(|task| task.tally).collect();
    let copies = run_all(tasks, &common);
    overtime.end();
    let interrupted = copies.iter().any(|copied| copied.outcome.interrupted);
    let silent = |at: usize| is_silent(&copies, nodes.get(at));
    fleet.children.end(if interrupted { HURRY } else { FAREWELL }, silent);
    let result = CopyResult::new(&run, Direction::In, &copies, phases)
        .with_congestion(spec.tuning.congestion_in_force())
        .with_limit(limit)
        .with_read_back(spec.checks.read_back)
        .with_tree(TreeResult::gathered(&tallies, &copies));
    run.keep("result.json", &result)?;
    let path: &[u8] = if here.is_output() { b"-" } else { b"" };
    tell(context, spec, path, &result)?;
    Ok(result.exit(spec.slow.min_ok))
}

/// Prints what is copied from each node (`--verbose`): only the nodes know the names in a tree.
fn tell_sources(
    context: &Context,
    spec: &CopySpec,
    tasks: &[GatherTask],
    path: &Path,
) -> Result<(), Failure> {
    let wanted = spec.run.names_entries && !context.json;
    let mut tasks = tasks.iter().filter(|task| wanted && task.agents.is_ok());
    tasks.try_for_each(|GatherTask { plan, tally, .. }| {
        let names: Vec<&str> = plan.receivers().map(|(_, node)| node.name.as_str()).collect();
        let tally = tally.map_or_else(String::new, |Tally { files, folders, links }| {
            format!(" ({files} files, {folders} directories, {links} links)")
        });
        output::print(format_args!("copy    {}:{}{tally}\n", fold(&names), path.display()))
    })
}

/// Whether a node has died or hangs in any of the copies; the command then does not wait for the
/// node's agent.
fn is_silent(copies: &[Copied], node: Option<&Node>) -> bool {
    let mut ends = copies.iter().flat_map(|copied| &copied.outcome.nodes);
    node.is_some_and(|node| ends.any(|end| end.silent && end.name == node.name))
}

/// Returns the path or sink on this machine that the destination specifies.
fn place<'a>(destination: &'a OsStr, target: &Target) -> Result<Place<'a>, Failure> {
    match target {
        Target::Local(path) if path.as_os_str() == "/dev/null" => {
            Ok(Place::Sink(Destination::Null))
        }
        Target::Local(_) => Ok(Place::Path(Path::new(destination))),
        Target::Pipe => Ok(Place::Sink(Destination::Output)),
        Target::Command(line) if line.trim_ascii().is_empty() => {
            Err(Failure::usage("no command after `|`")
                .hint("specify one, such as garland cp n1:/x '|zstd -d > x'"))
        }
        Target::Command(line) => Ok(Place::Sink(Destination::Command(line.clone()))),
        Target::Nodes { .. } => {
            let shown = destination.to_string_lossy();
            let message = "one end of a copy must be a path of this machine";
            Err(Failure::usage(message)
                .hint(format!("to specify a file on this machine, write ./{shown}")))
        }
    }
}

impl Here<'_> {
    fn stat_request(&self, spec: &CopySpec) -> StatRequest {
        let tree = || TreeStatRequest {
            excludes: spec.source.raw_excludes(),
            attributes: spec.source.keeps_attributes,
        };
        StatRequest {
            path: self.source.to_vec(),
            stripes: spec.plan.is_striped(),
            tree: spec.source.is_tree.then(tree),
        }
    }
}

fn keep_plans(run: &Run, plans: &[&Plan]) -> Result<(), Failure> {
    match plans {
        [plan] => run.keep("plan.json", plan),
        _ => run.keep("plan.json", &plans),
    }
}
