//! What every launcher tells its agents, and what it gives back.

use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use garland_protocol::{ClockFault, ReadyLine};

use super::child::{LaunchedChild, Starting};
use super::will::Will;

/// An agent that was started and can be connected to.
pub struct Launched {
    /// What it said when it was ready.
    pub ready: ReadyLine,
    /// Where it can be reached, one address a rail.
    pub addresses: Vec<IpAddr>,
    /// The process on this machine that it hangs on: the agent itself, or an ssh.
    pub child: Option<LaunchedChild>,
}

/// What every launcher tells its agents.
#[derive(Clone, Debug)]
pub struct Orders {
    /// The controller's public key.
    pub controller: [u8; 32],
    /// Data links speak MPTCP.
    pub mptcp: bool,
    /// Bytes per second of the node's disk, where a lab says so.
    pub disk: Option<u64>,
    /// What is wrong with the node's clock on purpose.
    pub clock: Option<ClockFault>,
    /// Stay for so many seconds without anything to do, beyond the command that started it.
    pub stay: Option<u64>,
    /// How long the user wants them.
    pub will: Will,
}

impl Orders {
    /// The agent's arguments, all of them public.
    pub fn arguments(&self) -> Vec<String> {
        let key: String = self.controller.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut arguments = vec!["agent".to_owned(), "--controller".to_owned(), key];
        if self.mptcp {
            arguments.push("--mptcp".to_owned());
        }
        if let Some(rate) = self.disk {
            arguments.extend(["--disk".to_owned(), rate.to_string()]);
        }
        if let Some(fault) = self.clock {
            arguments.extend(["--clock".to_owned(), fault.to_string()]);
        }
        if let Some(seconds) = self.stay {
            arguments.extend(["--stay".to_owned(), seconds.to_string()]);
            arguments.push("--detach".to_owned());
        }
        arguments
    }
}

/// Starts the agent of the node `name` by `command`, a process of this machine, confined to the
/// folder `root`; waits until it is ready.
pub fn start_confined(
    mut command: Command,
    name: &str,
    root: &Path,
    orders: &Orders,
    log: &Path,
) -> Result<(ReadyLine, LaunchedChild), String> {
    command.args(orders.arguments()).arg("--root").arg(root);
    if orders.stay.is_some() {
        command.arg("--log").arg(log);
    }
    let starting = Starting::start(command, log, &orders.will)
        .map_err(|error| format!("starting {name}: {error}"))?;
    starting.ready()
}
