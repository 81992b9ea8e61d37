//! Agents inside a Slurm allocation: one `srun` starts all of them and is their launching channel.
//!
//! What `srun` reads goes to every task, so a binary that some nodes lack is sent once, when each
//! node has said whether it has it; the others drop it.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use garland_core::cluster::Node;
use garland_protocol::ReadyLine;

use super::binary::Binary;
use super::bootstrap::{self, BootstrapLine};
use super::child::{LaunchedChild, Starting};
use super::orders::{Launched, Orders};
use super::resolve::Lookup;

/// The agents of one `srun`.
pub struct SlurmStep {
    launched: Mutex<HashMap<String, Result<Launched, String>>>,
    child: Option<LaunchedChild>,
}

/// A task of the step, which is a node.
enum Task {
    /// It hasn't said anything.
    Starting,
    /// It waits for the binary.
    Needing,
    /// Its agent is there, or why not.
    Settled(Result<ReadyLine, String>),
}

/// All tasks, by the number that `srun` puts before their lines.
#[derive(Default)]
struct Step {
    names: BTreeMap<usize, String>,
    tasks: HashMap<String, Task>,
}

impl SlurmStep {
    /// Starts the agents of all `nodes`.
    ///
    /// # Errors
    /// When `srun` can't be started at all.
    pub fn launch(
        nodes: &[Node],
        binary: &Binary,
        orders: &Orders,
        log: &Path,
    ) -> Result<Self, String> {
        if std::env::var_os("SLURM_JOB_ID").is_none() {
            return Err("not inside a Slurm allocation: run the command under salloc or in an \
                        sbatch script"
                .to_owned());
        }
        if orders.stay.is_some() {
            return Err(
                "Slurm ends what a step leaves behind, so agents can't stay; copies inside \
                        an allocation start their own"
                    .to_owned(),
            );
        }
        let lookups: Vec<Vec<Lookup>> = nodes
            .iter()
            .map(|node| node.addresses.iter().map(|name| Lookup::begin(name)).collect())
            .collect();
        let mut starting = Starting::start(command(nodes, binary, orders), log, &orders.will)
            .map_err(|error| format!("starting srun: {error}; is Slurm installed here?"))?;
        let mut step = Step::new(nodes);
        let ended = loop {
            if step.settled() {
                break None;
            }
            if step.waits_for_binary() {
                step.sent();
                // An srun that is gone is told by the next line that isn't there.
                let said = starting.input().map_or(Ok(()), |input| {
                    input.say(bootstrap::SEND).and_then(|()| input.say(&binary.bytes))
                });
                if let Err(reason) = said {
                    break Some(reason);
                }
                continue;
            }
            match starting.next_line() {
                Ok(line) => step.hear(&line, binary),
                Err(reason) => break Some(format!("srun: {reason}")),
            }
        };
        let mut launched = HashMap::new();
        for (node, lookups) in nodes.iter().zip(lookups) {
            let ready = match step.tasks.remove(&node.name) {
                Some(Task::Settled(ready)) => ready,
                _ => Err(ended.clone().unwrap_or_else(|| "srun has no task for it".to_owned())),
            };
            let addresses = lookups.into_iter().map(Lookup::finish);
            let addresses = addresses.collect::<Result<Vec<IpAddr>, String>>();
            let both = ready.and_then(|ready| Ok((ready, addresses?)));
            let made = both.map(|(ready, addresses)| Launched { ready, addresses, child: None });
            launched.insert(node.name.clone(), made);
        }
        Ok(Self { launched: Mutex::new(launched), child: Some(starting.keep()) })
    }

    /// The agent of `node`, once.
    pub fn take(&self, node: &Node) -> Result<Launched, String> {
        let mut launched = self.launched.lock();
        launched.remove(&node.name).unwrap_or_else(|| Err("it is not in this step".to_owned()))
    }

    /// What all agents hang on.
    pub fn into_child(self) -> Option<LaunchedChild> {
        self.child
    }
}

impl Step {
    fn new(nodes: &[Node]) -> Self {
        let tasks = nodes.iter().map(|node| (node.name.clone(), Task::Starting)).collect();
        Self { names: BTreeMap::new(), tasks }
    }

