//! Resolves host names to addresses. Only the head does this; agents get addresses.
//!
//! The program is static, and a static C library cannot load the modules configured in
//! `nsswitch.conf`. So names are resolved by running `getent`.

use std::io::Read;
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};

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
    pub fn address(self) -> Result<IpAddr, Unresolved> {
        let unresolved = |why: String| Unresolved { name: self.name, why };
        let mut child = match self.state {
            State::Known(address) => return Ok(address),
            State::Asked(Ok(child)) => child,
            State::Asked(Err(error)) => {
                return Err(unresolved(format!("cannot run getent: {}", reason(&error))));
            }
        };
        let mut text = String::new();
        let read = child.stdout.take().map(|mut output| output.read_to_string(&mut text));
        // The output decides; the exit status adds nothing.
        let _ = child.wait();
        match (read, prefer(&text)) {
            (Some(Ok(_)), Some(address)) => Ok(address),
            _ => Err(unresolved("unknown host name".to_owned())),
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
    fn ipv4_is_preferred_to_ipv6() {
        let text = "fd00::3  STREAM n3\nfd00::3  DGRAM\n10.1.0.3  STREAM\n10.2.0.3  STREAM\n";
        assert_eq!(prefer(text), "10.1.0.3".parse().ok());
        assert_eq!(prefer("fd00::3  STREAM n3\n"), "fd00::3".parse().ok());
        assert_eq!(prefer(""), None);
    }
}
