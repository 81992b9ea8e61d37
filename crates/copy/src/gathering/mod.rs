//! A copy from nodes: of a file or tree of each node, or of the stripes of one file.

mod side_by_side;
mod tasks;
mod wanted;

use std::sync::Arc;

use garland_control::stat;
use garland_core::cluster::{Node, nodelist::fold};
use garland_core::plan::Plan;
use garland_dataplane::tree::Tally;
use garland_fleet::builder::{Children, Fleet};
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_results::copy_outcome::{Copied, CopyOutcome, Direction};
use garland_results::tree::{NodeTree, TreeResult};
use garland_state::run::Run;
use garland_sys::clock;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

pub use self::tasks::LocalEnd;
pub use self::wanted::FromNodes;

use self::side_by_side::{Common, run_all};
use self::tasks::{GatherTask, Here};
use self::wanted::Wanted;
use crate::observer::Observer;
use crate::place::Place;
use crate::session::{MadeCopy, Session};
use crate::spec::CopySpec;
use crate::{handling, limit};

/// Copies from nodes that are wanted. No node has been contacted.
pub struct WantedGather<'a> {
    wanted: Vec<Wanted>,
    here: Here<'a>,
}

/// Copies from nodes that are planned: the nodes have told what they have.
pub struct PlannedGather<'a> {
    session: Session<'a>,
    /// The nodes, as the user listed them.
    nodes: Vec<Node>,
    tasks: Vec<GatherTask>,
    children: Children,
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

impl<'a> WantedGather<'a> {
    /// Finds the nodes of `sources`, from which is copied to `to`, and enters their lab if they
    /// have one.
    ///
    /// # Errors
    /// When the copies cannot be made in this way, or the lab cannot be entered.
    pub fn enter(
        context: &Context,
        interrupts: &Arc<Interrupts>,
        spec: &CopySpec,
        sources: &[FromNodes],
        to: LocalEnd<'a>,
    ) -> Result<(Place, Self), Failure> {
        let inventory = Inventory::open(context)?;
        let wanted = Wanted::all(spec, sources, &inventory)?;
        let here = Here::new(to, &wanted, spec)?;
        spec.slow.refuse_unreachable(wanted.len())?;
        if !here.is_kept() {
            spec.refuse_to_read_back("data that goes to /dev/null or a pipe cannot be read back")?;
        }
        let gather = Self { wanted, here };
        let launch = &spec.run.launch;
        let place = Place::among(context, interrupts, inventory, launch, &gather.nodes(), true)?;
        Ok((place, gather))
    }

    fn nodes(&self) -> Vec<Node> {
        self.wanted.iter().map(|wanted| wanted.node.clone()).collect()
    }

    /// Plans the copies, by what the nodes have.
    ///
    /// # Errors
    /// When no node can be reached, or none has anything to send.
    pub fn ask<'s>(
        self,
        mut session: Session<'s>,
        observer: &mut dyn Observer,
    ) -> Result<PlannedGather<'s>, Failure> {
        let nodes = self.nodes();
        let Self { wanted, here } = self;
        let Session { spec, place, .. } = session;
        let builder = place.builder(&spec.run, &nodes, &session.run);
        let Fleet { agents, children } = session.assemble(&builder)?;
        let requests = wanted.iter().map(|wanted| wanted.request(spec)).collect();
        let mut tell = |awaited: &[usize]| {
            let names: Vec<&str> = awaited.iter().map(|at| nodes[*at].name.as_str()).collect();
            observer.waits(clock::now_ns(), "looking for the files", &names);
        };
        let replies = stat(agents, requests, Some(&place.interrupts), &mut tell);
        let seen = replies.or_nothing("cannot ask the nodes for their files")?;
        let tasks = tasks::all(spec, &here, &wanted, seen, place.inventory.cluster())?;
        Ok(PlannedGather { session, nodes, tasks, children })
    }
}

impl PlannedGather<'_> {
    /// Returns the plans of the copies.
    pub fn plans(&self) -> Vec<&Plan> {
        self.tasks.iter().map(|task| &task.plan).collect()
    }

    /// Returns what is copied from which nodes: only they know the names in a tree. Nodes that have
    /// nothing to send are left out.
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

    /// Returns what the nodes send of their trees, and what they leave out; `None` if no node has a
    /// tree. It is known before the copies are made only if the command is a dry run.
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
        let Self { mut session, children, .. } = self;
        session.end_children(children, false, |_| false);
    }

    /// Makes the copies, and reports their progress to `observer`.
    ///
    /// # Errors
    /// When the plans cannot be stored.
    pub fn make(self, observer: &mut dyn Observer) -> Result<MadeCopy, Failure> {
        keep_plans(&self.session.run, &self.plans())?;
        let Self { mut session, nodes, tasks, children } = self;
        let Session { spec, place, .. } = session;
        let lab = place.lab.as_ref();
        let lanes = tasks.iter().map(|task| task.plan.lanes.len()).max().unwrap_or(1);
        let transport = spec.transport(lab, lanes);
        let limit = match &tasks[..] {
            // The wires have the same rate in the other direction.
            [GatherTask { plan, agents: Ok(agents), .. }] => {
                let reversed = plan.clone().reversed();
                let payload = handling::plain(spec);
                limit::of_copy(spec, place, &reversed, payload, transport, agents)
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
            tracing: spec.tracing(lab, session.phases.began_ns()),
            // Save the traces of each copy when it ends: keeping those of a thousand copies in
            // memory would need 1 GB.
            keep: &|plan, traces| {
                let node = several.then(|| plan.nodes[1].name.as_str());
                session.run.keep_traces(&place.places, node, traces);
            },
            interrupts: &place.interrupts,
        };
        let tallies: Vec<Option<Tally>> = tasks.iter().map(|task| task.tally).collect();
        let copies = run_all(tasks, &common, observer);
        let was_interrupted = copies.iter().any(|copied| copied.outcome.interrupted);
        let agents_started = children.have_any();
        let said_nothing = |at: usize| is_silent(&copies, nodes.get(at));
        session.end_children(children, was_interrupted, said_nothing);
        let trees =
            tallies.iter().zip(&copies).filter_map(|(tally, copied)| Some(((*tally)?, copied)));
        let tree = TreeResult::gathered(trees.flat_map(|(tally, copied)| {
            let nodes = copied.outcome.nodes.iter();
            nodes.map(move |node| NodeTree { node: &node.name, tally, absence: &node.absence })
        }));
        let made = session.close(Direction::In, copies, limit);
        Ok(MadeCopy { outcome: CopyOutcome { tree, agents_started, ..made.outcome }, ..made })
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
