//! Starts agents inside a Slurm allocation: one `srun` starts all of them, and they end with this
//! `srun`.
//!
//! `srun` forwards its input to every task. So if nodes lack the program, it is sent once, after all
//! nodes have reported whether they have it; nodes which have it ignore the input.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use garland_core::cluster::Node;
use garland_protocol::ReadyLine;
use garland_sys::sync::Mutex;

use super::binary::Binary;
use super::bootstrap::{self, BootstrapLine};
use super::child::{LaunchedChild, Starting};
use super::error::{LaunchError, cannot};
use super::orders::{LaunchResult, Launched, Orders};
use super::resolve::{Lookup, Unresolved};

/// The agents started by one `srun`.
pub struct SlurmStep {
    launched: Mutex<HashMap<String, LaunchResult>>,
    child: Option<LaunchedChild>,
}

/// The state of a task of the step; there is one per node.
enum Task {
    /// The task has printed nothing yet, or has been sent the program.
    Starting,
    /// The task waits for the program.
    Needing,
    /// The task's agent is ready, or has failed.
    Settled(Result<ReadyLine, LaunchError>),
}

/// The tasks of a step.
#[derive(Default)]
struct Step {
    /// For each task, by the number that `srun` prints before its lines: the name of its node.
    names: BTreeMap<usize, String>,
    /// The state of each task, by the name of its node.
    tasks: HashMap<String, Task>,
}

impl SlurmStep {
    /// Starts the agents of all `nodes`.
    ///
    /// # Errors
    /// When `srun` cannot be started.
    pub fn launch(
        nodes: &[Node],
        binary: &Binary,
        orders: &Orders,
        log: &Path,
    ) -> Result<Self, LaunchError> {
        if std::env::var_os("SLURM_JOB_ID").is_none() {
            return Err("not inside a Slurm allocation; run the command under salloc or in an \
                        sbatch script"
                .into());
        }
        if orders.stay.is_some() {
            return Err(
                "no standing agents inside a Slurm allocation: Slurm kills them when the step ends; \
                 copies start their own agents"
                    .into(),
            );
        }
        let lookups: Vec<Vec<Lookup>> = nodes
            .iter()
            .map(|node| node.addresses.iter().map(|name| Lookup::begin(name)).collect())
            .collect();
        let mut starting =
            Starting::start(command(nodes, binary, orders), log, &orders.cancellation)
                .map_err(cannot("run srun", "; install Slurm's client commands"))?;
        let mut step = Step::new(nodes);
        let ended = loop {
            if step.settled() {
                break None;
            }
            if step.waits_for_binary() {
                step.sent();
                // If srun has ended, `next_line` below reports it.
                let sent = starting.input().map_or(Ok(()), |input| {
                    let bytes = binary.bytes()?;
                    input.write_all(bootstrap::SEND).and_then(|()| input.write_all(bytes))
                });
                if let Err(error) = sent {
                    break Some(error);
                }
                continue;
            }
            match starting.next_line() {
                Ok(line) => step.handle(&line, binary),
                Err(LaunchError::Ended(words)) => {
                    break Some(LaunchError::Ended(format!("srun: {words}")));
                }
                Err(error) => break Some(error),
            }
        };
        let mut launched = HashMap::new();
        for (node, lookups) in nodes.iter().zip(lookups) {
            let ready = match step.tasks.remove(&node.name) {
                Some(Task::Settled(ready)) => ready,
                _ => Err(ended.clone().unwrap_or_else(|| "srun started no task on it".into())),
            };
            let addresses = lookups.into_iter().map(Lookup::address);
            let addresses = addresses.collect::<Result<Vec<IpAddr>, Unresolved>>();
            let made =
                ready.and_then(|ready| Ok(Launched { ready, addresses: addresses?, child: None }));
            launched.insert(node.name.clone(), made);
        }
        Ok(Self { launched: Mutex::new(launched), child: Some(starting.keep()) })
    }

