//! One ssh a node, which stays as the agent's launching channel: the agent ends with its input.

use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use garland_core::cluster::{Node, Ssh};

use super::complaint;
use crate::launch::binary::Binary;
use crate::launch::bootstrap::{self, BootstrapLine};
use crate::launch::input::Input;
use crate::launch::resolve::Lookup;
use crate::launch::spread::{From, Spread};
use crate::launch::{Launched, Orders, Starting};

/// What is asked of every ssh, unless the user's options say otherwise: never to ask, to give up in
/// time, and to do nothing of what a person's login may do besides.
const OPTIONS: &[&str] = &[
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=3",
    "-oLogLevel=ERROR",
    "-oClearAllForwardings=yes",
    "-oControlMaster=no",
    "-T",
    "-a",
    "-x",
];

/// Logs in to nodes.
pub struct Logins {
    ssh: Ssh,
    binary: Arc<Binary>,
}

impl Logins {
    /// With the options of the cluster file.
    pub fn new(ssh: Ssh, binary: Arc<Binary>) -> Self {
        Self { ssh, binary }
    }

    /// Starts the agent of `node`; has the binary put there first if need be, as `spread` says.
    pub fn launch(
        &self,
        node: &Node,
        orders: &Orders,
        log: &Path,
        spread: &Spread,
    ) -> Result<Launched, String> {
        let lookups: Vec<Lookup> = node.addresses.iter().map(|name| Lookup::begin(name)).collect();
        let command = self.command(node, orders)?;
        let starting = Starting::start(command, log, &orders.will)
            .map_err(|error| format!("starting ssh: {error}; is it installed here?"))?;
        let mut came_in_at = None;
        // Reasons that are known here are told as they are; others are ssh's own words.
        let mut known = None;
        let started = starting.ready_after(|line, input| {
            let answered = match BootstrapLine::parse(line) {
                BootstrapLine::At(_, address) => {
                    came_in_at = address;
                    Ok(())
                }
                BootstrapLine::Need { machine, lacking } => {
                    let why_not = lacking.map(|programs| format!("the node has no {programs}"));
                    bootstrap::fits(&self.binary, &machine)
                        .and_then(|()| spread.turn(&node.name, why_not.as_deref(), &orders.will))
                        .and_then(|from| self.supply(&from, input))
                }
                BootstrapLine::Unserved(why) => {
                    let why = spread.unserved(&node.name, &why);
                    let from = spread.turn(&node.name, Some(&why), &orders.will);
                    from.and_then(|from| self.supply(&from, input))
                }
                BootstrapLine::Refused(why) => Err(bootstrap::refused(&why)),
                BootstrapLine::Ended(_) | BootstrapLine::Other => Ok(()),
            };
            answered.inspect_err(|reason| known = Some(reason.clone()))
        });
        let (ready, child) = started
            .map_err(|words| known.unwrap_or_else(|| complaint::reason(&words, &node.host)))?;
        let alone = node.addresses.len() == 1;
        let found = lookups.into_iter().map(|lookup| match (lookup.finish(), came_in_at) {
            // Names of the user's ssh configuration are known to ssh alone.
            (Err(_), Some(address)) if alone => Ok(address),
            (found, _) => found,
        });
        let addresses = found.collect::<Result<Vec<IpAddr>, String>>()?;
        Ok(Launched { ready, addresses, child: Some(child) })
    }

    fn command(&self, node: &Node, orders: &Orders) -> Result<Command, String> {
        let mut arguments =
            bootstrap::arguments(&self.binary, self.ssh.binary.as_deref(), &self.ssh.sha256);
        arguments.extend(orders.arguments());
        if let Some(port) = node.port {
            arguments.extend(["--port".to_owned(), port.to_string()]);
        }
        let mut words = vec!["exec".to_owned(), "/bin/sh".to_owned(), "-c".to_owned()];
        words.push(bootstrap::quote(&bootstrap::script())?);
        words.push("garland".to_owned());
        for argument in &arguments {
            words.push(bootstrap::quote(argument)?);
        }
        let mut command = Command::new("ssh");
        // The first value given counts, so the user's options go first.
        command.args(&self.ssh.options).args(OPTIONS);
        if let Some(user) = self.ssh.user.as_ref().filter(|_| !node.host.contains('@')) {
            command.args(["-l", user]);
        }
        command.args(["--", &node.host, &words.join(" ")]);
        Ok(command)
    }

    /// Sends the binary, or what the node needs to fetch it.
    fn supply(&self, from: &From, input: &mut Input) -> Result<(), String> {
        let bytes = &self.binary.bytes;
        match from {
            From::Head => input.say(bootstrap::SEND).and_then(|()| input.say(bytes)),
            From::Node { at, ticket, .. } => {
                let patience = Spread::patience(bytes.len());
                input.say(bootstrap::fetch(*at, ticket, patience).as_bytes())
            }
        }
    }
}
