//! The engines `agents` and `local`: run jobs on the agents of nodes, or on an agent of this
//! machine. An agent gets a job when it has a free slot.

use std::collections::HashMap;
use std::sync::Arc;

use garland_control::{Agent, FarmEnd, run_farm};
use garland_core::cluster::Node;
use garland_core::farm::{Engine, Job, Outcome, Text};
use garland_fleet::builder::{Fleet, FleetBuilder};
use garland_fleet::launch::{END_TIMEOUT, INTERRUPTED_END_TIMEOUT};
use garland_protocol::farm::dispatch::{FarmNews, FarmNode, FarmWork, Rules, Tries};
use garland_protocol::farm::placement::Placement;
use garland_protocol::farm::placement::{Mosix, Pull, Turns};
use garland_results::head::{NodeEnd, NodeVerdict};
use garland_sys::{process, random};
use garland_terminal::failure::{Failure, OrFailure};

use super::access::Access;
use super::agent_log::last_words_at;
use super::driver::{Driver, Ending, Work};
use super::ledger::Ledger;
use super::list::bytes_of_inputs;
use super::settings::Settings;
use super::task::JobTry;
use crate::args::{DataName, PlacementName};
use crate::result::NodeAccount;

/// The name of the node of the engine `local`. The node's agent runs in the working directory.
const HERE: &str = "local1";

/// The engine that runs jobs on agents.
pub struct Agents {
    engine: Engine,
}

impl Agents {
    /// The engine `agents`, on the nodes of the node list.
    pub const NODES: Self = Self { engine: Engine::Agents };
    /// The engine `local`, on this machine.
    pub const HERE: Self = Self { engine: Engine::Local };
}

impl Driver for Agents {
    fn run(&self, work: &Work<'_>, jobs: Vec<Job>, ledger: &mut Ledger) -> Result<Ending, Failure> {
        let Work { settings, asked, interrupts, .. } = work;
        let nodes = self.nodes(work)?;
        let lab = asked.launch.enter_lab(&nodes, work.places)?;
        let Work { inventory, places, run, .. } = work;
        let builder = FleetBuilder {
            interrupts: Some(Arc::clone(interrupts)),
            quiet: asked.quiet || work.context.json,
            here: (self.engine == Engine::Local).then(|| settings.folder.clone()),
            ..FleetBuilder::new(&nodes, inventory, places, &asked.launch, run, lab.as_ref())
        };
        let Fleet { agents, children } = builder.assemble()?;
        require_one(&nodes, &agents)?;
        let names = self.names(&nodes);
        let access = Access::open(work, &names, &agents, &jobs, lab.as_ref())?;
        let sizes = self.sizes(settings, &jobs);
        let secret = random::bytes();
        let farm = FarmWork {
            jobs,
            names: names.clone(),
            rules: self.rules(settings),
            placement: placement(settings.placement),
            slots: settings.slots,
            folder: access.folder.clone(),
            task: &|job, tries, restored| {
                access.place.task(job, JobTry { number: tries, restored, secret })
            },
            migrate: settings.migrate,
            streamed: work.prints_output,
            openings: access.openings.clone(),
            began_ns: work.began_ns,
        };
        let has_agent: Vec<bool> = agents.iter().map(Result::is_ok).collect();
        let mut failed = None;
        let last_words = |node: usize| last_words_at(work.run.folder(), &nodes[node].name);
        let stager = access.stager.as_ref();
        let ended = run_farm(farm, stager, agents, Some(interrupts), &mut |news| match news {
            FarmNews::Over(mut record) => {
                if let Some(&bytes_in) = sizes.get(&record.job) {
                    record.bytes_in = bytes_in;
                }
                let lost = record.node.as_ref().filter(|_| record.outcome == Outcome::NodeLost);
                if let Some(at) = lost.and_then(|lost| names.iter().position(|name| name == lost)) {
                    record.last_words = last_words(at);
                }
                ledger.note(*record);
            }
            FarmNews::Output(job, output) => ledger.output(job, &output),
            FarmNews::Begins(job) => ledger.begins(job),
            FarmNews::Wrote(job, is_error, bytes) => ledger.wrote(job, is_error, &bytes),
            FarmNews::Lost(node, reason) => {
                let folder = (stager.is_some() && has_agent[node]).then_some(&access.folder);
                tell_lost(&names[node], &reason, &last_words(node), folder);
            }
            FarmNews::NotMoved(job, node, what) => {
                garland_terminal::errln!("note    job {job} on {}: {what}", names[node]);
            }
            FarmNews::Turn(open) => {
                if let Err(failure) = ledger.commit(open) {
                    failed.get_or_insert(failure);
                }
            }
        });
        let ended = ended.or_nothing("cannot run jobs on agents")?;
        let silent = |at: usize| ended.nodes.get(at).is_some_and(|node| node.gone.is_some());
        children.end(if ended.interrupted { INTERRUPTED_END_TIMEOUT } else { END_TIMEOUT }, silent);
        failed.map_or_else(|| Ok(ending(settings, &names, &ended, &last_words)), Err)
    }
}

