//! The parameters and the results of starts, for all launchers.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use garland_core::cluster::listen::{ListenAt, Listening};
use garland_protocol::{ClockFault, ReadyLine};

use super::binary::hexadecimal;
use super::cancellation::Cancellation;
use super::child::{LaunchedChild, Starting};
use super::error::{LaunchError, cannot};

/// An agent that was started and can be connected to.
pub struct Launched {
    /// The line that the agent printed when it was ready.
    pub ready: ReadyLine,
    /// The node's addresses, one per rail.
    pub addresses: Vec<IpAddr>,
    /// The local process that keeps the agent alive: the agent itself or an ssh. None if agents
    /// share one process.
    pub child: Option<LaunchedChild>,
}

/// A started agent, or why its node has none.
pub type LaunchResult = Result<Launched, LaunchError>;

/// Whom an agent serves.
#[derive(Clone, Debug)]
pub enum Serves {
    /// The controller with this public key.
    Controller([u8; 32]),
    /// The nodes of a farm: the path of the file that says what they reach.
    Farm(PathBuf),
}

impl Default for Serves {
    /// Nobody has this key.
    fn default() -> Self {
        Self::Controller([0; 32])
    }
}

/// The parameters of an agent.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// Whom the agent serves.
    pub serves: Serves,
    /// Whether the agent accepts MPTCP on its port.
    pub mptcp: bool,
    /// The rate of the node's emulated disk in bytes per second; none if no disk is emulated.
    pub disk: Option<u64>,
    /// Whether the agent tells the log of its node's system nothing.
    pub no_syslog: bool,
    /// The fault to inject into the node's clock, if any.
    pub clock: Option<ClockFault>,
    /// What the user says about where agents listen, for all nodes.
    pub listening: Listening,
    /// The number of idle seconds after which a standing agent ends; none for other agents.
    pub stay: Option<u64>,
    /// The age in seconds at which a standing agent ends; none for any.
    pub max_life: Option<u64>,
    /// Tells whether the start of the agents is cancelled, for example by an interrupt.
    pub cancellation: Cancellation,
}

impl Orders {
    /// Returns the agent's command-line arguments; none of them is secret.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["agent".to_owned()];
        arguments.extend(match &self.serves {
            Serves::Controller(key) => ["--controller".to_owned(), hexadecimal(key)],
            Serves::Farm(path) => ["--farm".to_owned(), path.to_string_lossy().into_owned()],
        });
        if self.mptcp {
            arguments.push("--mptcp".to_owned());
        }
        if let Some(rate) = self.disk {
            arguments.extend(["--disk".to_owned(), rate.to_string()]);
        }
        if self.no_syslog {
            arguments.push("--no-syslog".to_owned());
        }
        if let Some(fault) = self.clock {
            arguments.extend(["--clock".to_owned(), fault.to_string()]);
        }
        if let Some(seconds) = self.stay {
            arguments.extend(["--stay".to_owned(), seconds.to_string()]);
            arguments.push("--detach".to_owned());
            if let Some(seconds) = self.max_life {
                arguments.extend(["--max-life".to_owned(), seconds.to_string()]);
            }
        }
        arguments
    }
}

/// Where an agent listens, as its arguments say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doors {
    /// The user's choice.
    pub listening: Listening,
    /// The words for the addresses of which each agent takes its own; unused if `listening` has
    /// addresses or NICs.
    pub reached: Vec<String>,
    /// Whether the user chose these addresses.
    pub is_chosen: bool,
}

impl Doors {
    /// Returns the agent's arguments.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        for at in &self.listening.listen {
            arguments.extend(["--listen".to_owned(), at.to_string()]);
        }
        if self.listening.listen.is_empty() && !self.reached.is_empty() {
            arguments.extend(["--reached".to_owned(), self.reached.join(",")]);
        }
        if let Some(ports) = self.listening.port {
            arguments.extend(["--port".to_owned(), ports.to_string()]);
        }
        arguments
    }

    /// Returns the addresses by which others connect to the agent, one for each of `found`, those of
    /// the node's rails. Where the user chose other addresses or NICs, these replace them.
    pub fn addresses(&self, found: Vec<IpAddr>, ready: &ReadyLine) -> Vec<IpAddr> {
        let is_open = |address: &IpAddr| ready.at.contains(address);
        let listens_at_all = ready.at.is_empty() || ready.at.iter().any(IpAddr::is_unspecified);
        if !self.is_chosen || listens_at_all {
            return found;
        }
        let mut spare = ready.at.iter().filter(|address| !found.contains(address)).copied().cycle();
        let replaced = found.iter().map(|address| match is_open(address) {
            true => *address,
            false => spare.next().unwrap_or(*address),
        });
        replaced.collect()
    }
}

/// Starts the agent of the node `name` with `command` on this machine, confined to the directory
/// `root`; waits until it is ready at `addresses`. It listens at `listen`, whatever the user chose
/// for other nodes.
pub fn start_confined(
    mut command: Command,
    name: &str,
    root: &Path,
    addresses: Vec<IpAddr>,
    listen: ListenAt,
    orders: &Orders,
    log: &Path,
) -> LaunchResult {
    let doors = Doors {
        listening: Listening { listen: vec![listen], port: orders.listening.port },
        reached: Vec::new(),
        is_chosen: false,
    };
    command.args(orders.arguments()).args(doors.arguments()).arg("--root").arg(root);
    if orders.stay.is_some() {
        command.arg("--log").arg(log);
    }
    let starting = Starting::start(command, log, &orders.cancellation)
        .map_err(cannot(format!("start the agent of {name}"), ""))?;
    let (ready, child) = starting.ready_after(|_, _| Ok(()))?;
    Ok(Launched { ready, addresses, child: Some(child) })
}
