//! Names to addresses, on the head only: agents are told numbers.
//!
//! The binary is static, and the C library's resolver is only whole when it can load the modules
//! that the machine's `nsswitch.conf` names; so the system's own `getent` is asked.

use std::io::Read;
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};

/// A name that is being looked up while other things happen.
pub struct Lookup {
    name: String,
    state: State,
}

enum State {
    Known(IpAddr),
    Asked(std::io::Result<Child>),
}

impl Lookup {
    /// Begins to look `name` up; what is an address already needs no asking.
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

    /// A node's address, IPv4 if it has one.
    pub fn finish(self) -> Result<IpAddr, String> {
        let in_file = |reason| format!("{reason}; give its address in the cluster file");
        self.address().map_err(in_file)
    }

    /// A host's address, IPv4 if it has one.
    pub fn address(self) -> Result<IpAddr, String> {
        let name = self.name;
        let mut child = match self.state {
            State::Known(address) => return Ok(address),
            State::Asked(child) => {
                child.map_err(|error| format!("looking up {name}: starting getent: {error}"))?
            }
        };
        let mut text = String::new();
        let read = child.stdout.take().map(|mut output| output.read_to_string(&mut text));
        // What it printed counts; its status says no more than that.
        let _ = child.wait();
        match (read, prefer(&text)) {
            (Some(Ok(_)), Some(address)) => Ok(address),
            _ => Err(format!("looking up {name}: unknown name")),
        }
    }
}

/// The first IPv4 address of `getent ahosts`, else the first at all.
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
    fn addresses_pass_and_names_are_looked_up() {
        for (name, address) in
            [("10.1.0.3", "10.1.0.3"), ("[fd00::3]", "fd00::3"), ("localhost", "127.0.0.1")]
        {
            let found = Lookup::begin(name).finish();
            assert_eq!(found, Ok(address.parse().expect("an address")), "{name}");
        }
        // Longer than a label may be: no name server is asked for it.
        let impossible = "n".repeat(64);
        let error = Lookup::begin(&impossible).finish().expect_err("no name");
        assert!(error.contains("nnn: unknown name"), "{error}");
    }

    #[test]
    fn ipv4_goes_before_ipv6() {
        let text = "fd00::3  STREAM n3\nfd00::3  DGRAM\n10.1.0.3  STREAM\n10.2.0.3  STREAM\n";
        assert_eq!(prefer(text), "10.1.0.3".parse().ok());
        assert_eq!(prefer("fd00::3  STREAM n3\n"), "fd00::3".parse().ok());
        assert_eq!(prefer(""), None);
    }
}
