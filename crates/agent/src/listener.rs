//! The agent's port. It accepts controllers, neighbours, and nodes that fetch the program. One
//! thread greets all peers; only those that have proved who they are get a thread of their own.

use std::net::SocketAddr;
use std::sync::Arc;

use garland_dataplane::context::LaneCommand;
use garland_protocol::wire::{Channel, ChannelError, PublicKey, Purpose, SessionOrder};
use garland_protocol::{Grant, Message, Role, ToAgent};
use garland_sys::error::reason;
use garland_sys::socket::{TcpListener, TcpStream};
use garland_sys::{tcp, threads};
use garland_transport::{
    Claim, Credentials, Found, GreetingLimit, Guest, Host, Identity, LinkError, TICKET_LEN,
    Welcomed, limits,
};

use crate::agent::{Agent, OpenSessions};
use crate::audit::Caller;
use crate::expected::{CopyLink, Expected};
use crate::giving;
use crate::log::log;
use crate::probe;
use crate::retirement;
use crate::session::{Session, SessionShare};

/// The maximum number of sessions of all members of the cluster and nodes of farms together. Each
/// has three threads.
const NODE_SESSIONS_MAX: usize = 512;

/// Accepts connections until the process exits.
pub fn listen(agent: &Arc<Agent>, listeners: &[TcpListener]) {
    let ended = agent.greeters.run(listeners, &Port(Arc::clone(agent)));
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
    /// A controller or a node with this key, and what it may do.
    Key(PublicKey, Grant),
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
            Claim::Controller(key) => {
                let grant = agent.grant(key);
                let rate = grant.as_ref().and_then(|grant| grant.role.budget().greetings);
                let owner = match grant {
                    None => return Found::Nothing,
                    Some(grant) if purpose != Purpose::Retire => Owner::Key(*key, grant),
                    Some(grant) if grant.role == Role::Controller => Owner::Retiring,
                    Some(_) => return Found::Nothing,
                };
                let credentials = Credentials::Keys(&agent.keys, *key);
                match rate {
                    None => Found::Member(credentials, owner),
                    Some(rate) => {
                        let limit = GreetingLimit { of: Identity::Key(*key), rate };
                        Found::Limited(credentials, owner, limit)
                    }
                }
            }
            Claim::Ticket(ticket) if agent.tickets.knows(ticket) => Found::Ticket,
            Claim::Ticket(_) => Found::Later(limits::TICKET),
            Claim::Member(id) => match agent.expected.get(purpose, *id) {
                Some(expected) => {
                    let credentials = Credentials::Secret(*id, expected.key().1);
                    match expected.limit(*id) {
                        None => Found::Member(credentials, Owner::Operation(expected)),
                        Some(limit) => {
                            Found::Limited(credentials, Owner::Operation(expected), limit)
                        }
                    }
                }
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
        Owner::Key(key, grant) => {
            let caller = Caller { peer, key, role: grant.role };
            return attend(agent, caller, grant, &first, stream, channel);
        }
        Owner::Retiring => return retirement::answer(agent, &first, stream, channel),
        Owner::Operation(expected) => expected,
    };
    let number = || first[..].try_into().map(u16::from_le_bytes).map_err(|_| ChannelError::Garbage);
    match to {
        Expected::CopyLink(link) => {
            tcp::keep_alive(&stream)?;
            pass_on(&link, stream);
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

/// Serves a new session of the owner of `key`, or continues one over another connection.
///
/// # Errors
/// When the first message asks for neither, the session is not known, or there are too many.
fn attend(
    agent: &Arc<Agent>,
    caller: Caller,
    grant: Grant,
    first: &[u8],
    stream: TcpStream,
    channel: Channel,
) -> Result<(), LinkError> {
    let (id, arrived) = match ToAgent::parse(first) {
        Some(ToAgent::Session(SessionOrder::Open(id))) => (id, None),
        Some(ToAgent::Session(SessionOrder::Resume(id, arrived))) => (id, Some(arrived)),
        _ => return Err(ChannelError::Garbage.into()),
    };
    let key = caller.key;
    let mut open = agent.open.lock();
    // The key may have been changed since the greeting began. Whoever changes keys looks at the
    // open sessions afterwards, under this lock.
    if !agent.still_grants(&key, &grant) {
        return Err(ChannelError::Refused.into());
    }
    match (open.get(&(key, id)), arrived) {
        (Some(session), Some(arrived)) if !session.is_over() => {
            session.resume(stream, channel, arrived);
        }
        (None, _) if agent.is_too_old() => return Err(ChannelError::Refused.into()),
        // A head of which nothing arrived may resume what never began here.
        (None, None | Some(0)) => {
            let of_key = agent.shares.of_key(key, &grant);
            let unacknowledged = Arc::clone(&agent.unacknowledged);
            let too_much = excess(&open, &key, &grant);
            let is_controller = grant.role == Role::Controller;
            let share = SessionShare { caller, grant, of_key, unacknowledged };
            let session = Arc::new(Session::new(stream, channel, share)?);
            if let Some(too_much) = too_much {
                drop(open);
                session.refuse(&too_much);
                return Err(ChannelError::Refused.into());
            }
            open.insert((key, id), Arc::clone(&session));
            drop(open);
            agent.audit.session(&session.caller);
            if arrived.is_some() {
                session.confirm(0);
            }
            match is_controller {
                true => agent.serve(&session),
                false => agent.serve_node(&session),
            }
            agent.open.lock().remove(&(key, id));
        }
        _ => return Err(ChannelError::Refused.into()),
    }
    Ok(())
}

/// Returns why the owner of `key` can have no further session; `None` if it can.
fn excess(open: &OpenSessions, key: &PublicKey, grant: &Grant) -> Option<String> {
    let role = grant.role;
    let sessions_max = role.budget().sessions;
    if open.keys().filter(|(of, _)| of == key).count() >= sessions_max {
        return Some(format!("it has {sessions_max} sessions already"));
    }
    let of_nodes = || open.values().filter(|session| session.grant().role != Role::Controller);
    if role != Role::Controller && of_nodes().count() >= NODE_SESSIONS_MAX {
        return Some(format!("nodes have {NODE_SESSIONS_MAX} sessions here already"));
    }
    None
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
    log(&match giving::give(stream, agent.config.program, &leave) {
        Ok(()) => format!("sent the agent's program to {peer}"),
        Err(error) => format!("cannot send the agent's program to {peer}: {}", reason(&error)),
    });
    Ok(())
}

/// Passes the link of a neighbour on to its lane.
fn pass_on(link: &CopyLink, stream: TcpStream) {
    let copy = &link.copy;
    let Some(lane) = copy.lanes.get(link.lane) else { return };
    if copy.config.is_source {
        // The node that opens a link sets the congestion control of its own side, but a source
        // sends from this side.
        let names: Vec<&str> = copy.config.congestion.iter().map(String::as_str).collect();
        // Errors are ignored: the kernel's default works, too.
        let _ = tcp::choose_congestion(&stream, &names);
    }
    lane.post(LaneCommand::Link(link.side, link.epoch, stream));
}

#[cfg(test)]
mod revocation;
