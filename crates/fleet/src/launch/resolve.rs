//! Resolves host names to addresses. Only the head does this; agents get addresses.
//!
//! The program is static, and a static C library cannot load the modules configured in
//! `nsswitch.conf`. So names are resolved by running `getent`.

use std::io::Read;
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};

use garland_core::cluster::peer_address;
use garland_sys::error::reason;
use thiserror::Error;

/// A lookup of a host name, which may run in the background.
pub struct Lookup {
    name: String,
    state: State,
}

/// A host name that cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot resolve {name}: {why}")]
pub struct Unresolved {
    name: String,
    why: String,
    /// Whether no address was found; otherwise one that no node has.
    is_unknown: bool,
}

impl Unresolved {
    /// Returns whether no address was found for the name. ssh may know one.
    pub fn is_unknown(&self) -> bool {
        self.is_unknown
    }
}

enum State {
    Known(IpAddr),
    Asked(std::io::Result<Child>),
}

impl Lookup {
    /// Starts the lookup of `name`. An address needs none.
    pub fn begin(name: &str) -> Self {
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let state = match bare.parse() {
            Ok(address) => State::Known(address),
            Err(_) => State::Asked(
                Command::new("getent")
                    .args(["ahosts", name])
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn(),
            ),
        };
        Self { name: name.to_owned(), state }
    }

    /// Waits for the lookup. Returns an IPv4 address if the name has one, otherwise an IPv6
    /// address.
    ///
    /// # Errors
    /// When the name has no address, or one that no node has.
    pub fn address(self) -> Result<IpAddr, Unresolved> {
        let Self { name, state } = self;
        let found = state.address();
        let is_unknown = found.is_err();
        let checked = found.and_then(|address| match peer_address::fault_of(address) {
            None => Ok(address),
            Some(fault) => Err(format!("{address} is the address of no node, since {fault}")),
        });
        checked.map_err(|why| Unresolved { name, why, is_unknown })
    }
}

impl State {
    /// Waits for the address.
    fn address(self) -> Result<IpAddr, String> {
        let mut child = match self {
            Self::Known(address) => return Ok(address),
            Self::Asked(Ok(child)) => child,
            Self::Asked(Err(error)) => {
                return Err(format!("cannot run getent: {}", reason(&error)));
            }
        };
        let mut text = String::new();
        let read = child.stdout.take().map(|mut output| output.read_to_string(&mut text));
        // The output decides; the exit status adds nothing.
        let _ = child.wait();
        match (read, prefer(&text)) {
            (Some(Ok(_)), Some(address)) => Ok(address),
            _ => Err("unknown host name".to_owned()),
        }
    }
}

/// Returns the first IPv4 address in the output of `getent ahosts`, or, if there is none, the first
/// address.
fn prefer(text: &str) -> Option<IpAddr> {
    let addresses = || {
        let words = text.lines().filter_map(|line| line.split_whitespace().next());
        words.filter_map(|word| word.parse::<IpAddr>().ok())
    };
    addresses().find(IpAddr::is_ipv4).or_else(|| addresses().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_kept_and_names_are_resolved() {
        for (name, address) in
            [("10.1.0.3", "10.1.0.3"), ("[fd00::3]", "fd00::3"), ("localhost", "127.0.0.1")]
        {
            let found = Lookup::begin(name).address();
            assert_eq!(found, Ok(address.parse().expect("an address")), "{name}");
        }
        // It is longer than a DNS label can be, so no name server is queried.
        let impossible = "n".repeat(64);
        let error = Lookup::begin(&impossible).address().expect_err("no name");
        assert!(error.to_string().contains("nnn: unknown host name"), "{error}");
    }

    #[test]
    fn a_name_that_leads_to_no_node_is_refused_with_the_reason() {
        for (name, fault) in [
            ("0.0.0.0", "it stands for all addresses of a machine"),
            ("[::]", "it stands for all addresses of a machine"),
            ("224.0.0.1", "it is a multicast address"),
            ("255.255.255.255", "it is the broadcast address"),
        ] {
            let error = Lookup::begin(name).address().expect_err("no node");
            assert!(
                error.to_string().ends_with(&format!("is the address of no node, since {fault}"))
            );
            assert!(!error.is_unknown());
        }
    }

    #[test]
    fn ipv4_is_preferred_to_ipv6() {
        let text = "fd00::3  STREAM n3\nfd00::3  DGRAM\n10.1.0.3  STREAM\n10.2.0.3  STREAM\n";
        assert_eq!(prefer(text), "10.1.0.3".parse().ok());
        assert_eq!(prefer("fd00::3  STREAM n3\n"), "fd00::3".parse().ok());
        assert_eq!(prefer(""), None);
    }
}