    /// Removes and returns the agent of `node`. Fails if the node is not part of the step.
    pub fn take(&self, node: &Node) -> LaunchResult {
        let mut launched = self.launched.lock();
        launched
            .remove(&node.name)
            .unwrap_or_else(|| Err("it is not part of this Slurm step".into()))
    }

    /// Returns the process that keeps all agents alive.
    pub fn into_child(self) -> Option<LaunchedChild> {
        self.child
    }
}

impl Step {
    fn new(nodes: &[Node]) -> Self {
        let tasks = nodes.iter().map(|node| (node.name.clone(), Task::Starting)).collect();
        Self { names: BTreeMap::new(), tasks }
    }

    /// Handles a line of output. If the step has several tasks, the number of the line's task
    /// precedes it, as in `3: NEED x86_64 -`.
    fn handle(&mut self, line: &str, binary: &Binary) {
        let alone = self.tasks.len() == 1;
        let Some((label, text)) = (if alone { Some((0, line)) } else { labelled(line) }) else {
            return;
        };
        let parsed = BootstrapLine::parse(text);
        if let BootstrapLine::At(Some(node), _) = &parsed {
            self.names.insert(label, node.clone());
        }
        let task = self.names.get(&label).and_then(|name| self.tasks.get_mut(name));
        let Some(task) = task else { return };
        match parsed {
            BootstrapLine::Need { machine, missing } => {
                *task = match bootstrap::fits(binary, &machine, missing.as_deref()) {
                    Ok(()) => Task::Needing,
                    Err(error) => Task::Settled(Err(error)),
                }
            }
            BootstrapLine::Refused(why) => {
                *task = Task::Settled(Err(bootstrap::refused(&why)));
            }
            BootstrapLine::Ended(status) => {
                let words = format!("its agent ended with status {status} before it was ready");
                *task = Task::Settled(Err(LaunchError::Ended(words)));
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

    /// Returns whether all tasks are settled or wait for the program, and at least one waits.
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

/// Splits a line into the number of its task and the text; none if the line has no number.
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
        // Share the CPUs with other steps of the job, and let the tasks end independently.
        .args(["--overlap", "--kill-on-bad-exit=0", "--no-kill", "--wait=0"])
        .args(["--cpu-bind=none", "--mpi=none", "--chdir=/", "--job-name=garland"]);
    // If there is only one agent, its output may be the bytes of a copy to standard output.
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

    fn binary() -> Binary {
        Binary::of(vec![0; 3], "00".to_owned(), "x86_64")
    }

    #[test]
    fn the_program_is_sent_once_every_node_has_reported() {
        let nodes = ["n1", "n2", "n3"].map(Node::named);
        let mut step = Step::new(&nodes);
        let ready = format!("garland-agent 0.1.0 4001 {}", "0a".repeat(32));
        step.handle("0: AT n2 -", &binary());
        step.handle("2: AT n1 -", &binary());
        step.handle("0: NEED x86_64", &binary());
        step.handle(&format!("2: {ready}"), &binary());
        assert!(!step.waits_for_binary() && !step.settled(), "n3 has not reported");
        step.handle("1: AT n3 -", &binary());
        step.handle("1: NEED aarch64", &binary());
        assert!(step.waits_for_binary());
        step.sent();
        assert!(!step.waits_for_binary(), "it is sent once");
        step.handle(&format!("0: {ready}"), &binary());
        assert!(step.settled());
        let wrong = step.tasks.remove("n3");
        assert!(
            matches!(wrong, Some(Task::Settled(Err(error))) if error.to_string().contains("aarch64"))
        );
    }

    #[test]
    fn the_lines_of_an_only_task_have_no_label() {
        let nodes = [Node::named("n1")];
        let arguments = |nodes: &[Node]| {
            let command = command(nodes, &binary(), &Orders::default());
            command.get_args().any(|argument| argument == "--label")
        };
        assert!(!arguments(&nodes) && arguments(&["n1", "n2"].map(Node::named)));
        let mut step = Step::new(&nodes);
        step.handle("AT n1 -", &binary());
        step.handle("NEED x86_64 -", &binary());
        assert!(step.waits_for_binary());
    }
}
