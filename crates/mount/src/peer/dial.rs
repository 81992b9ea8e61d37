//! Connects to the agent of a node, for access to its files.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use garland_control::Agent;
use garland_protocol::{
    CopyId, FILES_LINKS, FilesOrder, FromAgent, Line, Purpose, Role, Secret, ToAgent,
};
use garland_sys::mptcp::Transport;
use garland_sys::tcp::{self, PREFERRED};
use garland_sys::{clock, event, random};
use garland_transport::{Connection, Timed, introduce};

use super::link::Ends;
use super::traffic::Traffic;
use super::watch;
use super::wire::Wire;

/// The timeout of each step.
const PATIENCE: Duration = Duration::from_secs(2);

/// Finds and connects to the agent of the node at an index of the list; the error is the reason.
pub type Reach = Arc<dyn Fn(usize) -> Result<Agent, String> + Send + Sync>;

/// Connects to the agent of one node.
pub struct Dialer {
    /// The node's index in the list.
    pub node: usize,
    /// Connects the control channel.
    pub reach: Reach,
    /// Whether payload is encrypted.
    pub sealed: bool,
    /// The node's counters.
    pub traffic: Arc<Traffic>,
}

impl Dialer {
    /// Makes the connections of `epoch`.
    ///
    /// # Errors
    /// The reason, as text.
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
        let ends = ends.map_err(|error| format!("connecting to {address}: {error}"))?;
        let traffic = Arc::clone(&self.traffic);
        let wire = Wire::start(traffic, epoch, ends).map_err(|error| error.to_string())?;
        watch::start(connection, &wire).map_err(|error| error.to_string())?;
        Ok(wire)
    }
}

fn await_open(connection: &mut Connection, id: CopyId) -> Result<(), String> {
    use std::os::fd::AsFd;

    let deadline_ns = clock::now_ns() + PATIENCE.as_nanos() as u64;
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

fn connect(
    address: SocketAddr,
    order: &FilesOrder,
    number: u16,
) -> Result<Ends, garland_transport::LinkError> {
    let stream: TcpStream = tcp::connect(address, PATIENCE, Transport::Tcp)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut agent = Timed::begin(&stream, PATIENCE);
    let binding = introduce(&mut agent, Purpose::Files, order.id, &order.secret, number)?;
    stream.set_read_timeout(None)?;
    // Heartbeats show that the agent is alive; a full socket is not a failure.
    stream.set_write_timeout(None)?;
    // On failure the kernel's default applies.
    let _ = tcp::choose_congestion(&stream, &PREFERRED);
    let (asks, answers) = Line::both(&order.secret, &binding, order.sealed, Role::Initiator);
    Ok(Ends { stream, asks, answers })
}