    /// Takes note of a line: of the only task, or labelled, such as `3: NEED x86_64 -`.
    fn hear(&mut self, line: &str, binary: &Binary) {
        let alone = self.tasks.len() == 1;
        let Some((label, text)) = (if alone { Some((0, line)) } else { labelled(line) }) else {
            return;
        };
        let said = BootstrapLine::parse(text);
        if let BootstrapLine::At(Some(node), _) = &said {
            self.names.insert(label, node.clone());
        }
        let task = self.names.get(&label).and_then(|name| self.tasks.get_mut(name));
        let Some(task) = task else { return };
        match said {
            BootstrapLine::Need { machine, .. } => {
                *task = match bootstrap::fits(binary, &machine) {
                    Ok(()) => Task::Needing,
                    Err(reason) => Task::Settled(Err(reason)),
                }
            }
            BootstrapLine::Refused(why) => {
                *task = Task::Settled(Err(bootstrap::refused(&why)));
            }
            BootstrapLine::Ended(status) => {
                *task =
                    Task::Settled(Err(format!("its agent ended at once, with status {status}")));
            }
            BootstrapLine::At(..) | BootstrapLine::Unserved(_) => {}
            BootstrapLine::Other => {
                if let Some(ready) = ReadyLine::parse(text) {
                    *task = Task::Settled(Ok(ready));
                }
            }
        }
    }

    fn settled(&self) -> bool {
        self.tasks.values().all(|task| matches!(task, Task::Settled(_)))
    }

    /// Whether all that aren't settled wait for the binary: only then is it known who reads it.
    fn waits_for_binary(&self) -> bool {
        !self.settled() && !self.tasks.values().any(|task| matches!(task, Task::Starting))
    }

    fn sent(&mut self) {
        for task in self.tasks.values_mut() {
            if matches!(task, Task::Needing) {
                *task = Task::Starting;
            }
        }
    }
}

/// The task's number and what it said.
fn labelled(line: &str) -> Option<(usize, &str)> {
    let (label, text) = line.split_once(": ")?;
    Some((label.trim().parse().ok()?, text))
}

fn command(nodes: &[Node], binary: &Binary, orders: &Orders) -> Command {
    let count = nodes.len().to_string();
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let mut command = Command::new("srun");
    command
        .args(["--nodes", &count, "--ntasks", &count, "--ntasks-per-node=1"])
        .args(["--nodelist", &names.join(",")])
        // Beside what the job runs, and one task's end is not the others'.
        .args(["--overlap", "--kill-on-bad-exit=0", "--no-kill", "--wait=0"])
        .args(["--cpu-bind=none", "--mpi=none", "--chdir=/", "--job-name=garland"]);
    // What the agent of an only node writes may be a copy to standard output.
    if nodes.len() > 1 {
        command.arg("--label");
    }
    command
        .args(["/bin/sh", "-c", &bootstrap::script(), "garland"])
        .args(bootstrap::arguments(binary, None, &[]))
        .args(orders.arguments());
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Will;

    fn binary() -> Binary {
        let (digest, machine) = ("00".to_owned(), "x86_64".to_owned());
        Binary { bytes: vec![0; 3], digest, machine, stamp: None }
    }

    #[test]
    fn the_binary_is_sent_when_every_node_has_spoken() {
        let nodes = ["n1", "n2", "n3"].map(Node::named);
        let mut step = Step::new(&nodes);
        let ready = format!("garland-agent 0.1.0 4001 {}", "0a".repeat(32));
        step.hear("0: AT n2 -", &binary());
        step.hear("2: AT n1 -", &binary());
        step.hear("0: NEED x86_64", &binary());
        step.hear(&format!("2: {ready}"), &binary());
        assert!(!step.waits_for_binary() && !step.settled(), "n3 has not spoken");
        step.hear("1: AT n3 -", &binary());
        step.hear("1: NEED aarch64", &binary());
        assert!(step.waits_for_binary());
        step.sent();
        assert!(!step.waits_for_binary(), "it is sent once");
        step.hear(&format!("0: {ready}"), &binary());
        assert!(step.settled());
        let wrong = step.tasks.remove("n3");
        assert!(matches!(wrong, Some(Task::Settled(Err(reason))) if reason.contains("aarch64")));
    }

    #[test]
    fn an_only_task_has_no_label() {
        let nodes = [Node::named("n1")];
        let arguments = |nodes: &[Node]| {
            let orders = Orders {
                controller: [0; 32],
                mptcp: false,
                disk: None,
                clock: None,
                stay: None,
                will: Will::default(),
            };
            let command = command(nodes, &binary(), &orders);
            command.get_args().any(|argument| argument == "--label")
        };
        assert!(!arguments(&nodes) && arguments(&["n1", "n2"].map(Node::named)));
        let mut step = Step::new(&nodes);
        step.hear("AT n1 -", &binary());
        step.hear("NEED x86_64 -", &binary());
        assert!(step.waits_for_binary());
    }
}
