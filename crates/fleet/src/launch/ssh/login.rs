//! Starts agents over ssh, with one ssh process per node. ssh forwards its standard input to the
//! agent, which ends when this input ends.

use std::iter;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use garland_core::cluster::{Node, Ssh, peer_address};

use super::complaint;
use super::shown::ShownLogin;
use crate::launch::binary::Binary;
use crate::launch::bootstrap::{self, ASKS_AGAIN, BootstrapLine, PLACES};
use crate::launch::error::{LaunchError, cannot};
use crate::launch::input::Input;
use crate::launch::resolve::{HostAddresses, Lookup, Unresolved};
use crate::launch::spread::{ProgramSource, Spread};
use crate::launch::{Answered, Doors, LaunchResult, Launched, Orders, Starting};

/// The default options for ssh, which the user's options override: no prompts, timeouts, and none
/// of the forwardings of interactive logins.
const OPTIONS: &[&str] = &[
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=3",
    "-oLogLevel=ERROR",
    "-oClearAllForwardings=yes",
    "-oControlMaster=no",
    // As scp(1) has it. ssh has had this option longer than Linux has what agents need.
    "-oRemoteCommand=none",
    "-T",
    "-a",
    "-x",
];

/// The launcher that starts agents over ssh.
pub struct Logins {
    ssh: Ssh,
    binary: Arc<Binary>,
}

/// What the script on a node has said. A node that asks again and again would take others' turns,
/// and their servers.
#[derive(Default)]
struct Script {
    has_begun: bool,
    /// How often it has asked for the program.
    needs: usize,
    /// How often it could not fetch the program from another node.
    failed_fetches: usize,
    /// The node's address in the ssh connection.
    login_address: Option<IpAddr>,
}

impl Script {
    /// Takes a line of the script into account. Returns what it answers.
    ///
    /// # Errors
    /// When the program is asked for more often than the script does.
    fn take(&mut self, said: &BootstrapLine) -> Result<Answered, LaunchError> {
        match said {
            BootstrapLine::At(_, address) => {
                self.login_address = address.or(self.login_address);
                let is_step = !std::mem::replace(&mut self.has_begun, true);
                return Ok(if is_step { Answered::Step } else { Answered::Other });
            }
            BootstrapLine::Need { .. } => self.needs += 1,
            BootstrapLine::Unserved(_) => self.failed_fetches += 1,
            BootstrapLine::Refused(_) | BootstrapLine::Ended(_) | BootstrapLine::Other => {
                return Ok(Answered::Other);
            }
        }
        // The head sends what could not be fetched.
        match self.needs > PLACES || self.failed_fetches > self.needs {
            true => Err(ASKS_AGAIN.into()),
            false => Ok(Answered::Step),
        }
    }
}

impl Logins {
    /// Creates a launcher with the ssh settings of the cluster file.
    pub fn new(ssh: Ssh, binary: Arc<Binary>) -> Self {
        Self { ssh, binary }
    }

    /// Starts the agent of `node`. If the node lacks the program, the node first gets it from the
    /// source that `spread` chooses.
    pub fn launch(
        &self,
        node: &Node,
        orders: &Orders,
        log: &Path,
        spread: &Spread,
    ) -> LaunchResult {
        let lookups: Vec<Lookup> = node.addresses.iter().map(|name| Lookup::begin(name)).collect();
        let found: Vec<Result<HostAddresses, Unresolved>> =
            lookups.into_iter().map(Lookup::addresses).collect();
        let alone = node.addresses.len() == 1;
        // Nothing is started on a node that others could not reach.
        let mut errors = found.iter().filter_map(|found| found.as_ref().err());
        if let Some(error) = errors.find(|error| !alone || !error.is_unknown()) {
            return Err(error.clone().into());
        }
        let own = found.iter().flatten().flat_map(HostAddresses::iter);
        let listening = orders.listening.or(&node.listening);
        let doors = Doors {
            is_chosen: !listening.listen.is_empty(),
            listening,
            reached: iter::once("ssh".to_owned()).chain(own.map(|it| it.to_string())).collect(),
        };
        let starting = self.begin(node, orders, &doors, log)?;
        let mut script = Script::default();
        let started = starting.ready_after(|line, input| {
            let said = BootstrapLine::parse(line);
            let answered = script.take(&said)?;
            match said {
                BootstrapLine::At(..) => orders.trace.leave(),
                BootstrapLine::Need { machine, missing } => {
                    bootstrap::fits(&self.binary, &machine, missing.as_deref())?;
                    let why_not = missing.map(|programs| format!("the node has no {programs}"));
                    let from = spread.turn(&node.name, why_not.as_deref(), &orders.cancellation)?;
                    self.supply(&from, input)?;
                }
                BootstrapLine::Unserved(why) => {
                    let why = spread.unserved(&node.name, &why);
                    let from = spread.turn(&node.name, Some(&why), &orders.cancellation)?;
                    self.supply(&from, input)?;
                }
                BootstrapLine::Refused(why) => return Err(bootstrap::refused(&why)),
                BootstrapLine::Ended(_) | BootstrapLine::Other => {}
            }
            Ok(answered)
        });
        let Script { has_begun, login_address, .. } = script;
        let (ready, child) = started.map_err(|error| match error {
            // What the node did in silence is not known.
            LaunchError::Stalled(..) => {
                orders.trace.leave();
                error
            }
            LaunchError::Ended(words) => {
                let login = ShownLogin::new(&self.ssh, node);
                let silent = complaint::reason_of_silence(&words, &login).filter(|_| !has_begun);
                let known = || complaint::reason(&words, &login, has_begun);
                LaunchError::Ended(silent.unwrap_or_else(known))
            }
            error => error,
        })?;
        spread.runs(&node.name);
        let login_address = login_address.filter(|at| peer_address::fault_of(*at).is_none());
        let found = found.into_iter().map(|found| match (found, login_address) {
            // Only ssh can resolve host names that its configuration defines.
            (Err(_), Some(address)) => Ok(address.into()),
            (found, _) => found,
        });
        let found = found.collect::<Result<Vec<HostAddresses>, Unresolved>>()?;
        let addresses = found.iter().map(|rail| rail.reached(login_address, &ready.at)).collect();
        let addresses = doors.addresses(addresses, &ready, &doors.listening.listen)?;
        Ok(Launched { ready, addresses, child: Some(child) })
    }

