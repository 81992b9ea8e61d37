//! Starts agents inside a Slurm allocation: one `srun` starts all of them, and they end with this
//! `srun`.
//!
//! `srun` forwards its input to every task. So if nodes lack the program, it is sent once, after all
//! nodes have reported whether they have it; nodes which have it ignore the input.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;

use garland_core::cluster::Node;
use garland_core::cluster::listen::{ListenAt, Listening};
use garland_protocol::wire::ReadyLine;
use garland_sys::sync::Mutex;

use super::binary::Binary;
use super::bootstrap::{self, ASKS_AGAIN, BootstrapLine, PLACES};
use super::child::{Answered, LaunchedChild, Starting};
use super::error::{LaunchError, cannot};
use super::orders::{Doors, LaunchResult, Launched, Orders};
use super::resolve::{HostAddresses, Lookup, Unresolved};

/// The agents started by one `srun`.
pub struct SlurmStep {
    launched: Mutex<HashMap<String, LaunchResult>>,
    child: Option<LaunchedChild>,
}

/// The state of a task of the step; there is one per node.
enum Task {
    /// The task has printed nothing yet, or has the program.
    Starting,
    /// The task waits for the program, and has asked for it so many times.
    Needing(usize),
    /// The task has been sent the program, as many times.
    Sent(usize),
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
        let found: Vec<Found> = lookups
            .into_iter()
            .map(|lookups| lookups.into_iter().map(Lookup::addresses).collect())
            .collect();
        let doors = choose_doors(nodes, &found, orders)?;
        let mut starting =
            Starting::start(command(nodes, binary, orders, &doors), log, &orders.terms(true))
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
                starting.has_gone_on();
                continue;
            }
            match starting.next_line() {
                Ok(line) => {
                    if step.handle(&line, binary) == Answered::Step {
                        starting.has_gone_on();
                    }
                }
                Err(LaunchError::Ended(words)) => {
                    break Some(LaunchError::Ended(format!("srun: {words}")));
                }
                Err(error) => break Some(error),
            }
        };
        let mut launched = HashMap::new();
        for (node, found) in nodes.iter().zip(found) {
            let ready = match step.tasks.remove(&node.name) {
                Some(Task::Settled(ready)) => ready,
                _ => Err(ended.clone().unwrap_or_else(|| "srun started no task on it".into())),
            };
            let made = ready.and_then(|ready| {
                let asked = orders.listening.or(&node.listening).listen;
                // Which address srun has used is not known: SSH_CONNECTION is of the user's login.
                let reached = |rail: HostAddresses| rail.reached(None, &ready.at);
                let addresses = found?.into_iter().map(reached).collect();
                let addresses = doors.addresses(addresses, &ready, &asked)?;
                Ok(Launched { ready, addresses, child: None })
            });
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
    fn handle(&mut self, line: &str, binary: &Binary) -> Answered {
        let alone = self.tasks.len() == 1;
        let Some((label, text)) = (if alone { Some((0, line)) } else { labelled(line) }) else {
            return Answered::Other;
        };
        let parsed = BootstrapLine::parse(text);
        let mut answered = Answered::Other;
        if let BootstrapLine::At(Some(node), _) = &parsed
            && !self.names.contains_key(&label)
            && label < self.tasks.len()
        {
            self.names.insert(label, node.clone());
            answered = Answered::Step;
        }
        let task = self.names.get(&label).and_then(|name| self.tasks.get_mut(name));
        let has_ended = matches!(parsed, BootstrapLine::Ended(_));
        let is_open = |task: &Task| match task {
            // An agent that was ready may end while others start.
            Task::Settled(ready) => has_ended && ready.is_ok(),
            Task::Starting | Task::Needing(_) | Task::Sent(_) => true,
        };
        let Some(task) = task.filter(|task| is_open(task)) else { return answered };
        let next = match parsed {
            BootstrapLine::Need { machine, missing } => {
                let asked = match task {
                    Task::Needing(_) => return answered,
                    Task::Sent(asked) => *asked + 1,
                    Task::Starting | Task::Settled(_) => 1,
                };
                match bootstrap::fits(binary, &machine, missing.as_deref()) {
                    Ok(()) if asked > PLACES => Task::Settled(Err(ASKS_AGAIN.into())),
                    Ok(()) => Task::Needing(asked),
                    Err(error) => Task::Settled(Err(error)),
                }
            }
            BootstrapLine::Refused(why) => Task::Settled(Err(bootstrap::refused(&why))),
            BootstrapLine::Ended(status) => {
                let words = format!("its agent ended with status {status} before it was ready");
                Task::Settled(Err(LaunchError::Ended(words)))
            }
            BootstrapLine::At(..) | BootstrapLine::Unserved(_) => return answered,
            BootstrapLine::Other => match ReadyLine::parse(text) {
                Some(ready) => Task::Settled(Ok(ready)),
                None => return answered,
            },
        };
        *task = next;
        Answered::Step
    }

    fn settled(&self) -> bool {
        self.tasks.values().all(|task| matches!(task, Task::Settled(_)))
    }

    /// Returns whether all tasks are settled or wait for the program, and at least one waits.
    fn waits_for_binary(&self) -> bool {
        !self.settled()
            && !self.tasks.values().any(|task| matches!(task, Task::Starting | Task::Sent(_)))
    }

    fn sent(&mut self) {
        for task in self.tasks.values_mut() {
            if let Task::Needing(asked) = task {
                *task = Task::Sent(*asked);
            }
        }
    }
}

