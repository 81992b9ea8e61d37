//! The head's hands: one for each node, with what is to be told to it, and what its clock says.

use std::io;

use garland_core::farm::Command;
use garland_core::plan::NodeId;
use garland_protocol::{FarmOrder, FarmTask, NodeFacts, ToAgent};
use garland_sys::clock;

use crate::agent_set::AgentSet;
use crate::copy::Agent;

/// An agent that is silent for so long is gone.
pub const SILENCE_NS: u64 = 5_000_000_000;

/// Bytes of commands that one message may have.
const MESSAGE: usize = 48 << 10;

/// Bytes that a task has besides its words, at most.
const TASK: usize = 64;

/// A node as the head sees it.
#[derive(Debug, Default)]
pub struct Worker {
    /// What it has for jobs, once it has told.
    pub facts: Option<NodeFacts>,
    /// Whether it sees the files that it is to mount.
    pub sees: bool,
    /// Why it takes none.
    pub gone: Option<String>,
    /// When it said something last.
    heard_ns: u64,
    /// How far its clock is ahead of ours, and how long the question took.
    clock: Option<(i64, u64)>,
    tasks: Vec<FarmTask>,
}

impl Worker {
    /// It has said something.
    pub fn heard(&mut self) {
        self.heard_ns = clock::now_ns();
    }

    /// It has told the time: when it was asked, by our clock, and when it got the question and answered,
    /// by its own.
    pub fn told_time(&mut self, asked_ns: u64, received_ns: u64, answered_ns: u64) {
        let now = clock::now_ns();
        let took = now.saturating_sub(asked_ns);
        let middle = i128::from(asked_ns) + i128::from(took / 2);
        let theirs = i128::midpoint(i128::from(received_ns), i128::from(answered_ns));
        let ahead = i64::try_from(theirs - middle).unwrap_or(0);
        if self.clock.is_none_or(|(_, before)| took < before) {
            self.clock = Some((ahead, took));
        }
    }

    /// What our clock said when its own said this.
    pub fn our_ns(&self, theirs_ns: u64) -> u64 {
        theirs_ns.saturating_add_signed(-self.clock.map_or(0, |(ahead, _)| ahead))
    }

    /// It is to run this.
    pub fn give(&mut self, task: FarmTask) {
        self.tasks.push(task);
    }
}

/// All nodes.
pub struct WorkerSet {
    /// By their places.
    pub all: Vec<Worker>,
    board: AgentSet,
}

/// What `wait` has found.
pub use crate::agent_set::AgentEvent;

impl WorkerSet {
    /// The agents of a run.
    pub fn new(agents: Vec<Result<Agent, String>>) -> Self {
        let mut all = Vec::new();
        let mut connections = Vec::new();
        for agent in agents {
            let (connection, gone) = match agent {
                Ok(agent) => (Some(agent.connection), None),
                Err(reason) => (None, Some(reason)),
            };
            all.push(Worker { gone, heard_ns: clock::now_ns(), ..Worker::default() });
            connections.push(connection);
        }
        Self { all, board: AgentSet::new(connections.into_iter()) }
    }

    /// Says something to a node.
    pub fn send(&mut self, node: usize, message: &ToAgent) {
        self.board.send(id(node), message);
    }

    /// Says something about jobs to a node.
    pub fn order(&mut self, node: usize, order: FarmOrder) {
        self.send(node, &ToAgent::Farm(order));
    }

    /// Sends all that is to be run.
    pub fn flush(&mut self) {
        for node in 0..self.all.len() {
            let (mut together, mut bytes) = (Vec::new(), 0);
            for task in std::mem::take(&mut self.all[node].tasks) {
                let size = TASK + size(&task);
                if bytes + size > MESSAGE && !together.is_empty() {
                    self.order(node, FarmOrder::Run(std::mem::take(&mut together)));
                    bytes = 0;
                }
                bytes += size;
                together.push(task);
            }
            if !together.is_empty() {
                self.order(node, FarmOrder::Run(together));
            }
        }
    }

    /// Waits for what nodes have to say.
    ///
    /// # Errors
    /// When the system can't wait.
    pub fn wait(
        &mut self,
        others: &[std::os::fd::BorrowedFd<'_>],
        timeout: std::time::Duration,
    ) -> io::Result<Vec<(usize, AgentEvent)>> {
        let calls = self.board.wait(others, timeout)?;
        Ok(calls.into_iter().map(|(id, call)| (id.index() - 1, call)).collect())
    }

    /// A node that should have said something by now.
    pub fn silent(&self) -> Option<usize> {
        let now = clock::now_ns();
        let is_silent =
            |hand: &Worker| hand.gone.is_none() && now.saturating_sub(hand.heard_ns) > SILENCE_NS;
        self.all.iter().position(is_silent)
    }
}

fn id(node: usize) -> NodeId {
    NodeId(u32::try_from(node + 1).expect("a run has fewer nodes"))
}

/// Bytes of what differs from task to task.
pub fn size(task: &FarmTask) -> usize {
    let command = match &task.command {
        Command::Words(words) => words.iter().map(|word| word.bytes().len() + 3).sum(),
        Command::Line(line) => line.bytes().len(),
    };
    let outputs = task.outputs.iter().map(|(one, two)| one.bytes().len() + two.bytes().len() + 6);
    command + outputs.sum::<usize>()
}
