//! The agent's port. It accepts controllers, neighbours, and nodes that fetch the program, and
//! limits the resources spent on other peers.

use std::net::SocketAddr;

use std::sync::Arc;
use std::time::Duration;

use garland_protocol::{ChannelError, LinkSide, Purpose};
use garland_sys::socket::{TcpListener, TcpStream};
use garland_sys::{tcp, threads};

use crate::agent::Agent;
use crate::expected::Expected;
use crate::giving::{self, Leave};
use crate::probe;
use crate::session::Session;
use garland_dataplane::context::{CopyContext, LaneCommand};
use garland_dataplane::log::log;
use garland_sys::error::reason;
use garland_transport::link::Hop;
use garland_transport::{
    Claim, Credentials, Greeters, Greeting, LinkError, Place, Welcomed, limits,
};

/// Accepts connections until the process exits.
pub fn listen(agent: &Arc<Agent>, listener: &TcpListener) {
    let greeters = Arc::new(Greeters::default());
    loop {
        let Ok((stream, peer)) = listener.accept() else {
            // Probably out of file descriptors: wait until some are closed.
            threads::sleep(Duration::from_millis(50));
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

/// Greets and serves a peer in a separate thread. `place` counts against the limit of concurrent
/// greetings, and is released after the greeting.
fn begin(agent: &Arc<Agent>, stream: TcpStream, peer: SocketAddr, place: Option<Place>) {
    let its = Arc::clone(agent);
    let begun = threads::spawn("peer", move || {
        let greeted = greet(&its, &stream);
        drop(place);
        let served = greeted.and_then(|greeted| serve(&its, greeted, stream, peer));
        if let Err(error) = served {
            its.log_stranger(peer, &error.to_string());
        }
    });
    if let Err(error) = begun {
        agent.log_stranger(peer, &reason(&error));
    }
}

/// A peer whose greeting succeeded.
enum Peer<'a> {
    Controller(Welcomed<()>),
    /// A node that fetches the program.
    Newcomer(Leave<'a>),
    /// A connection of an operation in progress.
    Member(Welcomed<Expected>),
}

fn greet<'a>(agent: &'a Agent, stream: &TcpStream) -> Result<Peer<'a>, LinkError> {
    let greeting = Greeting::begin(stream)?;
    let purpose = greeting.purpose();
    match purpose {
        Purpose::Binary => {
            let leave = agent.tickets.redeem(&greeting.ticket()?);
            Ok(Peer::Newcomer(leave.ok_or(ChannelError::Refused)?))
        }
        Purpose::Control => {
            let controllers = &agent.config.controllers;
            let welcomed = greeting.welcome(|claim| match claim {
                Claim::Controller(key) if controllers.contains(&key) => {
                    Some((Credentials::Keys(&agent.keys, key), ()))
                }
                Claim::Controller(_) | Claim::Member(_) => None,
            });
            welcomed.map(Peer::Controller)
        }
        Purpose::Link | Purpose::Probe | Purpose::Files => {
            // The other agent of a meeting waits for the answer as long as this.
            let patience = if purpose == Purpose::Probe { probe::SILENCE } else { limits::ORDER };
            let welcomed = greeting.welcome(|claim| {
                let Claim::Member(id) = claim else { return None };
                let expected = agent.expected.wait(id, patience)?;
                let (its, secret) = expected.key();
                (its == purpose).then_some((Credentials::Secret(id, secret), expected))
            });
            welcomed.map(Peer::Member)
        }
    }
}

/// Serves a peer.
///
/// # Errors
/// When the peer's first frame is not valid for this kind of connection.
fn serve(
    agent: &Arc<Agent>,
    greeted: Peer<'_>,
    mut stream: TcpStream,
    peer: SocketAddr,
) -> Result<(), LinkError> {
    let Welcomed { to, first, channel } = match greeted {
        Peer::Controller(Welcomed { first, channel, .. }) => {
            agent.serve(&Arc::new(Session::new(stream, channel, &first)?));
            return Ok(());
        }
        Peer::Newcomer(leave) => {
            let outcome = match giving::give(&mut stream, &leave) {
                Ok(()) => format!("sent the agent's program to {peer}"),
                Err(error) => {
                    format!("cannot send the agent's program to {peer}: {}", reason(&error))
                }
            };
            log(&outcome);
            return Ok(());
        }
        Peer::Member(welcomed) => welcomed,
    };
    let number = || first[..].try_into().map(u16::from_le_bytes).map_err(|_| ChannelError::Garbage);
    match to {
        Expected::CopyContext(member) => {
            let hop = Hop::parse(&first).ok_or(ChannelError::Garbage)?;
            tcp::keep_alive(&stream)?;
            pass_on(&member, hop, stream);
        }
        Expected::Link(_) => {
            tcp::keep_alive(&stream)?;
            if let Some(link_pool) = &agent.link_pool {
                link_pool.park(stream, None);
            }
        }
        Expected::Guest(invitation) => invitation.add(number()?, stream),
        Expected::Mount(listener) => listener.enter(stream, number()?, channel),
    }
    Ok(())
}

/// Passes the link of a neighbour on to its lane.
fn pass_on(member: &CopyContext, hop: Hop, stream: TcpStream) {
    let Some(lane) = member.lane(hop.lane) else { return };
    let side = if member.config.is_source { LinkSide::Down } else { LinkSide::Up };
    if member.config.is_source {
        // The node that opens a link sets the congestion control of its own side, but a source
        // sends from this side.
        let names: Vec<&str> = member.config.congestion.iter().map(String::as_str).collect();
        // Errors are ignored: the kernel's default works, too.
        let _ = tcp::choose_congestion(&stream, &names);
    }
    lane.post(LaneCommand::Link(side, hop.epoch, stream));
}
