//! A copy from nodes: of a file or tree of each node, or of the stripes of one file.

mod side_by_side;
mod tasks;
mod wanted;

use std::sync::Arc;

use garland_control::stat;
use garland_core::cluster::{Node, nodelist::fold};
use garland_core::plan::Plan;
use garland_dataplane::Tally;
use garland_fleet::builder::{Children, Fleet};
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::launch::{FAREWELL, HURRY};
use garland_results::copied::Copied;
use garland_results::copy::CopyResult;
use garland_results::copy_outcome::{CopyOutcome, Direction, Unchanged};
use garland_results::head::Phases;
use garland_results::tree::{NodeTree, TreeResult};
use garland_state::run::Run;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

pub use self::tasks::LocalEnd;
pub use self::wanted::FromNodes;

use self::side_by_side::{Common, run_all};
use self::tasks::{GatherTask, Here};
use self::wanted::Wanted;
use crate::observer::Observer;
use crate::overtime::Overtime;
use crate::place::Place;
use crate::spec::CopySpec;
use crate::{handling, limit};

/// Copies from nodes that are planned: the nodes have told what they have.
pub struct PlannedGather<'a> {
    spec: &'a CopySpec,
    place: Place,
    phases: Phases,
    /// The nodes, as the user listed them.
    nodes: Vec<Node>,
    tasks: Vec<GatherTask>,
    children: Children,
    run: Run,
    overtime: Overtime,
}

/// What is copied from some nodes.
pub struct GatheredSource {
    /// The nodes, folded.
    pub nodes: String,
    /// The paths on them, for messages.
    pub paths: String,
    /// The numbers of files and directories of a tree; `None` for a file.
    pub tally: Option<Tally>,
}

/// A node that has nothing to send.
pub struct NothingThere<'a> {
    /// The node.
    pub node: &'a str,
    /// Why it has nothing.
    pub reason: &'a str,
}

impl<'a> PlannedGather<'a> {
    /// Plans copies of `sources` to `to`, by what the nodes have there.
    ///
    /// # Errors
    /// When the copies cannot be made in this way, or no node has anything to send.
    pub fn new(
        spec: &'a CopySpec,
        context: &Context,
        sources: &[FromNodes],
        to: LocalEnd<'_>,
    ) -> Result<Self, Failure> {
        let phases = Phases::begin();
        let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
        let inventory = Inventory::open(context)?;
        let wanted = Wanted::all(spec, sources, &inventory)?;
        let here = Here::new(to, &wanted, spec)?;
        let nodes: Vec<Node> = wanted.iter().map(|wanted| wanted.node.clone()).collect();
        spec.slow.refuse_unreachable(nodes.len())?;
        if !here.is_kept() {
            spec.refuse_to_read_back("data that goes to /dev/null or a pipe cannot be read back")?;
        }
        let launch = &spec.run.launch;
        let place = Place::among(context, &interrupts, inventory, launch, &nodes, true)?;
        let run = Run::begin_keeping(&place.places, "cp", spec.run.keep_traces)?;
        spec.run.command_line.iter().try_for_each(|line| line.keep(&run))?;
        let Fleet { agents, children } = place.builder(&spec.run, &nodes, &run).assemble()?;
        let overtime = Overtime::watch("copying", &place.interrupts)?;
        let requests = wanted.iter().map(|wanted| wanted.request(spec)).collect();
        let replies = stat(agents, requests, Some(&place.interrupts));
        let seen = replies.or_nothing("asking the nodes for their files")?;
        let tasks = tasks::all(spec, &here, &wanted, seen, place.inventory.cluster())?;
        Ok(Self { spec, place, phases, nodes, tasks, children, run, overtime })
    }

    /// Returns the plans of the copies.
    pub fn plans(&self) -> Vec<&Plan> {
        self.tasks.iter().map(|task| &task.plan).collect()
    }

    /// Returns what is copied from which nodes: only they know the names in a tree. Nodes that have nothing to send
    /// are left out.
    pub fn sources(&self) -> impl Iterator<Item = GatheredSource> {
        let tasks = self.tasks.iter().filter(|task| task.agents.is_ok());
        tasks.map(|GatherTask { plan, paths, tally, .. }| {
            let names: Vec<&str> = plan.receivers().map(|(_, node)| node.name.as_str()).collect();
            GatheredSource { nodes: fold(&names), paths: paths.clone(), tally: *tally }
        })
    }

