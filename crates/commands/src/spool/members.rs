//! The nodes of a spool: the agents of those that are up, and why the others are down.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use garland_control::{Agent, Session};
use garland_core::cluster::Node;
use garland_protocol::operation::Rest;
use garland_sys::channel::{Receiver, Sender, channel};
use garland_sys::clock;
use garland_sys::event::{Wake, wait_readable};
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

/// The pause before a node that went down is started again; each later pause is twice as long.
const FIRST_PAUSE_NS: u64 = 1_000_000_000;

/// The longest pause.
const LAST_PAUSE_NS: u64 = 30_000_000_000;

/// The agents of nodes that were asked for, by the nodes' indexes, or why a node has none.
pub type Started = Vec<(usize, Result<Agent, String>)>;

/// A node without an agent.
struct Down {
    /// The pause before the next start, and the time of that start; `None` while the start is under
    /// way.
    pause_ns: u64,
    due_ns: Option<u64>,
}

/// The nodes of a spool. Nodes that are down are started again by another thread.
pub struct Members {
    nodes: Vec<Node>,
    up: BTreeMap<usize, Agent>,
    down: BTreeMap<usize, Down>,
    /// Orders to start nodes, and what came of them.
    starts: Sender<Vec<usize>>,
    started: Receiver<Started>,
    wake: Arc<Wake>,
}

/// The other end of [`Members`]: the thread that starts agents.
pub struct Starter {
    starts: Receiver<Vec<usize>>,
    started: Sender<Started>,
    wake: Arc<Wake>,
}

impl Starter {
    /// Starts the agents that are asked for by `start`, until the [`Members`] are dropped.
    pub fn run(self, start: impl Fn(&[usize]) -> Started) {
        for nodes in self.starts.iter() {
            if self.started.send(start(&nodes)).is_err() {
                return;
            }
            self.wake.raise();
        }
    }
}

impl Members {
    /// Creates the members from the first start of all `nodes`.
    pub fn new(
        nodes: Vec<Node>,
        agents: Vec<Result<Agent, String>>,
    ) -> Result<(Self, Starter), Failure> {
        let wake = Arc::new(Wake::new().or_nothing("cannot serve the spool")?);
        let (starts, ordered) = channel();
        let (done, started) = channel();
        let starter = Starter { starts: ordered, started: done, wake: Arc::clone(&wake) };
        let up = BTreeMap::new();
        let down = BTreeMap::new();
        let mut members = Self { nodes, up, down, starts, started, wake };
        for (node, agent) in agents.into_iter().enumerate() {
            members.take_back(node, agent);
        }
        Ok((members, starter))
    }

    /// Returns the nodes, in the order of the node list.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns whether a node has an agent.
    pub fn is_up(&self, node: usize) -> bool {
        self.up.contains_key(&node)
    }

    /// Lends the agent of a node to a copy.
    pub fn lend(&mut self, node: usize) -> Result<Agent, String> {
        self.up.remove(&node).ok_or_else(|| "its agent is gone".to_owned())
    }

    /// Takes back the agent of a node from an operation, or notes why it has none any more.
    pub fn take_back(&mut self, node: usize, agent: Result<Agent, String>) {
        match agent {
            Ok(agent) => {
                self.down.remove(&node);
                self.up.insert(node, agent);
            }
            Err(reason) => {
                let name = &self.nodes[node].name;
                let pause_ns = match self.down.get(&node) {
                    Some(down) => (2 * down.pause_ns).min(LAST_PAUSE_NS),
                    None => {
                        garland_terminal::errln!("down    {name}: {reason}");
                        FIRST_PAUSE_NS
                    }
                };
                let due_ns = Some(clock::now_ns().saturating_add(pause_ns));
                self.down.insert(node, Down { pause_ns, due_ns });
            }
        }
    }

    /// Takes the agents that were started again. Returns their nodes.
    pub fn come_back(&mut self) -> Vec<usize> {
        self.wake.lower();
        let mut back = Vec::new();
        for (node, agent) in self.started.try_iter().flatten().collect::<Vec<_>>() {
            if agent.is_ok() {
                garland_terminal::errln!("up      {}", self.nodes[node].name);
                back.push(node);
            }
            self.take_back(node, agent);
        }
        back
    }

    /// Orders the start of the nodes that are down and due.
    pub fn start_due(&mut self) {
        let now = clock::now_ns();
        let due = self.down.iter_mut().filter(|(_, down)| down.due_ns.is_some_and(|at| at <= now));
        let due: Vec<usize> = due.map(|(node, down)| (down.due_ns = None, *node).1).collect();
        if !due.is_empty() {
            // Cannot fail: the starter ends with this value.
            let _ = self.starts.send(due);
        }
    }

    /// Keeps the channels of all agents until `watch` is readable, a node has come back or was
    /// lost, the user interrupts, or `timeout` has passed.
    pub fn rest(
        &mut self,
        watch: Option<BorrowedFd<'_>>,
        interrupts: &Interrupts,
        timeout: Duration,
    ) -> Result<(), Failure> {
        let until_ns = clock::now_ns().saturating_add(timeout.as_nanos() as u64);
        let (numbers, agents): (Vec<usize>, Vec<_>) =
            std::mem::take(&mut self.up).into_iter().map(|(node, agent)| (node, Ok(agent))).unzip();
        let wake = Arc::clone(&self.wake);
        let wakes: Vec<BorrowedFd<'_>> = watch.into_iter().chain([wake.as_fd()]).collect();
        let mut session = Session::new(agents, Some(interrupts)).with_wakes(wakes.iter().copied());
        let rested = session.run(Rest::default(), &mut |rest| {
            let readable = wait_readable(&wakes, Some(Duration::ZERO));
            let is_woken = readable.is_ok_and(|ready| ready.contains(&true));
            if is_woken || clock::until(until_ns).is_zero() {
                rest.end();
            }
        });
        let mut lost = rested.or_nothing("cannot wait for agents")?.into_lost();
        for (at, (node, agent)) in numbers.into_iter().zip(session.into_agents()).enumerate() {
            self.take_back(node, lost.remove(&at).map_or(agent, Err));
        }
        Ok(())
    }
}