/// Splits a line into the number of its task and the text; none if the line has no number.
fn labelled(line: &str) -> Option<(usize, &str)> {
    let (label, text) = line.split_once(": ")?;
    Some((label.trim().parse().ok()?, text))
}

/// The addresses of a node's rails.
type Found = Result<Vec<HostAddresses>, Unresolved>;

/// Returns where the agents of the step listen. All tasks get the same arguments, so these name the
/// addresses of all nodes, of which each agent takes its own.
///
/// # Errors
/// When the agents are to listen on different NICs or ports.
fn choose_doors(nodes: &[Node], found: &[Found], orders: &Orders) -> Result<Doors, LaunchError> {
    let chosen: Vec<Listening> =
        nodes.iter().map(|node| orders.listening.or(&node.listening)).collect();
    let first = chosen.first().cloned().unwrap_or_default();
    if chosen.iter().all(|chosen| *chosen == first) {
        let rails = found.iter().flatten().flatten();
        let addresses = rails.flat_map(HostAddresses::iter).map(|address| address.to_string());
        let is_chosen = !first.listen.is_empty();
        return Ok(Doors { listening: first, reached: reached(addresses), is_chosen });
    }
    let places = chosen.iter().flat_map(|chosen| &chosen.listen);
    let are_addresses = places.clone().all(|at| matches!(at, ListenAt::Address(_)));
    let all_choose = chosen.iter().all(|chosen| !chosen.listen.is_empty());
    if chosen.iter().any(|chosen| chosen.port != first.port) || !are_addresses || !all_choose {
        return Err(
            "the agents of one Slurm step listen on the same NICs and ports: set `listen` \
                    and `port` in [agents] of the cluster file, or give --listen and --port"
                .into(),
        );
    }
    let listening = Listening { listen: Vec::new(), port: first.port };
    let reached = places.map(ToString::to_string).collect();
    Ok(Doors { listening, reached, is_chosen: true })
}

/// Returns the words for the addresses by which nodes are reached: those given, unless they are
/// too many for an argument, and the one that faces this machine.
fn reached(addresses: impl Iterator<Item = String>) -> Vec<String> {
    /// Linux takes arguments of 128 KiB (`MAX_ARG_STRLEN`).
    const MAX_LENGTH: usize = 100 << 10;
    let mut words: Vec<String> = addresses.collect();
    if words.iter().map(|word| word.len() + 1).sum::<usize>() > MAX_LENGTH {
        words.clear();
    }
    words.insert(0, "slurm".to_owned());
    words
}

fn command(nodes: &[Node], binary: &Binary, orders: &Orders, doors: &Doors) -> Command {
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
        .args(orders.arguments())
        .args(doors.arguments());
    command
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use garland_core::cluster::Cluster;

    use super::*;

    fn binary() -> Binary {
        Binary::from_bytes(vec![0; 3], "00".to_owned(), "x86_64")
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
    fn all_tasks_get_the_addresses_of_all_nodes() {
        let nodes = ["n1", "n2"].map(Node::named);
        let found: Vec<Found> = ["10.0.0.1", "10.0.0.2"]
            .map(|address| Ok(vec![address.parse::<IpAddr>().expect("an address").into()]))
            .into();
        let all = |nodes: &[Node], orders: &Orders| {
            let doors = choose_doors(nodes, &found, orders).map_err(|error| error.to_string())?;
            Ok::<_, String>(doors.arguments().join(" "))
        };
        let reached = all(&nodes, &Orders::default());
        assert_eq!(reached, Ok("--reached slurm,10.0.0.1,10.0.0.2".to_owned()));
        let text =
            "version = 1\n[[nodes]]\nnames = \"n[1-2]\"\nlisten = \"10.1.0.[1-2]\"\nport = 4100\n";
        let file = Cluster::parse(text, "cluster.toml").expect("a cluster file");
        let own = all(&file.nodes, &Orders::default());
        assert_eq!(own, Ok("--reached 10.1.0.1,10.1.0.2 --port 4100".to_owned()));
        let listen = vec!["ib0".parse().expect("a NIC")];
        let listening = Listening { listen, port: "4200-4299".parse().ok() };
        let orders = Orders { listening, ..Orders::default() };
        let option = all(&file.nodes, &orders);
        assert_eq!(option, Ok("--listen ib0 --port 4200-4299".to_owned()));
        let text = text.replace("10.1.0.[1-2]", "eth[1-2]");
        let file = Cluster::parse(&text, "cluster.toml").expect("a cluster file");
        assert!(all(&file.nodes, &Orders::default()).is_err_and(|why| why.contains("same NICs")));
    }

    #[test]
    fn the_lines_of_an_only_task_have_no_label() {
        let nodes = [Node::named("n1")];
        let arguments = |nodes: &[Node]| {
            let listening = Listening::default();
            let reached = Vec::new();
            let doors = Doors { listening, reached, is_chosen: false };
            let srun = command(nodes, &binary(), &Orders::default(), &doors);
            srun.get_args().any(|argument| argument == "--label")
        };
        assert!(!arguments(&nodes) && arguments(&["n1", "n2"].map(Node::named)));
        let mut step = Step::new(&nodes);
        step.handle("AT n1 -", &binary());
        step.handle("NEED x86_64 -", &binary());
        assert!(step.waits_for_binary());
    }
}
