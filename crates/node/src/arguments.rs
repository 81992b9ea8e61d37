//! The arguments of `garland agent`, as launchers write them: each option and its value are words
//! of their own.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use garland_agent::AgentConfig;
use garland_control::program;
use garland_core::cluster::listen::Ports;
use garland_core::cluster::peer_address;
use garland_core::printable;
use garland_dataplane::block_index::Records;
use garland_protocol::copy::ClockFault;
use garland_protocol::farm::FarmAccess;
use garland_sys::mptcp::Transport;
use garland_sys::nic;
use garland_terminal::failure::Failure;

/// How an agent is to run.
#[derive(Debug)]
pub struct Arguments {
    /// Keys, root (`--root`), addresses (`--listen`, `--reached`), ports (`--port`), idle seconds
    /// (`--stay`), the maximum age in seconds (`--max-life`), the rate of an emulated disk in bytes
    /// per second (`--disk`), and whether links use MPTCP (`--mptcp`) and nothing is told to the
    /// node's log (`--no-syslog`). There are no records and no names.
    pub config: AgentConfig,
    /// A fault of its clock, injected for tests (`--clock`).
    pub clock: Option<ClockFault>,
    /// Whether it runs in the background, with messages in a file (`--detach`).
    pub detach: bool,
    /// The file for messages (`--log`); none for one below the state directory.
    pub log: Option<PathBuf>,
}

impl Arguments {
    /// Parses `words`, which follow `agent`. A public key that may command, 64 hexadecimal digits
    /// after `--controller`, is required; there may be several. An agent that serves files to a
    /// farm has a file with what its nodes reach (`--farm`, [`FarmAccess`]) instead.
    ///
    /// # Errors
    /// Names the word that is unknown, lacks its value or has an invalid one.
    pub fn parse(words: &[OsString]) -> Result<Self, Failure> {
        let config = AgentConfig {
            root: None,
            controllers: Vec::new(),
            farm: FarmAccess::default(),
            listen: Vec::new(),
            reached: Vec::new(),
            ports: Ports::ANY,
            keys: None,
            stay: None,
            max_life: None,
            disk: None,
            records: Records::default(),
            names: None,
            cluster_key: None,
            syslog: true,
            program: program::for_nodes,
            transport: Transport::mptcp_if(false),
        };
        let mut arguments = Self { config, clock: None, detach: false, log: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let config = &mut arguments.config;
            let mut value = || {
                let missing = || Failure::usage(format!("{} needs a value", printable::path(word)));
                words.next().ok_or_else(missing)
            };
            match word.to_str() {
                Some("--mptcp") => config.transport = Transport::mptcp_if(true),
                Some("--detach") => arguments.detach = true,
                Some("--no-syslog") => config.syslog = false,
                Some("--controller") => config.controllers.push(key(value()?)?),
                Some("--farm") => config.farm = farm(value()?)?,
                Some("--root") => config.root = Some(value()?.into()),
                Some("--listen") => config.listen.push(parsed(word, value()?)?),
                Some("--reached") => config.reached.extend(reached(value()?)?),
                Some("--port") => config.ports = parsed(word, value()?)?,
                Some("--stay") => config.stay = Some(Duration::from_secs(parsed(word, value()?)?)),
                Some("--max-life") => {
                    config.max_life = Some(Duration::from_secs(parsed(word, value()?)?));
                }
                Some("--disk") => config.disk = Some(parsed(word, value()?)?),
                // The head finds the process by it, if the agent does not answer.
                Some("--tag") => drop(value()?),
                Some("--clock") => arguments.clock = Some(parsed(word, value()?)?),
                Some("--log") => arguments.log = Some(value()?.into()),
                _ => {
                    return Err(Failure::usage(format!(
                        "unknown argument {}",
                        printable::path(word)
                    )));
                }
            }
        }
        let AgentConfig { controllers, farm, .. } = &arguments.config;
        if controllers.is_empty() && farm.nodes.is_empty() {
            return Err(Failure::usage("an agent needs --controller and a public key"));
        }
        Ok(arguments)
    }
}

