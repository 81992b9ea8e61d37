//! Connects to the agent of a node, for access to its files.

use std::net::SocketAddr;
use std::sync::Arc;

use garland_control::Agent;
use garland_protocol::copy::CopyId;
use garland_protocol::files::{FILES_LINKS, FilesOrder};
use garland_protocol::wire::{Line, Purpose, Secret};
use garland_protocol::{FromAgent, ToAgent};
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpStream;
use garland_sys::tcp::{self, PREFERRED};
use garland_sys::{clock, event, random};
use garland_transport::connection::Connection;
use garland_transport::{Credentials, LinkError, detour, introduce, limits};

use super::link::Ends;
use super::traffic::Traffic;
use super::watch;
use super::wire::Wire;

/// Finds the agent of the node at an index of the node list, and connects to it; the error is the
/// reason as text.
pub type Reach = Arc<dyn Fn(usize) -> Result<Agent, String> + Send + Sync>;

/// Establishes the connections to one node's agent.
pub struct Dialer {
    /// The index of the node in the node list.
    pub node: usize,
    /// Finds the agent and connects the control channel.
    pub reach: Reach,
    /// Whether payload is encrypted on the network.
    pub sealed: bool,
    /// The counters of the node's traffic.
    pub traffic: Arc<Traffic>,
}

impl Dialer {
    /// Establishes the control channel and the connections for requests, under the number `epoch`.
    ///
    /// # Errors
    /// Why the agent could not be reached, as text.
    pub fn dial(&self, epoch: u64) -> Result<Arc<Wire>, String> {
        let Agent { mut connection, addresses } = (self.reach)(self.node)?;
        let order = FilesOrder {
            id: CopyId(random::bytes()),
            secret: Secret(random::bytes()),
            sealed: self.sealed,
        };
        connection.send(&ToAgent::Files(order.clone())).map_err(|error| error.to_string())?;
        await_open(&mut connection, order.id)?;
        let address = *addresses.first().ok_or("it has no address")?;
        let ends = (0..FILES_LINKS).map(|number| connect(address, &order, number));
        let ends = ends.collect::<Result<Vec<_>, _>>();
        let ends = ends.map_err(|error| format!("cannot connect to {address}: {error}"))?;
        let traffic = Arc::clone(&self.traffic);
        let wire = Wire::start(traffic, epoch, ends).map_err(|error| error.to_string())?;
        watch::start(connection, &wire).map_err(|error| error.to_string())?;
        Ok(wire)
    }
}

fn await_open(connection: &mut Connection, id: CopyId) -> Result<(), String> {
    use std::os::fd::AsFd;

    let deadline_ns = clock::now_ns() + limits::ANSWER.as_nanos() as u64;
    loop {
        let left = clock::until(deadline_ns);
        if left.is_zero() {
            return Err("its agent does not answer".to_owned());
        }
        let ready = event::wait_readable(&[connection.as_fd()], Some(left));
        if ready.map_err(|error| error.to_string())? != [true] {
            continue;
        }
        for message in connection.receive().map_err(|error| error.to_string())? {
            match message {
                FromAgent::FilesOpen(answered, None) if answered == id => return Ok(()),
                FromAgent::FilesOpen(answered, Some(why)) if answered == id => return Err(why),
                _ => {}
            }
        }
    }
}

fn connect(address: SocketAddr, order: &FilesOrder, number: u16) -> Result<Ends, LinkError> {
    let stream: TcpStream = detour::connect(address, limits::ANSWER, Transport::Tcp)?;
    let credentials = Credentials::Secret(order.id, order.secret.clone());
    let first = number.to_le_bytes();
    // Heartbeats show that the agent is alive; a full socket is not a failure.
    let channel = introduce(&stream, limits::ANSWER, Purpose::Files, &credentials, &first)?;
    // On failure the kernel's defaults apply.
    let _ = tcp::keep_alive(&stream);
    let _ = tcp::choose_congestion(&stream, &PREFERRED);
    let line = |line: Line| if order.sealed { line } else { line.into_clear() };
    let asks = line(channel.sending);
    let answers = line(channel.receiving);
    Ok(Ends { stream, asks, answers })
}