/// Prints that a node is lost, with the last lines of its agent's log, and the directory in which
/// it may have files of its jobs.
fn tell_lost(node: &str, reason: &str, last_words: &[Text], folder: Option<&Text>) {
    garland_terminal::errln!("lost    {node}: {reason}");
    last_words.iter().for_each(|line| garland_terminal::errln!("        {line}"));
    if let Some(folder) = folder {
        garland_terminal::errln!(
            "        files of its jobs are in {folder} there until its agent ends"
        );
    }
}

/// Fails if no node has an agent; the message contains the first reason.
fn require_one(nodes: &[Node], agents: &[Result<Agent, String>]) -> Result<(), Failure> {
    let mut reasons =
        nodes.iter().zip(agents).map(|(node, agent)| Some((node, agent.as_ref().err()?)));
    let first = reasons.next().flatten();
    match first {
        Some((node, reason)) if reasons.all(|reason| reason.is_some()) => Err(Failure::nothing(
            format!("no node can be used; the first error is {}: {reason}", node.name),
        )),
        _ => Ok(()),
    }
}

/// Returns the reason why a node was lost, with the last line of the log of the node's agent.
fn lost_why(reason: &str, last_words: &[Text]) -> String {
    match last_words.last() {
        Some(last) => format!("{reason}; the last line of its agent's log: {last}"),
        None => reason.to_owned(),
    }
}

/// Returns the result of the engine's run. `last_words` returns the last lines of the log of a
/// node's agent, by the node's index.
fn ending(
    settings: &Settings,
    names: &[String],
    ended: &FarmEnd,
    last_words: &dyn Fn(usize) -> Vec<Text>,
) -> Ending {
    let account = |(at, (name, node)): (usize, (&String, &FarmNode))| NodeAccount {
        memory: node.facts.map(|facts| facts.memory).filter(|&memory| memory > 0),
        mhz: node.facts.and_then(|facts| facts.mhz),
        share: node
            .facts
            .map_or(1.0, |facts| facts.share_of(settings.slots.unwrap_or(facts.cores))),
        end: NodeEnd::new(
            NodeVerdict::Dead,
            node.gone.as_ref().map(|reason| match node.facts {
                Some(_) => lost_why(reason, &last_words(at)),
                // It never had an agent: the reason is what the log says.
                None => reason.clone(),
            }),
        ),
        ..NodeAccount::new(
            name,
            settings.slots.or(node.facts.map(|facts| facts.cores)).unwrap_or(0),
        )
    };
    let nodes = names.iter().zip(&ended.nodes).enumerate().map(account).collect();
    Ending { nodes, interrupted: ended.interrupted }
}

impl Agents {
    fn rules(&self, settings: &Settings) -> Rules {
        Rules {
            tries: Tries::again(settings.retries),
            at_once: settings.all_at_once,
            staged: settings.data == DataName::Stage,
            engine: self.engine,
        }
    }

    fn nodes(&self, work: &Work<'_>) -> Result<Vec<Node>, Failure> {
        match &work.settings.nodes {
            Some(list) if self.engine == Engine::Agents => work.inventory.nodes(list),
            _ => Ok(vec![Node::named(HERE)]),
        }
    }

    /// Returns the names of the nodes as in records: with the engine `local`, the name of this
    /// machine.
    fn names(&self, nodes: &[Node]) -> Vec<String> {
        match self.engine {
            Engine::Local => vec![process::host_name()],
            _ => nodes.iter().map(|node| node.name.clone()).collect(),
        }
    }

    /// Returns the total size in bytes of the inputs of each job that has inputs, by job number;
    /// empty unless jobs access inputs on this machine directly or through a mount.
    fn sizes(&self, settings: &Settings, jobs: &[Job]) -> HashMap<u32, u64> {
        let has_them = self.engine == Engine::Local || settings.data == DataName::Mount;
        let jobs = jobs.iter().filter(|job| has_them && !job.inputs.is_empty());
        jobs.map(|job| (job.number, bytes_of_inputs(job, &settings.folder))).collect()
    }
}

fn placement(name: PlacementName) -> Box<dyn Placement> {
    match name {
        PlacementName::Pull => Box::new(Pull),
        PlacementName::Turns => Box::new(Turns::default()),
        // A fixed seed makes runs repeatable.
        PlacementName::Mosix => Box::new(Mosix::new(1)),
    }
}
