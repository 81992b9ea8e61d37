//! Connecting to a node's agent for its files.

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

use super::Peer;
use super::link::Ends;
use super::watch;
use super::wire::Wire;

/// How long each step may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Makes the connections of `epoch`.
pub fn dial(peer: &Arc<Peer>, epoch: u64) -> Result<Arc<Wire>, String> {
    let Agent { mut connection, addresses } = (peer.reach)(peer.place)?;
    let order = FilesOrder {
        id: CopyId(random::bytes()),
        secret: Secret(random::bytes()),
        sealed: peer.sealed,
    };
    connection.send(&ToAgent::Files(order.clone())).map_err(|error| error.to_string())?;
    await_open(&mut connection, order.id)?;
    let address = *addresses.first().ok_or("it has no address")?;
    let ends = (0..FILES_LINKS).map(|number| connect(address, &order, number));
    let ends = ends.collect::<Result<Vec<_>, _>>();
    let ends = ends.map_err(|error| format!("connecting to {address}: {error}"))?;
    let wire = Wire::start(peer, epoch, ends).map_err(|error| error.to_string())?;
    watch::start(connection, &wire).map_err(|error| error.to_string())?;
    Ok(wire)
}

fn await_open(connection: &mut Connection, id: CopyId) -> Result<(), String> {
    use std::os::fd::AsFd;

    let deadline_ns = clock::now_ns() + PATIENCE.as_nanos() as u64;
    loop {
        let left = clock::until(deadline_ns);
        if left.is_zero() {
            return Err("its agent doesn't answer".to_owned());
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
    // Whether the agent is there, its heartbeats tell; a full socket is no sign of anything.
    stream.set_write_timeout(None)?;
    // Where the kernel doesn't even tell, its default is in force, and works.
    let _ = tcp::choose_congestion(&stream, &PREFERRED);
    let (asks, answers) = Line::both(&order.secret, &binding, order.sealed, Role::Initiator);
    Ok(Ends { stream, asks, answers })
}
