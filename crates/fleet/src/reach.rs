//! Why the agent of a node isn't reached though it was started, and what helps.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};

use garland_transport::ConnectionError;
use thiserror::Error;

/// Why an agent isn't reached.
#[derive(Debug, Error)]
pub enum Unreached {
    /// Its record is no good.
    #[error("its record has no address")]
    NoAddress,
    /// Its lab can't be entered.
    #[error("{0}")]
    Beside(String),
    /// It can't be spoken to.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
}

impl Unreached {
    /// The reason for a node of the network, which somebody has just logged in to.
    pub fn after_login(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self}; {hint}"),
            None => self.to_string(),
        }
    }

    /// Whether no agent is there: its host answers, and says that nobody listens on its port. An
    /// agent that is stopped or busy, or whose host or network is down, doesn't prove that it is gone.
    pub fn is_nobody(&self) -> bool {
        matches!(self, Self::Connection(ConnectionError::Connect(_, error))
            if error.kind() == ErrorKind::ConnectionRefused)
    }

    /// The reason for an agent that stays, or may, as far as its record tells.
    pub fn of_one_that_stays(&self) -> String {
        format!(
            "an agent that stays is recorded and can't be reached: {self}; try again, or, if it is \
             gone for good: garland down --forget NODE"
        )
    }

    fn hint(&self) -> Option<String> {
        let Self::Connection(ConnectionError::Connect(address, error)) = self else { return None };
        if address.ip().is_loopback() {
            return Some(own_address(address.ip()));
        }
        firewalled(address, error.kind())
    }
}

/// What helps when a name leads to a loopback address, such as Debian's 127.0.1.1.
pub fn own_address(address: IpAddr) -> String {
    format!(
        "its name leads to {address} here, where every machine finds only itself: give its \
         `address` in the cluster file, or mend /etc/hosts"
    )
}

fn firewalled(address: &SocketAddr, kind: ErrorKind) -> Option<String> {
    let port = address.port();
    match kind {
        ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            Some(format!(
                "the login works, so a firewall keeps TCP port {port} closed, most likely: open it, \
                 or let agents listen on one that is open by `port` in the cluster file"
            ))
        }
        ErrorKind::ConnectionRefused => Some(
            "its agent has ended, or a firewall refuses for it: see the node's log in the run's \
             folder"
                .to_owned(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn reason(address: &str, kind: ErrorKind) -> String {
        let address = address.parse().expect("an address");
        let error = ConnectionError::Connect(address, io::Error::from(kind));
        Unreached::from(error).after_login()
    }

    #[test]
    fn a_firewall_and_a_loopback_name_are_told_apart() {
        let firewalled = reason("10.0.0.7:4100", ErrorKind::TimedOut);
        assert!(firewalled.contains("a firewall keeps TCP port 4100 closed"), "{firewalled}");
        for kind in [ErrorKind::TimedOut, ErrorKind::ConnectionRefused] {
            let own = reason("127.0.1.1:4100", kind);
            assert!(own.contains("its name leads to 127.0.1.1 here"), "{own}");
            assert!(!own.contains("firewall"), "{own}");
        }
    }

    #[test]
    fn nobody_is_there_only_if_the_host_says_so() {
        let is_nobody = |kind| {
            let address = SocketAddr::from(([10, 0, 0, 7], 4100));
            let error = ConnectionError::Connect(address, io::Error::from(kind));
            Unreached::from(error).is_nobody()
        };
        assert!(is_nobody(ErrorKind::ConnectionRefused));
        assert!(!is_nobody(ErrorKind::TimedOut));
        // An agent that has no room for a greeting just now closes the connection, too.
        let address = SocketAddr::from(([10, 0, 0, 7], 4100));
        assert!(!Unreached::from(ConnectionError::WrongKey(address)).is_nobody());
        let stopped = io::Error::from(ErrorKind::TimedOut);
        assert!(!Unreached::from(ConnectionError::Io(stopped)).is_nobody());
    }
}
