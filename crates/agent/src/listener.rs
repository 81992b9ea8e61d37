//! The agent's port. It accepts controllers, neighbours, and nodes that fetch the program. One thread
//! greets all peers; only those that have proved who they are get a thread of their own.

use std::net::SocketAddr;
use std::sync::Arc;

use garland_protocol::{
    Channel, ChannelError, LinkSide, Message, PublicKey, Purpose, SessionOrder, ToAgent,
};
use garland_sys::socket::{TcpListener, TcpStream};
use garland_sys::{tcp, threads};

use crate::agent::Agent;
use crate::expected::Expected;
use crate::giving;
use crate::probe;
use crate::retirement;
use crate::session::Session;
use garland_dataplane::context::{CopyContext, LaneCommand};
use garland_dataplane::log::log;
use garland_sys::error::reason;
use garland_transport::link::Hop;
use garland_transport::{
    Claim, Credentials, Found, Guest, Host, LinkError, TICKET_LEN, Welcomed, limits,
};

/// Accepts connections until the process exits.
pub fn listen(agent: &Arc<Agent>, listener: &TcpListener) {
    let ended = agent.greeters.run(listener, &Port(Arc::clone(agent)));
    if let Err(error) = ended {
        log(&format!("no connections are accepted any more: {}", reason(&error)));
    }
}

/// Has peers on parked connections greeted, as on new ones.
pub fn attend_parked(agent: &Arc<Agent>) {
    let Some(link_pool) = &agent.link_pool else { return };
    link_pool.attend(|stream| {
        // The address is unknown if the connection is broken.
        if let Ok(peer) = stream.peer_addr() {
            agent.greeters.greet(stream, peer);
        }
    });
}

/// The port of an agent.
struct Port(Arc<Agent>);

/// The owner of an accepted connection.
enum Owner {
    /// A controller, with this key.
    Controller(PublicKey),
    /// A node of the cluster, which may read names and contents, with this key.
    Member(PublicKey),
    /// A controller that wants the agent to end, and may be of another release.
    Retiring,
    /// An operation in progress.
    Operation(Expected),
}

impl Host for Port {
    type Owner = Owner;

    fn find(&self, purpose: Purpose, claim: &Claim) -> Found<'_, Owner> {
        let agent = &self.0;
        match claim {
            Claim::Controller(key) if agent.config.controllers.contains(key) => {
                let owner = match purpose {
                    Purpose::Retire => Owner::Retiring,
                    _ => Owner::Controller(*key),
                };
                Found::Member(Credentials::Keys(&agent.keys, *key), owner)
            }
            Claim::Controller(key) if purpose != Purpose::Retire && agent.has_member(key) => {
                Found::Member(Credentials::Keys(&agent.keys, *key), Owner::Member(*key))
            }
            Claim::Controller(_) => Found::Nothing,
            Claim::Ticket(ticket) if agent.tickets.knows(ticket) => Found::Ticket,
            Claim::Ticket(_) => Found::Later(limits::TICKET),
            Claim::Member(id) => match agent.expected.get(*id).map(|owner| (owner.key(), owner)) {
                Some(((its, secret), owner)) if its == purpose => {
                    Found::Member(Credentials::Secret(*id, secret), Owner::Operation(owner))
                }
                Some(_) => Found::Nothing,
                // The other agent of a meeting waits for the answer as long as this.
                None if purpose == Purpose::Probe => Found::Later(probe::SILENCE),
                None => Found::Later(limits::ORDER),
            },
        }
    }

    fn admit(&self, stream: TcpStream, peer: SocketAddr, guest: Guest<Owner>) {
        let agent = Arc::clone(&self.0);
        let begun = threads::spawn("peer", move || {
            if let Err(error) = serve(&agent, guest, stream, peer) {
                agent.log_stranger(peer, &error.to_string());
            }
        });
        if let Err(error) = begun {
            self.refuse(peer, &reason(&error));
        }
    }

    fn refuse(&self, peer: SocketAddr, reason: &str) {
        self.0.log_stranger(peer, reason);
    }
}

/// Serves a peer.
///
/// # Errors
/// When the peer's first frame is not valid for this kind of connection.
fn serve(
    agent: &Arc<Agent>,
    guest: Guest<Owner>,
    mut stream: TcpStream,
    peer: SocketAddr,
) -> Result<(), LinkError> {
    let Welcomed { to, first, channel } = match guest {
        Guest::Ticket(ticket) => return give(agent, &ticket, &mut stream, peer),
        Guest::Member(welcomed) => welcomed,
    };
    let to = match to {
        Owner::Controller(key) => {
            return attend(agent, key, &first, (stream, channel), Agent::serve);
        }
        Owner::Member(key) => {
            return attend(agent, key, &first, (stream, channel), Agent::serve_member);
        }
        Owner::Retiring => return retirement::answer(agent, &first, stream, channel),
        Owner::Operation(expected) => expected,
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

/// Serves a new session of a controller or member by `serve`, or continues one over another connection.
///
/// # Errors
/// When the first message asks for neither, or the session is not known.
fn attend(
    agent: &Arc<Agent>,
    key: PublicKey,
    first: &[u8],
    (stream, channel): (TcpStream, Channel),
    serve: impl FnOnce(&Arc<Agent>, &Arc<Session>),
) -> Result<(), LinkError> {
    let (id, arrived) = match ToAgent::parse(first) {
        Some(ToAgent::Session(SessionOrder::Open(id))) => (id, None),
        Some(ToAgent::Session(SessionOrder::Resume(id, arrived))) => (id, Some(arrived)),
        _ => return Err(ChannelError::Garbage.into()),
    };
    let mut open = agent.open.lock();
    match (open.get(&(key, id)), arrived) {
        (Some(session), Some(arrived)) if !session.is_over() => {
            session.resume(stream, channel, arrived);
        }
        // A head of which nothing arrived may resume what never began here.
        (None, None | Some(0)) => {
            let session = Arc::new(Session::new(stream, channel)?);
            open.insert((key, id), Arc::clone(&session));
            drop(open);
            if arrived.is_some() {
                session.confirm(0);
            }
            serve(agent, &session);
            agent.open.lock().remove(&(key, id));
        }
        _ => return Err(ChannelError::Refused.into()),
    }
    Ok(())
}

/// Sends the agent's program to a node that fetches it with a valid ticket.
fn give(
    agent: &Agent,
    ticket: &[u8; TICKET_LEN],
    stream: &mut TcpStream,
    peer: SocketAddr,
) -> Result<(), LinkError> {
    let leave = agent.tickets.redeem(ticket).ok_or(ChannelError::Refused)?;
    stream.set_read_timeout(Some(limits::GREETING))?;
    stream.set_write_timeout(Some(limits::GREETING))?;
    log(&match giving::give(stream, &leave) {
        Ok(()) => format!("sent the agent's program to {peer}"),
        Err(error) => format!("cannot send the agent's program to {peer}: {}", reason(&error)),
    });
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