fn parsed<T: FromStr<Err: Display>>(option: &OsStr, value: &OsStr) -> Result<T, Failure> {
    value.to_string_lossy().parse().map_err(|error| {
        Failure::usage(format!(
            "invalid {} {}: {error}",
            printable::path(option),
            printable::path(value)
        ))
    })
}

/// Reads the file that says what the nodes of a farm reach.
fn farm(path: &OsStr) -> Result<FarmAccess, Failure> {
    let shown = printable::path(path);
    let bytes = std::fs::read(path);
    let bytes = bytes.map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
    let farm = FarmAccess::parse(&bytes);
    farm.ok_or_else(|| Failure::usage(format!("{shown} does not say what a farm's nodes reach")))
}

/// Parses the addresses by which others reach the node. Of these words separated by commas, `ssh`
/// and `slurm` stand for the address by which the launcher reached it, if that is known.
fn reached(words: &OsStr) -> Result<Vec<IpAddr>, Failure> {
    let mut addresses = Vec::new();
    for word in words.to_string_lossy().split(',') {
        match word {
            "ssh" => addresses.extend(login_address(std::env::var("SSH_CONNECTION").ok())),
            "slurm" => addresses.extend(step_address()),
            _ => {
                let address: IpAddr = parsed(OsStr::new("--reached"), OsStr::new(word))?;
                if let Some(fault) = peer_address::fault_of(address) {
                    return Err(Failure::usage(format!("invalid --reached {word}: {fault}")));
                }
                addresses.push(address);
            }
        }
    }
    Ok(addresses)
}

/// Returns the server's address in `SSH_CONNECTION`, whose words are the client's address and port,
/// and those of the server (ssh(1)). It has none if sshd serves no socket of the network.
fn login_address(connection: Option<String>) -> Option<IpAddr> {
    let address: IpAddr = connection?.split_whitespace().nth(2)?.parse().ok()?;
    peer_address::fault_of(address).is_none().then_some(address)
}

/// Returns the address of this node that faces the machine on which srun runs.
fn step_address() -> Option<IpAddr> {
    let head = std::env::var("SLURM_LAUNCH_NODE_IPADDR").ok()?;
    nic::facing(head.parse().ok()?).ok()
}

fn key(text: &OsStr) -> Result<[u8; 32], Failure> {
    let text = text
        .to_str()
        .filter(|text| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let text = text.ok_or_else(|| Failure::usage("a key must have 64 hexadecimal digits"))?;
    let mut key = [0; 32];
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(Failure::usage)?;
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_login_is_that_of_the_server() {
        let found = |text: &str| login_address(Some(text.to_owned()));
        assert_eq!(found("10.0.0.1 50000 10.0.0.2 22"), "10.0.0.2".parse().ok());
        assert_eq!(found("fd00::1 50000 fd00::2 22"), "fd00::2".parse().ok());
        assert_eq!(found("UNKNOWN 65535 UNKNOWN 65535"), None);
        assert_eq!((found("fe80::1%eth0 5 fe80::2%eth0 22"), login_address(None)), (None, None));
    }

    #[test]
    fn addresses_nics_and_ports_are_parsed() {
        let words = format!(
            "--controller {} --listen 10.1.0.3 --listen ib0 --reached 10.2.0.3,fd00::3 --port 4100-4101",
            "0a".repeat(32)
        );
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        let config = Arguments::parse(&words).expect("good arguments").config;
        let listen: Vec<String> = config.listen.iter().map(ToString::to_string).collect();
        assert_eq!(listen, ["10.1.0.3", "ib0"]);
        assert_eq!(config.reached.len(), 2);
        assert_eq!(config.ports.to_string(), "4100-4101");
        let wrong = |option: &str| {
            let words = ["--controller", &"0a".repeat(32), option, "-"].map(OsString::from);
            Arguments::parse(&words).map(drop).expect_err("it is invalid").to_string()
        };
        let all = reached(OsStr::new("10.2.0.3,0.0.0.0")).expect_err("no address of a node");
        let fault = "invalid --reached 0.0.0.0: it stands for all addresses of a machine";
        assert_eq!(all.message(), fault);
        for option in ["--listen", "--reached", "--port"] {
            assert!(wrong(option).contains(option), "{}", wrong(option));
        }
    }
}