    /// Begins the login on `node`, or goes on with it. Waits until the node has answered.
    ///
    /// # Errors
    /// When ssh cannot be run, or the node is late: its login goes on, unless the agent is to stay,
    /// since that has a record.
    fn begin(
        &self,
        node: &Node,
        orders: &Orders,
        doors: &Doors,
        log: &Path,
    ) -> Result<Starting, LaunchError> {
        let begun = orders.answers.go_on(&node.name, &orders.cancellation);
        let starting = match begun {
            Some(starting) => {
                // It counted among those at the same time when it began.
                orders.slot.leave();
                starting
            }
            None => Starting::start(self.command(node, orders, doors)?, log, &orders.terms(true))
                .map_err(cannot("run ssh", "; install the OpenSSH client"))?,
        };
        if orders.stay.is_some() {
            return Ok(starting);
        }
        orders.answers.wait_for(&node.name, starting, &orders.slot)
    }

    fn command(&self, node: &Node, orders: &Orders, doors: &Doors) -> Result<Command, LaunchError> {
        let arguments = [orders.arguments(), doors.arguments()].concat();
        on_script(&self.ssh, node, &self.binary, &arguments)
    }

    /// Sends the program, or the instructions for fetching it from another node.
    fn supply(&self, from: &ProgramSource, input: &mut Input) -> Result<(), LaunchError> {
        match from {
            ProgramSource::Head => send(&self.binary, input),
            ProgramSource::Node { at, ticket, .. } => {
                let timeout = Spread::patience(self.binary.length);
                input.write_all(bootstrap::fetch(*at, ticket, timeout).as_bytes())
            }
        }
    }
}

/// Returns the command that logs in to `node`, where the bootstrap script finds `binary`, or asks
/// for it, and runs it with `arguments`.
pub(super) fn on_script(
    ssh: &Ssh,
    node: &Node,
    binary: &Binary,
    arguments: &[String],
) -> Result<Command, LaunchError> {
    let own = bootstrap::arguments(binary, ssh.binary.as_deref(), &ssh.sha256);
    let mut words = vec!["exec".to_owned(), "/bin/sh".to_owned(), "-c".to_owned()];
    words.push(bootstrap::quote(&bootstrap::script())?);
    words.push("garland".to_owned());
    for argument in own.iter().chain(arguments) {
        words.push(bootstrap::quote(argument)?);
    }
    Ok(login(ssh, node, &words.join(" ")))
}

/// Sends the program to the script.
pub(super) fn send(binary: &Binary, input: &mut Input) -> Result<(), LaunchError> {
    let bytes = binary.bytes()?;
    input.write_all(bootstrap::SEND).and_then(|()| input.write_all(bytes))
}

/// Returns the command that logs in to `node` and has its login shell run `line`.
pub(super) fn login(ssh: &Ssh, node: &Node, line: &str) -> Command {
    let mut command = Command::new("ssh");
    // ssh uses the first value of an option, so the user's options come first.
    command.args(&ssh.options).args(OPTIONS);
    if let Some(user) = ssh.user.as_ref().filter(|_| !node.host.contains('@')) {
        command.args(["-l", user]);
    }
    command.args(["--", &node.host, line]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_asks_for_the_program_as_often_as_the_script_does() {
        let need = || BootstrapLine::Need { machine: "x86_64".to_owned(), missing: None };
        let unserved = || BootstrapLine::Unserved("0 of 9 bytes came".to_owned());
        let at = || BootstrapLine::At(None, "10.0.0.1".parse().ok());
        let answers = |lines: &[BootstrapLine]| {
            let mut script = Script::default();
            let steps: Result<Vec<Answered>, LaunchError> =
                lines.iter().map(|line| script.take(line)).collect();
            steps.map_err(|error| error.to_string())
        };
        let steps = answers(&[BootstrapLine::Other, at(), at(), need(), unserved()]);
        let [step, other] = [Answered::Step, Answered::Other];
        assert_eq!(steps, Ok(vec![other, step, other, step, step]));
        let again = Err(ASKS_AGAIN.to_owned());
        assert!(answers(&[need(), need(), need(), unserved()]).is_ok(), "for three directories");
        assert_eq!(answers(&[need(), need(), need(), need()]), again);
        assert_eq!(answers(&[need(), unserved(), unserved()]), again);
        assert_eq!(answers(&[unserved()]), again);
    }
}
