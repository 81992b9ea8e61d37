//! The parameters and the results of starts, for all launchers.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_core::cluster::listen::{ListenAt, Listening};
use garland_core::cluster::peer_address;
use garland_protocol::copy::ClockFault;
use garland_protocol::wire::ReadyLine;

use super::answers::Answers;
use super::binary::hexadecimal;
use super::cancellation::Cancellation;
use super::child::{Answered, LaunchedChild, StartTerms, Starting};
use super::error::{LaunchError, cannot};
use super::stdout::Rest;
use crate::at_once::Slot;

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

/// Whether something has been run on a node that may have become its agent, also if the start
/// failed. All clones are one.
#[derive(Clone, Debug, Default)]
pub struct Trace(Arc<AtomicBool>);

impl Trace {
    /// Notes that something has been run.
    pub fn leave(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether something has been run.
    pub fn is_left(&self) -> bool {
        self.0.load(Ordering::Relaxed)
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
    /// Whether the agent writes nothing to the system log of its node.
    pub no_syslog: bool,
    /// The fault to inject into the node's clock, if any.
    pub clock: Option<ClockFault>,
    /// What the user says about where agents listen, for all nodes.
    pub listening: Listening,
    /// The number of idle seconds after which a standing agent ends; none for other agents.
    pub stay: Option<u64>,
    /// The age in seconds at which a standing agent ends; none for any.
    pub max_life: Option<u64>,
    /// The word by which the processes of a standing agent are found; none for other agents.
    pub tag: Option<String>,
    /// Whether something has been run on the node.
    pub trace: Trace,
    /// Whether the start of the agents is cancelled, for example by an interrupt.
    pub cancellation: Cancellation,
    /// Which nodes of the command have answered a login.
    pub answers: Arc<Answers>,
    /// The start's place among those of other nodes.
    pub slot: Slot,
    /// Whether agents write the bytes of a copy to this process's standard output.
    pub passes_output: bool,
}

impl Orders {
    /// Returns the terms on which the process that keeps the agent alive is started.
    pub fn terms(&self, is_elsewhere: bool) -> StartTerms {
        let rest = if self.passes_output { Rest::Output } else { Rest::Dropped };
        let cancellation = self.cancellation.clone();
        StartTerms { cancellation, rest, is_elsewhere, ..StartTerms::default() }
    }

    /// Returns the agent's command-line arguments; none of them is secret. They lack the file of an
    /// agent that serves a farm, which need be no text: only [`start_confined`] starts such agents.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["agent".to_owned()];
        if let Serves::Controller(key) = &self.serves {
            arguments.extend(["--controller".to_owned(), hexadecimal(key)]);
        }
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
            if let Some(tag) = &self.tag {
                arguments.extend(["--tag".to_owned(), tag.clone()]);
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

    /// Returns the addresses by which others connect to the agent, one for each of `found`, those
    /// of the node's rails. Where the user asked for other addresses or NICs of this node, these
    /// replace them: `asked`.
    ///
    /// # Errors
    /// When the agent says that it listens at an address that was not asked for.
    pub fn addresses(
        &self,
        found: Vec<IpAddr>,
        ready: &ReadyLine,
        asked: &[ListenAt],
    ) -> Result<Vec<IpAddr>, LaunchError> {
        let is_open = |address: &IpAddr| ready.at.contains(address);
        let listens_at_all = ready.at.is_empty() || ready.at.iter().any(IpAddr::is_unspecified);
        if !self.is_chosen || listens_at_all {
            return Ok(found);
        }
        // Which addresses a NIC has, only the node knows.
        let may_be = |address: &IpAddr, at: &ListenAt| match at {
            ListenAt::Address(asked) => asked.to_canonical() == address.to_canonical(),
            ListenAt::Nic(_) => peer_address::fault_of(*address).is_none(),
        };
        let is_asked = |address: &IpAddr| asked.iter().any(|at| may_be(address, at));
        let foreign =
            ready.at.iter().find(|address| !found.contains(address) && !is_asked(address));
        if let Some(address) = foreign {
            let places: Vec<String> = asked.iter().map(ToString::to_string).collect();
            let places = places.join(", ");
            let text = format!("its agent says that it listens at {address}, and not at {places}");
            return Err(LaunchError::Refused(text));
        }
        let mut spare = ready.at.iter().filter(|address| !found.contains(address)).copied().cycle();
        let replaced = found.iter().map(|address| match is_open(address) {
            true => *address,
            false => spare.next().unwrap_or(*address),
        });
        Ok(replaced.collect())
    }
}

/// Adds an agent's arguments to the command that starts it on this machine.
fn add_arguments(command: &mut Command, orders: &Orders) {
    command.args(orders.arguments());
    if let Serves::Farm(path) = &orders.serves {
        command.arg("--farm").arg(path);
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
    add_arguments(&mut command, orders);
    command.args(doors.arguments()).arg("--root").arg(root);
    if orders.stay.is_some() {
        command.arg("--log").arg(log);
    }
    let starting = Starting::start(command, log, &orders.terms(false))
        .map_err(cannot(format!("start the agent of {name}"), ""))?;
    orders.trace.leave();
    let (ready, child) = starting.ready_after(|_, _| Ok(Answered::Other))?;
    Ok(Launched { ready, addresses, child: Some(child) })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn the_file_of_an_agent_that_serves_a_farm_need_be_no_text() {
        let file = Path::new(OsStr::from_bytes(b"/state/\xff/access"));
        let orders = Orders { serves: Serves::Farm(file.to_owned()), ..Orders::default() };
        let mut command = Command::new("garland");
        add_arguments(&mut command, &orders);
        assert!(command.get_args().eq([OsStr::new("agent"), "--farm".as_ref(), file.as_ref()]));
    }

    fn addresses(text: &str) -> Vec<IpAddr> {
        text.split_whitespace().map(|address| address.parse().expect("an address")).collect()
    }

    /// The addresses of a node whose rails are `found`, whose agent was asked to listen at `asked`
    /// and says that it listens at `at`.
    fn told(found: &str, asked: &str, at: &str) -> Result<Vec<IpAddr>, String> {
        let listen: Vec<ListenAt> =
            asked.split_whitespace().map(|text| text.parse().expect("a place")).collect();
        let listening = Listening { listen: listen.clone(), port: None };
        let doors = Doors { is_chosen: !listen.is_empty(), listening, reached: Vec::new() };
        let release = "0.1.0".to_owned();
        let ready = ReadyLine { port: 4100, at: addresses(at), key: [7; 32], release, log: None };
        let told = doors.addresses(addresses(found), &ready, &listen);
        told.map_err(|error| error.to_string())
    }

    #[test]
    fn an_agent_replaces_addresses_only_by_those_that_were_asked_for() {
        let found = "10.0.0.3";
        assert_eq!(told(found, "10.1.0.3", "10.1.0.3"), Ok(addresses("10.1.0.3")));
        assert_eq!(told(found, "10.1.0.3", "::ffff:10.1.0.3"), Ok(addresses("::ffff:10.1.0.3")));
        assert_eq!(told(found, "10.1.0.3", "10.0.0.3"), Ok(addresses("10.0.0.3")));
        assert_eq!(told(found, "ib0", "10.2.0.3"), Ok(addresses("10.2.0.3")));
        // Nothing was asked for, or all addresses: those that the head has found count.
        for asked in ["", "::", "0.0.0.0"] {
            let at = if asked.is_empty() { "10.0.0.1" } else { asked };
            assert_eq!(told(found, asked, at), Ok(addresses(found)), "{asked}");
        }
        // n3 says that it is n1.
        let lie = told(found, "10.1.0.3", "10.0.0.1").expect_err("it was not asked for");
        assert_eq!(lie, "its agent says that it listens at 10.0.0.1, and not at 10.1.0.3");
        for many in ["224.0.0.1", "255.255.255.255"] {
            assert!(told(found, "ib0", many).is_err(), "{many}");
        }
    }
}
