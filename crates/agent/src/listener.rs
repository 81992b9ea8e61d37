//! The agent's port. It accepts controllers, neighbours, and nodes that fetch the program, and
//! spends little on other peers.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use garland_protocol::{
    ChannelError, CopyId, Keys, LinkSide, Preamble, Purpose, Secret, VersionError,
};
use garland_sys::{tcp, threads};

use crate::agent::Agent;
use crate::expected::Expected;
use crate::files::{self, FileListener};
use crate::giving::{self, Leave, TICKET_LEN};
use crate::greeters::{Greeters, Place};
use crate::probe::{self, Invitation};
use crate::session::Session;
use garland_dataplane::context::{CopyContext, LaneCommand};
use garland_dataplane::log::log;
use garland_sys::error::reason;
use garland_transport::greeting::Welcomed;
use garland_transport::link::{self, LinkError};
use garland_transport::timed::Timed;

/// Timeout for the greeting of a peer.
const GREETING: Duration = Duration::from_secs(5);

/// How long the greeting of a neighbour waits for its copy to begin on this node.
const PATIENCE: Duration = Duration::from_secs(5);

/// Accepts connections until the process exits.
pub fn listen(agent: &Arc<Agent>, listener: &TcpListener) {
    let greeters = Arc::new(Greeters::default());
    loop {
        let Ok((stream, peer)) = listener.accept() else {
            // Probably out of file descriptors: wait until some are closed.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let place = match greeters.admit(peer.ip()) {
            Ok(place) => place,
            Err(why) => {
                agent.log_stranger(peer, why);
                continue;
            }
        };
        begin(agent, stream, peer, Some(place));
    }
}

/// Answers greetings on parked connections, as on new ones. The pool limits the number of parked
/// connections.
pub fn attend_parked(agent: &Arc<Agent>) {
    let Some(link_pool) = &agent.link_pool else { return };
    link_pool.attend(|stream| {
        // The address is unknown if the connection is broken.
        if let Ok(peer) = stream.peer_addr() {
            begin(agent, stream, peer, None);
        }
    });
}

/// Greets and serves a peer in a separate thread. `place` is released after the greeting.
fn begin(agent: &Arc<Agent>, stream: TcpStream, peer: SocketAddr, place: Option<Place>) {
    let its = Arc::clone(agent);
    let begun = threads::spawn("peer", move || {
        let greeted = greet(&its, &stream);
        drop(place);
        serve(&its, greeted, stream, peer);
    });
    if let Err(error) = begun {
        agent.log_stranger(peer, &reason(&error));
    }
}

fn serve(
    agent: &Arc<Agent>,
    greeted: Result<Peer<'_>, LinkError>,
    mut stream: TcpStream,
    peer: SocketAddr,
) {
    match greeted {
        Ok(Peer::Controller(session)) => agent.serve(&session),
        Ok(Peer::Neighbour(member, hop)) => {
            if let Some(lane) = member.lane(hop.lane) {
                let side = if member.config.is_source { LinkSide::Down } else { LinkSide::Up };
                if member.config.is_source {
                    // The node that opens a link sets the congestion control of its own side, but a
                    // source sends from this side.
                    let names: Vec<&str> =
                        member.config.congestion.iter().map(String::as_str).collect();
                    // Errors are ignored: the kernel's default works, too.
                    let _ = tcp::choose_congestion(&stream, &names);
                }
                lane.post(LaneCommand::Link(side, hop.epoch, stream));
            }
        }
        Ok(Peer::Standing) => {
            if let Some(link_pool) = &agent.link_pool {
                link_pool.park(stream, None);
            }
        }
        Ok(Peer::Guest(Welcomed { to, number, .. })) => to.add(number, stream),
        Ok(Peer::Mount(Welcomed { to, number, binding })) => to.enter(stream, number, &binding),
        Ok(Peer::Newcomer(leave)) => match giving::give(&mut stream, &leave) {
            Ok(()) => log(&format!("sent the agent's program to {peer}")),
            Err(error) => {
                log(&format!("cannot send the agent's program to {peer}: {}", reason(&error)))
            }
        },
        Err(error) => agent.log_stranger(peer, &error.to_string()),
    }
}

enum Peer<'a> {
    Controller(Arc<Session>),
    Neighbour(Arc<CopyContext>, link::Hop),
    /// A neighbour with a standing link.
    Standing,
    /// A node that fetches the program.
    Newcomer(Leave<'a>),
    /// A connection from the other agent of a meeting.
    Guest(Welcomed<Arc<Invitation>>),
    /// A connection of a mount.
    Mount(Welcomed<Arc<FileListener>>),
}

fn greet<'a>(agent: &'a Arc<Agent>, mut stream: &TcpStream) -> Result<Peer<'a>, LinkError> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(GREETING))?;
    let mut peer = Timed::begin(stream, GREETING);
    let (theirs, bytes) = match link::read_preamble(&mut peer) {
        Err(LinkError::Version(error @ VersionError::Version { .. })) => {
            // Send our version, so that the peer can report it.
            let ours = Preamble::ours(Purpose::Link).to_bytes();
            std::io::Write::write_all(&mut stream, &ours)?;
            return Err(error.into());
        }
        result => result?,
    };
    match theirs.purpose {
        Purpose::Control => {
            let session =
                Session::accept(&mut peer, &bytes, &agent.keys, &agent.config.controllers)?;
            Ok(Peer::Controller(Arc::new(session)))
        }
        Purpose::Link => {
            let mut found = None;
            let hop = link::accept(&mut peer, &bytes, |copy| find(agent, copy, &mut found))?;
            stream.set_write_timeout(None)?;
            match found.ok_or(LinkError::Channel(ChannelError::Refused))? {
                Expected::CopyContext(member) => Ok(Peer::Neighbour(member, hop)),
                Expected::Link(..) => Ok(Peer::Standing),
                Expected::Guest(_) | Expected::Mount(_) => {
                    Err(LinkError::Channel(ChannelError::Refused))
                }
            }
        }
        Purpose::Probe => probe::greet_guest(&agent.expected, &mut peer, &bytes).map(Peer::Guest),
        Purpose::Files => files::greet(&agent.expected, &mut peer, &bytes).map(Peer::Mount),
        Purpose::Binary => {
            let mut ticket = [0; TICKET_LEN];
            peer.read_exact(&mut ticket)?;
            let leave = agent.tickets.redeem(&ticket);
            stream.set_read_timeout(Some(GREETING))?;
            leave.map(Peer::Newcomer).ok_or(LinkError::Channel(ChannelError::Refused))
        }
    }
}

fn find(agent: &Agent, copy: CopyId, found: &mut Option<Expected>) -> Option<(Secret, Arc<Keys>)> {
    let expected = agent.expected.wait(copy, PATIENCE)?;
    let given = match &expected {
        Expected::CopyContext(member) => (member.config.secret.clone(), Arc::clone(&member.keys)),
        Expected::Link(secret, keys) => (secret.clone(), Arc::clone(keys)),
        Expected::Guest(_) | Expected::Mount(_) => return None,
    };
    *found = Some(expected);
    Some(given)
}