    /// Returns the nodes that have nothing to send.
    pub fn failures(&self) -> impl Iterator<Item = NothingThere<'_>> {
        self.tasks.iter().filter_map(|task| {
            let reason = task.agents.as_ref().err()?;
            let only = task.plan.receivers().map(|(_, node)| node).next()?;
            Some(NothingThere { node: &only.name, reason })
        })
    }

    /// Returns what the nodes send of their trees, and what they leave out; `None` if no node has a tree. It is known
    /// before the copies are made only if the command is a dry run.
    pub fn tree(&self) -> Option<TreeResult> {
        let trees = self.tasks.iter().filter_map(|task| {
            let tally = task.tally?;
            let only = task.plan.receivers().map(|(_, node)| node).next()?;
            Some(NodeTree { node: &only.name, tally, absence: &task.absence })
        });
        TreeResult::gathered(trees)
    }

    /// Returns the number of nodes that are asked.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Ends the agents that were started, and copies nothing.
    pub fn leave(self) {
        self.children.end(FAREWELL, |_| false);
    }

    /// Makes the copies, and reports their progress to `observer`. Returns their result, which is not stored yet,
    /// and the run.
    ///
    /// # Errors
    /// When the plans cannot be stored.
    pub fn make(self, observer: &mut dyn Observer) -> Result<(CopyResult, Run), Failure> {
        keep_plans(&self.run, &self.plans())?;
        let Self { spec, place, phases, nodes, tasks, children, run, overtime } = self;
        let lab = place.lab.as_ref();
        let lanes = tasks.iter().map(|task| task.plan.lanes.len()).max().unwrap_or(1);
        let transport = spec.transport(lab, lanes);
        let limit = match &tasks[..] {
            // The wires have the same rate in the other direction.
            [GatherTask { plan, agents: Ok(agents), .. }] => {
                let reversed = plan.clone().reversed();
                let payload = handling::plain(spec);
                limit::of_copy(spec, &place, &reversed, payload, transport, agents)
            }
            // Outside of a lab the limit of several simultaneous copies is unknown.
            _ => {
                let plans: Vec<&Plan> = tasks.iter().map(|task| &task.plan).collect();
                limit::of_gather(spec, lab, &plans, transport)
            }
        };
        let several = tasks.len() > 1;
        let common = Common {
            spec,
            transport,
            tracing: spec.tracing(lab, phases.last_ns()),
            // Save the traces of each copy when it ends: keeping those of a thousand copies in memory
            // would need 1 GB.
            keep: &|plan, traces| {
                let node = several.then(|| plan.nodes[1].name.as_str());
                run.keep_traces(&place.places, node, traces);
            },
            interrupts: &place.interrupts,
        };
        let tallies: Vec<Option<Tally>> = tasks.iter().map(|task| task.tally).collect();
        let copies = run_all(tasks, &common, observer);
        overtime.end();
        let interrupted = copies.iter().any(|copied| copied.outcome.interrupted);
        let silent = |at: usize| is_silent(&copies, nodes.get(at));
        children.end(if interrupted { HURRY } else { FAREWELL }, silent);
        let trees =
            tallies.iter().zip(&copies).filter_map(|(tally, copied)| Some(((*tally)?, copied)));
        let tree = TreeResult::gathered(trees.flat_map(|(tally, copied)| {
            let nodes = copied.outcome.nodes.iter();
            nodes.map(move |node| NodeTree { node: &node.name, tally, absence: &node.absence })
        }));
        let outcome = CopyOutcome {
            direction: Direction::In,
            copies,
            phases,
            limit,
            congestion: spec.tuning.congestion_in_force(),
            unchanged: Unchanged::default(),
            unusable: Vec::new(),
            unread: Vec::new(),
            path: Vec::new(),
            // Only sources of this machine can be off its disks.
            is_off_disk: false,
            read_back: spec.checks.read_back,
            tree,
            holders: Vec::new(),
        };
        Ok((CopyResult::new(&run, outcome), run))
    }
}

/// Whether a node has died or hangs in any of the copies; the command then does not wait for the
/// node's agent.
fn is_silent(copies: &[Copied], node: Option<&Node>) -> bool {
    let mut ends = copies.iter().flat_map(|copied| &copied.outcome.nodes);
    node.is_some_and(|node| ends.any(|end| end.silent && end.name == node.name))
}

fn keep_plans(run: &Run, plans: &[&Plan]) -> Result<(), Failure> {
    match plans {
        [plan] => run.keep("plan.json", plan),
        _ => run.keep("plan.json", &plans),
    }
}
