//! A fleet: an agent on each of the nodes, started or found standing, and spoken to.

mod late;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use garland_control::Agent;
use garland_core::cluster::{Cluster, Node};
use garland_lab::Lab;
use garland_protocol::{ClockFault, KeyPair, ToAgent};
use garland_sys::limits;
use garland_sys::process;
use garland_sys::signal::Interrupts;

use crate::args::Launch;
use crate::at_once::at_once;
use crate::inventory::{self, Inventory};
use crate::launch::{
    HURRY, Launched, LaunchedChild, Orders, REAPING, Ways, Will, after, lab, local,
};
use crate::reach::{self, Unreached};
use crate::standing::{Shelf, Standing};
use garland_results::places::Places;
use garland_results::run::Run;
use garland_terminal::failure::Failure;
use garland_terminal::starting;

/// What agents are started for.
pub struct FleetBuilder<'a> {
    /// The nodes.
    pub nodes: &'a [Node],
    /// What node lists refer to, where nodes may join.
    pub inventory: Option<&'a Inventory>,
    /// The cluster file's cluster, which says how nodes are reached.
    pub cluster: Option<&'a Cluster>,
    /// Where state is kept.
    pub places: &'a Places,
    /// How agents are started.
    pub launch: &'a Launch,
    /// Where their complaints go.
    pub logs: PathBuf,
    /// The lab that the nodes belong to, entered before.
    pub lab: Option<&'a Lab>,
    /// Stay for so many seconds without anything to do, beyond this command.
    pub stay: Option<u64>,
    /// What tells that the user gave up; nothing, if the process simply ends then.
    pub interrupts: Option<Arc<Interrupts>>,
    /// Without a word on the terminal.
    pub quiet: bool,
    /// What they are started for is the network itself: a lab's agents are spoken to beside its
    /// wires, and this machine, if it is one of the nodes, has its agent started without ssh.
    pub beside_wires: bool,
    /// Nodes whose clocks are to be wrong on purpose, by name.
    pub clocks: &'a [(String, ClockFault)],
    /// The folder of local nodes, if it isn't one of their own.
    pub here: Option<PathBuf>,
}

/// What every node's enlisting needs.
struct Recruiter<'a> {
    keys: &'a KeyPair,
    orders: &'a Orders,
    ways: &'a Ways<'a>,
    shelf: &'a Shelf,
}

/// An agent and what it hangs on, or why there is none.
type Enlisted = Result<(Agent, Option<LaunchedChild>), String>;

/// Agents that can be commanded, or why not, in the nodes' order.
pub struct Fleet {
    /// The agents.
    pub agents: Vec<Result<Agent, String>>,
    /// What they hang on.
    pub children: Children,
}

/// The processes that agents hang on, in the nodes' order; none for an agent that was found
/// standing. Dropping them ends those agents.
#[derive(Default)]
pub struct Children(Vec<Option<LaunchedChild>>);

impl Children {
    /// Ends all agents at once, and waits for at most `patience`, all of it together; those of nodes
    /// that are silent, by their place, are not waited for.
    pub fn end(mut self, patience: Duration, is_silent: impl Fn(usize) -> bool) {
        let deadline_ns = after(patience);
        let (mut others, mut hung) = (Vec::new(), Vec::new());
        for (at, child) in self.0.drain(..).enumerate() {
            let Some(mut child) = child else { continue };
            child.dismiss();
            if is_silent(at) {
                child.kill();
                hung.push(child);
            } else {
                others.push(child);
            }
        }
        others.iter_mut().for_each(|child| child.end(deadline_ns));
        // All that were killed have the same time to be gone.
        let deadline_ns = after(REAPING);
        others.into_iter().chain(hung).for_each(|mut child| child.reap(deadline_ns));
    }
}

