//! Opens the agent's port: at the addresses that its user named, or at those by which the node is
//! reached.

use std::fmt::Write;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use garland_core::cluster::listen::{ListenAt, Ports};
use garland_sys::error::reason;
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpListener;
use garland_sys::{nic, ports, tcp};
use rustix::io::Errno;
use thiserror::Error;

use crate::log::log;

/// How often a port is asked for that is free at all addresses, if the kernel chooses it.
const MAX_CHOICES: u32 = 32;

/// The maximum number of taken ports whose holders an error names.
const MAX_NAMED_HOLDERS: usize = 3;

/// Why an agent cannot listen.
#[derive(Debug, Error)]
pub enum ListenError {
    /// There is no NIC of this name, or it has no address.
    #[error("cannot listen at {0}: {1}; `ip addr` shows the node's NICs")]
    Nic(String, String),
    /// This address cannot be listened at.
    #[error("cannot listen at {0}: {reason}", reason = reason(.1))]
    Address(SocketAddr, io::Error),
    /// None of these addresses is one of the node's own.
    #[error(
        "cannot listen at {0}: none of these addresses by which the node is reached is its own; \
         name one of its NICs, such as --listen eth0"
    )]
    Foreign(String),
    /// All ports are taken; the text says by whom.
    #[error(
        "cannot listen at {addresses}: {taken}; free one, or choose other ports: --port LOW-HIGH"
    )]
    Taken {
        /// The addresses.
        addresses: String,
        /// The ports that were tried, and who has them.
        taken: String,
    },
}

/// The agent's port: one number at each of its addresses.
pub struct OpenPort {
    /// The listening sockets.
    pub listeners: Vec<TcpListener>,
    /// The number of the port.
    pub number: u16,
    /// The addresses; an unspecified one stands for all.
    pub addresses: Vec<IpAddr>,
}

impl OpenPort {
    /// Opens the first of `ports` that is free: at `listen`, or, if that is empty, at this node's
    /// own addresses among `reached`. If that is empty, too, only this machine reaches the port.
    ///
    /// # Errors
    /// When an address that the user named is not one of this node's, when none of those by which
    /// the node is reached is, or when all ports are taken.
    pub fn open(
        listen: &[ListenAt],
        reached: &[IpAddr],
        ports: Ports,
        transport: Transport,
    ) -> Result<Self, ListenError> {
        if !listen.is_empty() {
            return open_at(&named(listen)?, ports, transport);
        }
        if reached.is_empty() {
            return open_at(&[Ipv4Addr::LOCALHOST.into()], ports, transport);
        }
        let own = own_of(reached, transport)?;
        if own.is_empty() {
            return Err(ListenError::Foreign(joined(reached)));
        }
        open_at(&own, ports, transport)
    }
}

/// Returns the addresses that `listen` stands for, each once.
pub fn named(listen: &[ListenAt]) -> Result<Vec<IpAddr>, ListenError> {
    let mut addresses = Vec::new();
    for at in listen {
        match at {
            ListenAt::Address(address) => addresses.push(*address),
            ListenAt::Nic(name) => addresses.extend(of_nic(name)?),
        }
    }
    // The others are among them, and cannot be bound beside them.
    if let Some(all) = addresses.iter().copied().filter(IpAddr::is_unspecified).max() {
        addresses = vec![all];
    }
    Ok(distinct(addresses))
}

fn of_nic(name: &str) -> Result<Vec<IpAddr>, ListenError> {
    let because = |why: &str| ListenError::Nic(name.to_owned(), why.to_owned());
    match nic::addresses(name) {
        Ok(found) if found.is_empty() => Err(because("this NIC has no address")),
        Ok(found) => Ok(found),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(because("there is no such NIC")),
        Err(error) => Err(because(&reason(&error))),
    }
}

/// Returns those of `reached` that are this node's own: a name may lead to the address of a router
/// that forwards to the node, and the nodes of a Slurm step share one list.
fn own_of(reached: &[IpAddr], transport: Transport) -> Result<Vec<IpAddr>, ListenError> {
    let reached = distinct(reached.to_vec());
    let mut own = Vec::new();
    for &address in &reached {
        // Any port: whether the address can be bound is what counts.
        match tcp::listen_at((address, 0).into(), transport) {
            Ok(_) => own.push(address),
            Err(error) if is_foreign(&error) => {}
            Err(error) => return Err(ListenError::Address((address, 0).into(), error)),
        }
    }
    if own.len() < reached.len() && !own.is_empty() {
        log(&format!("listening at {} of {}", joined(&own), joined(&reached)));
    }
    Ok(own)
}

/// Returns whether an address is not one of this node's, or of a family that it lacks.
fn is_foreign(error: &io::Error) -> bool {
    error.kind() == ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
}

/// Listens at all of `addresses` on the first of `ports` that is free at each.
fn open_at(
    addresses: &[IpAddr],
    ports: Ports,
    transport: Transport,
) -> Result<OpenPort, ListenError> {
    let choices = if ports.is_any() { MAX_CHOICES } else { 1 };
    for _ in 0..choices {
        for port in ports.numbers() {
            if let Some(open) = try_open(addresses, port, transport)? {
                return Ok(open);
            }
        }
    }
    let taken = describe_taken(ports);
    Err(ListenError::Taken { addresses: joined(addresses), taken })
}

/// Listens at all of `addresses` on `port`; `None` if it is taken at one of them.
fn try_open(
    addresses: &[IpAddr],
    port: u16,
    transport: Transport,
) -> Result<Option<OpenPort>, ListenError> {
    let mut listeners = Vec::new();
    let mut number = port;
    for &address in addresses {
        let at = SocketAddr::new(address, number);
        let bound = match address {
            // IPv4, too, and alone where there is no IPv6.
            IpAddr::V6(six) if six.is_unspecified() => tcp::listen(number, transport),
            _ => tcp::listen_at(at, transport),
        };
        let listener = match bound {
            Ok(listener) => listener,
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Ok(None),
            Err(error) => return Err(ListenError::Address(at, error)),
        };
        let own = listener.local_addr().map_err(|error| ListenError::Address(at, error))?;
        number = own.port();
        listeners.push(listener);
    }
    Ok(Some(OpenPort { listeners, number, addresses: addresses.to_vec() }))
}

/// Returns which ports were tried, and which processes have the first of them, for a message.
fn describe_taken(ports: Ports) -> String {
    if ports.is_any() {
        return "no port is free".to_owned();
    }
    let mut text = match ports.numbers().count() {
        1 => format!("port {ports} is taken"),
        _ => format!("all ports of {ports} are taken"),
    };
    let holders = ports.numbers().filter_map(|port| Some((port, ports::holder(port)?)));
    for (index, (port, holder)) in holders.take(MAX_NAMED_HOLDERS).enumerate() {
        let before = if index == 0 { ": " } else { ", " };
        // Cannot fail: it is written to memory.
        let _ = write!(text, "{before}{port} by {holder}");
    }
    text
}

fn joined(addresses: &[IpAddr]) -> String {
    addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns `addresses` in their order, each once.
fn distinct(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let mut distinct = Vec::new();
    for address in addresses {
        if !distinct.contains(&address) {
            distinct.push(address);
        }
    }
    distinct
}

#[cfg(test)]
mod tests;
