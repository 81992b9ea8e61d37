//! Errors of connecting to agents, with hints for the user.

use std::fmt;
use std::io::ErrorKind;
use std::net::IpAddr;

use garland_lab::LabError;
use garland_protocol::wire::{VersionError, spoken};
use garland_transport::ConnectionError;
use thiserror::Error;

/// The error of connecting to an agent.
#[derive(Debug, Error)]
pub enum Unreached {
    /// The agent's record has no address.
    #[error("the record of its agent has no address")]
    NoAddress,
    /// Another command starts the agent: the number of its process.
    #[error("another command (process {0}) starts it at present")]
    Starting(u32),
    /// The command that started the agent has ended before it knew of the agent.
    #[error("its start was interrupted")]
    Interrupted,
    /// The agent obeys another key of the user.
    #[error("it obeys another key of this user; to end it: garland key rotate")]
    OtherKey,
    /// The lab of the agent's node cannot be entered.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The connection failed.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
}

/// The release of an agent that has another protocol version.
pub struct OtherRelease<'a> {
    release: &'a str,
    protocol: u16,
}

impl OtherRelease<'_> {
    /// Returns whether the agent is of an older release than this one.
    pub fn is_older(&self) -> bool {
        self.protocol < spoken()
    }
}

impl fmt::Display for OtherRelease<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let age = if self.is_older() { "an older" } else { "a newer" };
        let Self { release, protocol } = self;
        write!(f, "of {age} release (garland {release}, protocol {protocol})")
    }
}

impl Unreached {
    /// Returns the release of the agent, if this is the reason.
    pub fn other_release(&self) -> Option<OtherRelease<'_>> {
        match self {
            Self::Connection(ConnectionError::Version(VersionError::Version {
                theirs,
                release,
            })) => Some(OtherRelease { release, protocol: *theirs }),
            _ => None,
        }
    }

    /// Returns the error's text for an agent of another release that could not be asked to end.
    pub fn of_retirement(&self) -> String {
        format!(
            "cannot end its standing agent, which is of another release: {self}; run `garland down` \
             of that release, or kill the agent's process on the node"
        )
    }

    /// Returns the error's text, with a hint, for a node that has just been reached by ssh.
    pub fn after_login(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self}; {hint}"),
            None => self.to_string(),
        }
    }

    /// Returns whether the connection was refused at all addresses. Probably no process listens on
    /// the agent's port, since the agent has ended. But this is not confirmed: whoever is on the
    /// path can say so by one segment, and a firewall that rejects connections does. Only the
    /// processes of the node tell ([`Processes`](crate::processes::Processes)). After any other
    /// error the agent may be stopped or busy, or its host or network may be down.
    pub fn may_have_ended(&self) -> bool {
        matches!(self, Self::Connection(ConnectionError::Connect(_, error))
            if error.kind() == ErrorKind::ConnectionRefused)
    }

    /// Returns whether a firewall may keep this machine from the agent's port: that of a node which
    /// has another address than this machine.
    pub fn may_be_a_firewall(&self) -> bool {
        let Self::Connection(ConnectionError::Connect(address, error)) = self else { return false };
        let is_usual = matches!(
            error.kind(),
            ErrorKind::TimedOut
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
                | ErrorKind::ConnectionRefused
        );
        is_usual && !address.ip().is_loopback()
    }

    /// Returns the error's text for a standing agent that may still exist.
    pub fn of_standing(&self) -> String {
        if let Some(other) = self.other_release() {
            let advice = match other.is_older() {
                true => "`garland up NODE` replaces it",
                false => "use that release, or end the agent: garland down NODE",
            };
            return format!(
                "its standing agent is {other}, this is protocol {}: {advice}",
                spoken()
            );
        }
        if matches!(self, Self::OtherKey | Self::Starting(_) | Self::Interrupted) {
            return format!("cannot use its standing agent: {self}");
        }
        format!(
            "cannot connect to its standing agent: {self}; try again, or, if the agent no longer \
             exists, remove its record: garland down --forget NODE"
        )
    }

    /// Returns the error's text for the standing agent of the node `name`, which may have ended.
    /// `why` says why the node does not confirm it.
    pub fn of_unconfirmed(&self, name: &str, why: &str) -> String {
        format!(
            "{self}; that its agent has ended is not confirmed: {why}; try again when the node can be \
             logged in to, or, if the agent no longer exists, remove its record: \
             garland down --forget '{name}'"
        )
    }

    fn hint(&self) -> Option<String> {
        let Self::Connection(ConnectionError::Connect(address, error)) = self else { return None };
        match error.kind() {
            _ if address.ip().is_loopback() => Some(own_address(address.ip())),
            ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                Some(format!(
                    "the login worked, so a firewall probably blocks TCP port {}: open it, or set \
                     an open one with `port` in the cluster file",
                    address.port()
                ))
            }
            ErrorKind::ConnectionRefused => Some(
                "its agent has ended, or a firewall rejects the connection: see the node's log in \
                 the run's directory"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// What is said of agents that are reached by logins.
pub const ABOUT_LOGINS: &str = "its agent's port is closed (a firewall?), so all goes through ssh; \
     faster: open a TCP port to the nodes, and name it by --port";

/// What is said of agents that are reached by logins, and whose port the user has named.
pub const ABOUT_LOGINS_AND_PORT: &str =
    "the port that was named is closed, too (a firewall?), so all goes through ssh";

/// Returns the message for a node whose name resolves to a loopback address, such as Debian's
/// 127.0.1.1.
pub fn own_address(address: IpAddr) -> String {
    format!(
        "its name resolves to the loopback address {address} on this machine: set its `address` in \
         the cluster file, or correct /etc/hosts"
    )
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::SocketAddr;

    use super::*;

    fn reason(address: &str, kind: ErrorKind) -> String {
        let address = address.parse().expect("an address");
        let error = ConnectionError::Connect(address, io::Error::from(kind));
        Unreached::from(error).after_login()
    }

    #[test]
    fn a_firewall_and_a_loopback_name_have_different_hints() {
        let firewalled = reason("10.0.0.7:4100", ErrorKind::TimedOut);
        assert!(firewalled.contains("a firewall probably blocks TCP port 4100"), "{firewalled}");
        for kind in [ErrorKind::TimedOut, ErrorKind::ConnectionRefused] {
            let own = reason("127.0.1.1:4100", kind);
            assert!(own.contains("its name resolves to the loopback address 127.0.1.1"), "{own}");
            assert!(!own.contains("firewall"), "{own}");
        }
    }

    #[test]
    fn an_agent_may_be_gone_only_if_its_host_refuses_the_connection() {
        let may_have_ended = |kind| {
            let address = SocketAddr::from(([10, 0, 0, 7], 4100));
            let error = ConnectionError::Connect(address, io::Error::from(kind));
            Unreached::from(error).may_have_ended()
        };
        assert!(may_have_ended(ErrorKind::ConnectionRefused));
        assert!(!may_have_ended(ErrorKind::TimedOut));
        // An agent whose greeting limit is reached also closes the connection.
        let address = SocketAddr::from(([10, 0, 0, 7], 4100));
        assert!(!Unreached::from(ConnectionError::WrongKey(address)).may_have_ended());
        let stopped = io::Error::from(ErrorKind::TimedOut);
        assert!(!Unreached::from(ConnectionError::Io(stopped)).may_have_ended());
    }
}
