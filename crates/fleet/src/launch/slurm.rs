//! Starts agents inside a Slurm allocation: one `srun` starts all of them, and they end with this
//! `srun`.
//!
//! `srun` forwards its input to every task, and keeps it for those that have not read it yet. So if
//! nodes lack the program, it is sent once; nodes which have it ignore the input. It keeps about a
//! megabyte: a node that does not read keeps the rest from all others ([`steps`]).

mod step;
mod steps;

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use garland_core::cluster::Node;
use garland_core::cluster::listen::{ListenAt, Listening};
use garland_sys::sync::Mutex;

use self::step::Waits;
use self::steps::{Started, Steps};
use super::binary::Binary;
use super::bootstrap;
use super::child::LaunchedChild;
use super::error::LaunchError;
use super::orders::{Doors, LaunchResult, Launched, Orders};
use super::resolve::{HostAddresses, Lookup, Unresolved};

/// The agents started by one `srun`, or by several if a node keeps the program from others.
pub struct SlurmStep {
    launched: Mutex<HashMap<String, LaunchResult>>,
    children: Vec<LaunchedChild>,
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
        let make = |nodes: &[Node]| command(nodes, binary, orders, &doors);
        let steps = Steps::new(&make, binary, orders.terms(true), log);
        let Started { mut ends, children } = steps.start(nodes, Waits::FIRST);
        let mut launched = HashMap::new();
        for (node, found) in nodes.iter().zip(found) {
            let ready =
                ends.remove(&node.name).unwrap_or_else(|| Err("srun started no task on it".into()));
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
        Ok(Self { launched: Mutex::new(launched), children })
    }

    /// Removes and returns the agent of `node`. Fails if the node is not part of the step.
    pub fn take(&self, node: &Node) -> LaunchResult {
        let mut launched = self.launched.lock();
        launched
            .remove(&node.name)
            .unwrap_or_else(|| Err("it is not part of this Slurm step".into()))
    }

    /// Returns the processes that keep all agents alive.
    pub fn into_children(self) -> Vec<LaunchedChild> {
        self.children
    }
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
        // Tasks are numbered in the order of this list, so that the number of a task tells its
        // node, whatever the task says.
        .args(["--nodelist", &names.join(","), "--distribution=arbitrary"])
        .env_remove("SLURM_HOSTFILE")
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
    use std::time::Duration;

    use garland_core::cluster::Cluster;

    use super::step::Step;
    use super::*;

    fn binary() -> Binary {
        Binary::from_bytes(vec![0; 3], "00".to_owned(), "x86_64")
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
        let mut step = Step::new(&nodes, Waits::FIRST);
        step.handle(Duration::ZERO, "AT n1 -", &binary());
        step.handle(Duration::ZERO, "NEED x86_64 -", &binary());
        assert!(step.needs_program());
    }
}