impl<'a> FleetBuilder<'a> {
    /// Agents for one command, which stands in `lab` already if its nodes are a lab's: none stays,
    /// and their complaints go to the run's folder.
    pub fn new(
        nodes: &'a [Node],
        inventory: &'a Inventory,
        places: &'a Places,
        launch: &'a Launch,
        run: &Run,
        lab: Option<&'a Lab>,
    ) -> Self {
        Self {
            nodes,
            inventory: None,
            cluster: inventory.cluster(),
            places,
            launch,
            logs: run.folder().to_owned(),
            lab,
            stay: None,
            interrupts: None,
            quiet: false,
            beside_wires: false,
            clocks: &[],
            here: None,
        }
    }
}

impl FleetBuilder<'_> {
    /// Starts an agent on every node that hasn't one, and connects to all.
    pub fn assemble(&self) -> Result<Fleet, Failure> {
        // With fewer descriptors many nodes do, and what fails for their want says so.
        let _ = limits::raise_open_files();
        if let Some(lab) = self.lab.filter(|_| self.stay.is_none()) {
            lab::keep_topology(lab, &self.logs)?;
        }
        let will = Will::until(self.interrupts.clone());
        let shelf = Shelf::open(self.places, self.lab.map(Lab::name))?;
        let (results, child) = starting::watch(self.quiet, self.nodes.len(), |ready| {
            self.recruit(self.nodes, &will, &shelf, ready)
        })?;
        let mut fleet = Fleet { agents: Vec::new(), children: Children::default() };
        for result in results {
            let (agent, child) = match result {
                Ok((agent, child)) => (Ok(agent), child),
                Err(reason) => (Err(reason), None),
            };
            fleet.agents.push(agent);
            fleet.children.0.push(child);
        }
        fleet.children.0.push(child);
        if will.is_over() {
            // Agents end with their channels.
            drop(fleet.agents);
            fleet.children.end(HURRY, |_| false);
            return Err(Failure::interrupted("starting agents"));
        }
        self.turn_down_loopbacks(&mut fleet, &shelf);
        Ok(fleet)
    }

    /// Agents on these nodes, or why there are none, and what they hang on together. Counts those that
    /// are ready.
    fn recruit(
        &self,
        nodes: &[Node],
        will: &Will,
        shelf: &Shelf,
        ready: &AtomicUsize,
    ) -> Result<(Vec<Enlisted>, Option<LaunchedChild>), Failure> {
        let keys = self.places.controller_keys()?;
        let orders = Orders {
            controller: keys.public,
            mptcp: self.launch.takes_mptcp(self.lab),
            disk: None,
            clock: None,
            stay: self.stay,
            will: will.clone(),
        };
        let allocation = std::env::var("SLURM_JOB_NODELIST").ok();
        let asked = self.launch.launcher;
        let ways = Ways::new(nodes, self.cluster, asked, allocation.as_deref(), &self.logs);
        let recruiter = Recruiter { keys: &keys, orders: &orders, ways: &ways, shelf };
        let enlist = |node: &Node| {
            let mut result = self.enlist(node, &recruiter);
            if self.is_real(node) {
                ways.settle(node, result.as_mut().ok().map(|(agent, _)| agent));
            }
            result
        };
        let results = at_once(nodes, ways.fanout(), |node| {
            let enlisted = enlist(node);
            ready.fetch_add(1, Ordering::Relaxed);
            enlisted
        });
        Ok((results, ways.into_child()))
    }

    /// Whether it is a machine of the network.
    fn is_real(&self, node: &Node) -> bool {
        self.lab.is_none() && !inventory::is_local(&node.name)
    }

    /// A node whose name leads to a loopback address is found by the head, which it is itself, and
    /// by no other node.
    fn turn_down_loopbacks(&self, fleet: &mut Fleet, shelf: &Shelf) {
        let is_loopback = |agent: &Agent| agent.addresses.iter().any(|at| at.ip().is_loopback());
        if self.beside_wires {
            return;
        }
        let others = self.nodes.iter().zip(&fleet.agents);
        let mut others = others.filter(|(node, _)| self.is_real(node));
        if !others.any(|(_, agent)| agent.as_ref().is_ok_and(|agent| !is_loopback(agent))) {
            return;
        }
        for (node, slot) in self.nodes.iter().zip(&mut fleet.agents) {
            let Ok(agent) = slot else { continue };
            let own = agent.addresses.iter().find(|at| at.ip().is_loopback()).map(SocketAddr::ip);
            if let Some(address) = own.filter(|_| self.is_real(node)) {
                // One that stays would be found again, and be of as little use. Where this can't be
                // sent its record stays; one that doesn't stay ends with its channel.
                if agent.connection.send(&ToAgent::Shutdown).is_ok()
                    && let Some(standing) = Standing::find(shelf, &node.name)
                {
                    standing.forget(shelf);
                }
                *slot = Err(reach::own_address(address));
            }
        }
    }

    fn enlist(&self, node: &Node, recruiter: &Recruiter<'_>) -> Enlisted {
        let Recruiter { keys, orders, ways, shelf } = *recruiter;
        orders.will.check()?;
        let clock = self.clock_of(node);
        if let Some(standing) = Standing::find(shelf, &node.name) {
            if clock.is_some() {
                let why = "its agent stands, and has its clock already: `garland down` it first";
                return Err(why.to_owned());
            }
            match self.connect(node, &standing, keys) {
                Ok(agent) => return Ok((agent, None)),
                // Its time was over, or its machine was started again.
                Err(error) if error.is_nobody() => standing.forget(shelf),
                // It may be stopped or busy. No second one is to stay beside it.
                Err(error) if self.stay.is_some() => return Err(error.of_one_that_stays()),
                // This command gets an agent of its own, which ends with it.
                Err(_) => {}
            }
        }
        let launched = match clock {
            None => self.start(node, orders, ways)?,
            clock => self.start(node, &Orders { clock, ..orders.clone() }, ways)?,
        };
        let standing = Standing::of(&node.name, &launched);
        let agent =
            self.connect(node, &standing, keys).map_err(|error| match self.is_real(node) {
                true => error.after_login(),
                false => error.to_string(),
            })?;
        if self.stay.is_some() {
            standing.keep(shelf)?;
        }
        Ok((agent, launched.child))
    }

    fn clock_of(&self, node: &Node) -> Option<ClockFault> {
        self.clocks.iter().find(|(name, _)| *name == node.name).map(|(_, fault)| *fault)
    }

    fn connect(
        &self,
        node: &Node,
        standing: &Standing,
        keys: &KeyPair,
    ) -> Result<Agent, Unreached> {
        match self.lab {
            Some(lab) if self.beside_wires => lab::connect_beside(lab, &node.name, standing, keys),
            _ => standing.connect(keys),
        }
    }

    /// Whether it is this machine, whose agent needs no ssh.
    fn is_own(&self, node: &Node) -> bool {
        self.beside_wires && self.is_real(node) && node.name == process::host_name()
    }

    fn start(&self, node: &Node, orders: &Orders, ways: &Ways<'_>) -> Result<Launched, String> {
        // A run's folder goes before an agent that stays.
        let folder = match self.stay {
            Some(_) => self.places.folder("agents").map_err(|failure| failure.to_string())?,
            None => self.logs.clone(),
        };
        let log = folder.join(log_name(&node.name));
        if inventory::is_local(&node.name) || self.is_own(node) {
            if let Some(folder) = &self.here {
                return local::launch(&node.name, folder, orders, &log);
            }
            let root = local_root(self.places, self.launch.local_root.as_deref(), &node.name)?;
            return local::launch(&node.name, &root, orders, &log);
        }
        if let Some(lab) = self.lab {
            return lab::launch(lab, &node.name, orders, &log);
        }
        ways.start(node, orders, &log)
    }
}

/// The name of the file that a node's agent complains to.
pub fn log_name(node: &str) -> String {
    format!("{}.log", node.replace(['/', ':'], "_"))
}

/// The folder of a local node.
pub fn local_root(places: &Places, given: Option<&Path>, name: &str) -> Result<PathBuf, String> {
    let base = match given {
        Some(given) => std::path::absolute(given).map_err(|error| error.to_string())?,
        None => places.folder("local").map_err(|failure| failure.to_string())?,
    };
    Ok(base.join(name))
}
