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

    /// Waits for the lookup, and returns the addresses of the name.
    ///
    /// # Errors
    /// When the name has no address, or one that no node has.
    pub fn addresses(self) -> Result<HostAddresses, Unresolved> {
        let Self { name, state } = self;
        let found = match state.addresses() {
            Ok(found) => found,
            Err(why) => return Err(Unresolved { name, why, is_unknown: true }),
        };
        let fault = |address: &IpAddr| Some((*address, peer_address::fault_of(*address)?));
        match found.0.iter().find_map(fault) {
            None => Ok(found),
            Some((address, fault)) => {
                let why = format!("{address} is the address of no node, since {fault}");
                Err(Unresolved { name, why, is_unknown: false })
            }
        }
    }
}

impl State {
    /// Waits for the addresses.
    fn addresses(self) -> Result<HostAddresses, String> {
        let mut child = match self {
            Self::Known(address) => return Ok(address.into()),
            Self::Asked(Ok(child)) => child,
            Self::Asked(Err(error)) => {
                return Err(format!("cannot run getent: {}", reason(&error)));
            }
        };
        let mut text = String::new();
        let read = child.stdout.take().map(|mut output| output.read_to_string(&mut text));
        // The output decides; the exit status adds nothing.
        let _ = child.wait();
        match (read, HostAddresses::parse(&text)) {
            (Some(Ok(_)), Some(addresses)) => Ok(addresses),
            _ => Err("unknown host name".to_owned()),
        }
    }
}

/// The addresses that a name leads to, at least one. Those of IPv4 come first, as not all nodes
/// need have IPv6; for the rest they have the order in which the system tries them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAddresses(Vec<IpAddr>);

impl From<IpAddr> for HostAddresses {
    fn from(address: IpAddr) -> Self {
        Self(vec![address])
    }
}

impl HostAddresses {
    /// The maximum number of addresses of a name. They are arguments of its node's agent.
    const MAX: usize = 32;

    /// Parses the output of `getent ahosts`; `None` if it has no address.
    fn parse(text: &str) -> Option<Self> {
        let mut found = Vec::new();
        for word in text.lines().filter_map(|line| line.split_whitespace().next()) {
            let address = word.parse::<IpAddr>().ok();
            found.extend(address.filter(|address| !found.contains(address)));
        }
        found.sort_by_key(IpAddr::is_ipv6);
        found.truncate(Self::MAX);
        (!found.is_empty()).then_some(Self(found))
    }

    /// Returns the addresses.
    pub fn iter(&self) -> impl Iterator<Item = IpAddr> {
        self.0.iter().copied()
    }

    /// Returns the address by which others reach the node's agent. Some addresses may be those of
    /// other machines, or of none: `open` are those at which the agent listens, as far as known,
    /// and `login` is the one by which the launcher has reached the node, if known. The node says
    /// both, so they only choose among the addresses of the name.
    pub fn reached(&self, login: Option<IpAddr>, open: &[IpAddr]) -> IpAddr {
        let first = self.0[0];
        let is_open = |address: &IpAddr| {
            open.iter().any(|open| open.is_unspecified() || is_same(*open, *address))
        };
        let login = login.and_then(|login| self.iter().find(|address| is_same(*address, login)));
        let own = self.iter().find(is_open);
        match (login, own) {
            // Other nodes may have no IPv6.
            (Some(login), Some(own)) if login.is_ipv6() && own.is_ipv4() => own,
            (Some(login), _) => login,
            (None, own) => own.unwrap_or(first),
        }
    }
}

fn is_same(left: IpAddr, right: IpAddr) -> bool {
    left.to_canonical() == right.to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_kept_and_names_are_resolved() {
        for (name, address) in
            [("10.1.0.3", "10.1.0.3"), ("[fd00::3]", "fd00::3"), ("localhost", "127.0.0.1")]
        {
            let found = Lookup::begin(name).addresses().expect("it has an address");
            assert_eq!(found.iter().next(), address.parse().ok(), "{name}");
        }
        // It is longer than a DNS label can be, so no name server is queried.
        let impossible = "n".repeat(64);
        let error = Lookup::begin(&impossible).addresses().expect_err("no name");
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
            let error = Lookup::begin(name).addresses().expect_err("no node");
            assert!(
                error.to_string().ends_with(&format!("is the address of no node, since {fault}"))
            );
            assert!(!error.is_unknown());
        }
    }

    fn addresses(text: &str) -> HostAddresses {
        HostAddresses::parse(&text.replace(' ', "\n")).expect("addresses")
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn ipv4_is_preferred_to_ipv6() {
        let text = "fd00::3  STREAM n3\nfd00::3  DGRAM\n10.1.0.3  STREAM\n10.2.0.3  STREAM\n";
        let found = HostAddresses::parse(text).expect("addresses");
        assert_eq!(found.0, ["10.1.0.3", "10.2.0.3", "fd00::3"].map(ip));
        assert_eq!(HostAddresses::parse("fd00::3  STREAM n3\n"), Some(ip("fd00::3").into()));
        assert_eq!(HostAddresses::parse(""), None);
    }

    #[test]
    fn of_several_addresses_the_one_of_the_login_is_taken_and_then_one_where_the_agent_listens() {
        let reached = |found: &str, login: Option<&str>, open: &str| {
            let open: Vec<IpAddr> = open.split_whitespace().map(ip).collect();
            addresses(found).reached(login.map(ip), &open).to_string()
        };
        // The first one belongs to nobody, or to another machine of the same name.
        let two = "10.0.0.77 10.0.0.1";
        assert_eq!(reached(two, Some("10.0.0.1"), "10.0.0.1"), "10.0.0.1");
        assert_eq!(reached(two, Some("10.0.0.1"), "10.0.0.77 10.0.0.1"), "10.0.0.1");
        assert_eq!(reached(two, Some("::ffff:10.0.0.1"), "::"), "10.0.0.1");
        // A node behind a router that forwards to it knows an address which the name does not have.
        assert_eq!(reached(two, Some("192.168.0.1"), "192.168.0.1"), "10.0.0.77");
        assert_eq!(reached(two, Some("192.168.0.1"), "192.168.0.1 10.0.0.1"), "10.0.0.1");
        assert_eq!(reached(two, None, "10.0.0.1"), "10.0.0.1");
        assert_eq!(reached(two, None, ""), "10.0.0.77");
        // It cannot choose the address of another node.
        assert_eq!(reached("10.0.0.3", Some("10.0.0.1"), "10.0.0.1"), "10.0.0.3");
        let both = "10.0.0.77 fd00::1";
        assert_eq!(reached(both, Some("fd00::1"), "fd00::1"), "fd00::1");
        let both = "10.0.0.1 fd00::1";
        assert_eq!(reached(both, Some("fd00::1"), "fd00::1 10.0.0.1"), "10.0.0.1");
    }
}
