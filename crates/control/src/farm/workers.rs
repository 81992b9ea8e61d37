//! The nodes of a farm: the queued tasks, resources and clock of each.

use garland_core::farm::Command;
use garland_protocol::{FarmOrder, FarmTask, NodeFacts, ToAgent};
use garland_sys::clock;

use crate::agents::Agents;
use crate::copy::Agent;

/// The maximum size of the tasks in one message, in bytes.
const MESSAGE: usize = 48 << 10;

/// An upper bound for the size of a task without its command and outputs, in bytes.
const TASK: usize = 64;

/// The state of a node, as the head knows it.
#[derive(Debug, Default)]
pub struct Worker {
    /// The node's resources; `None` before the node has reported them.
    pub facts: Option<NodeFacts>,
    /// Whether the node's mount works. Also true if the node needs none.
    pub sees: bool,
    /// Why the node gets no more jobs; `None` if it is usable.
    pub gone: Option<String>,
    /// The offset of the node's clock from this machine's clock, and the round trip of the probe,
    /// in nanoseconds; `None` before the first answer.
    clock: Option<(i64, u64)>,
    tasks: Vec<FarmTask>,
}

impl Worker {
    /// Handles the answer to a clock probe. This machine sent the probe at `asked_ns` by its own
    /// clock; the node received and answered it at the other times, by the node's clock. The probe
    /// with the shortest round trip counts.
    pub fn note_clock(&mut self, asked_ns: u64, received_ns: u64, answered_ns: u64) {
        let now = clock::now_ns();
        let took = now.saturating_sub(asked_ns);
        let middle = i128::from(asked_ns) + i128::from(took / 2);
        let theirs = i128::midpoint(i128::from(received_ns), i128::from(answered_ns));
        let ahead = i64::try_from(theirs - middle).unwrap_or(0);
        if self.clock.is_none_or(|(_, before)| took < before) {
            self.clock = Some((ahead, took));
        }
    }

    /// Converts a time in nanoseconds of the node's clock to this machine's clock.
    pub fn our_ns(&self, theirs_ns: u64) -> u64 {
        theirs_ns.saturating_add_signed(-self.clock.map_or(0, |(ahead, _)| ahead))
    }

    /// Queues a task.
    pub fn give(&mut self, task: FarmTask) {
        self.tasks.push(task);
    }
}

/// The nodes of a run, and their agents.
pub struct WorkerSet {
    /// The nodes, by index.
    pub all: Vec<Worker>,
    /// The agents of the nodes, by index.
    pub agents: Agents,
}

impl WorkerSet {
    /// Creates the set from the agent or error of each node.
    pub fn new(agents: Vec<Result<Agent, String>>) -> Self {
        let (agents, reasons) = Agents::split(agents);
        let all = reasons.into_iter().map(|gone| Worker { gone, ..Worker::default() });
        Self { all: all.collect(), agents }
    }

    /// Sends an order about jobs to a node.
    pub fn order(&mut self, node: usize, order: FarmOrder) {
        self.agents.send(node, &ToAgent::Farm(order));
    }

    /// Sends all queued tasks.
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

    /// Returns the index of a usable node whose agent is considered dead because it is silent, and
    /// this reason; `None` if there is none.
    pub fn silent(&self) -> Option<(usize, String)> {
        self.agents.silent().find(|(node, _)| self.all[*node].gone.is_none())
    }
}

/// Returns an upper bound for the size of a task's command and outputs in a message, in bytes.
pub fn size(task: &FarmTask) -> usize {
    let command = match &task.command {
        Command::Words(words) => words.iter().map(|word| word.bytes().len() + 3).sum(),
        Command::Line(line) => line.bytes().len(),
    };
    let outputs = task.outputs.iter().map(|(one, two)| one.bytes().len() + two.bytes().len() + 6);
    command + outputs.sum::<usize>()
}
