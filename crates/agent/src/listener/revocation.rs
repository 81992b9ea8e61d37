//! Every order in which a controller changes the list of members while the owners of two keys
//! greet, open sessions, give orders and continue over another connection: the agent serves whoever
//! is a member then, and nobody else.
//!
//! The agent, its sessions and their threads are the real ones. Only the handshake is made
//! beforehand, so that the look at a key and the admission by it are two steps, as they are for a
//! slow peer. All interleavings are tried, each party with all steps of its script.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use garland_core::cluster::listen::Ports;
use garland_dataplane::block_index::Records;
use garland_protocol::FromAgent;
use garland_protocol::farm::FarmAccess;
use garland_protocol::names::{ClusterAgent, RecordKey, Roster};
use garland_protocol::wire::{Handshake, Secret, SessionId, Side};
use garland_sys::clock;
use garland_sys::mptcp::Transport;
use garland_sys::socket;
use garland_sys::threads::JoinHandle;

use super::*;
use crate::agent::AgentConfig;

/// How long a step may take on a busy machine.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// A list of members that the controller tells the agent.
#[derive(Clone, Copy, Debug)]
enum List {
    /// The first key is that of the node n2.
    First,
    /// The second key is that of the node n2.
    Second,
    /// The first key is that of the node n3.
    Renamed,
    /// Neither key is a member's.
    Neither,
}

/// What the controller tells one after the other; the agent knows [`List::First`] before.
const SCRIPTS: [&[List]; 5] = [
    &[List::Neither],
    &[List::Renamed],
    &[List::Second],
    &[List::Neither, List::First],
    &[List::Second, List::First],
];

/// A step of the owner of a key.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// A greeting arrives, and the agent looks the key up.
    Greet,
    /// The greeting is complete, and the agent decides on a new session.
    Open,
    /// The greeting is complete, and the agent decides on continuing the session.
    Resume,
    /// An order arrives over the last connection.
    Order,
}

/// What the owner of the first key does.
const FIRST: [Act; 6] = [Act::Greet, Act::Open, Act::Order, Act::Greet, Act::Resume, Act::Order];

/// What the owner of the second key does.
const SECOND: [Act; 3] = [Act::Greet, Act::Open, Act::Order];

/// Whose step is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Actor {
    Controller,
    First,
    Second,
}

#[test]
fn every_order_of_changes_and_sessions_serves_members_and_nobody_else() {
    let mut count = 0;
    for script in SCRIPTS {
        let mut left = [script.len(), FIRST.len(), SECOND.len()];
        each_interleaving(&mut Vec::new(), &mut left, &mut |turns| {
            World::new().play(script, turns);
            count += 1;
        });
    }
    // Three times 10! / (1! 6! 3!), and twice 11! / (2! 6! 3!).
    assert_eq!(count, 3 * 840 + 2 * 4620);
}

fn each_interleaving(
    turns: &mut Vec<Actor>,
    left: &mut [usize; 3],
    visit: &mut impl FnMut(&[Actor]),
) {
    if *left == [0; 3] {
        return visit(turns);
    }
    for (party, turn) in [Actor::Controller, Actor::First, Actor::Second].into_iter().enumerate() {
        if left[party] > 0 {
            left[party] -= 1;
            turns.push(turn);
            each_interleaving(turns, left, visit);
            let _ = turns.pop();
            left[party] += 1;
        }
    }
}

/// An agent, its controller, and the owners of two keys.
struct World {
    agent: Arc<Agent>,
    list: List,
    first: Party,
    second: Party,
}

impl World {
    fn new() -> Self {
        let agent = Arc::new(Agent::new(config()).expect("an agent is made"));
        let _ = agent.members.own_key(false);
        let mut world = Self {
            agent,
            list: List::First,
            first: Party::new([1; 32]),
            second: Party::new([2; 32]),
        };
        world.tell(List::First);
        world
    }

    fn play(mut self, script: &[List], turns: &[Actor]) {
        let mut lists = script.iter();
        let mut first = FIRST.iter();
        let mut second = SECOND.iter();
        for turn in turns {
            match turn {
                Actor::Controller => self.tell(*lists.next().expect("a turn for each list")),
                Actor::First => {
                    let grant = wanted(self.list, self.first.key);
                    self.first.act(&self.agent, *first.next().expect("a turn for each"), grant);
                }
                Actor::Second => {
                    let grant = wanted(self.list, self.second.key);
                    self.second.act(&self.agent, *second.next().expect("a turn for each"), grant);
                }
            }
            self.assert_as_wanted(turns);
        }
        self.first.leave();
        self.second.leave();
        assert!(self.agent.open.lock().is_empty(), "{turns:?}");
    }

    /// The controller tells a list. The sessions of those whom it changes end.
    fn tell(&mut self, list: List) {
        self.list = list;
        let (n2, n3) = match list {
            List::First => (Some(self.first.key), None),
            List::Second => (Some(self.second.key), None),
            List::Renamed => (None, Some(self.first.key)),
            List::Neither => (None, None),
        };
        let own = self.agent.members.own().map(|own| own.public);
        let agents = vec![
            cluster_agent("n1", self.agent.keys.public, own),
            cluster_agent("n2", [102; 32], n2),
            cluster_agent("n3", [103; 32], n3),
        ];
        let kept = self
            .agent
            .keep_members(Roster { records: RecordKey::from_secret(&Secret([5; 32])), agents });
        // It is in force, although this agent has no place for a file of it.
        let reason = kept.expect_err("there is no state directory").to_string();
        assert!(reason.contains("no state directory"), "{reason}");
        for party in [&mut self.first, &mut self.second] {
            if party.open.is_some() && party.open != wanted(list, party.key) {
                party.open = None;
                party.links.last_mut().expect("its session is open").await_end();
            }
        }
    }

    fn assert_as_wanted(&self, turns: &[Actor]) {
        let open = self.agent.open.lock();
        for party in [&self.first, &self.second] {
            assert_eq!(self.agent.grant(&party.key), wanted(self.list, party.key), "{turns:?}");
            let session = open.get(&(party.key, party.session));
            let session = session.filter(|session| !session.is_over());
            let granted = session.map(|session| session.grant().clone());
            assert_eq!(granted, party.open, "{turns:?} with {:?}", self.list);
        }
    }
}

/// Returns what the owner of the first or second key may do according to a list.
fn wanted(list: List, key: PublicKey) -> Option<Grant> {
    let node = match (list, key[0]) {
        (List::First, 1) | (List::Second, 2) => "n2",
        (List::Renamed, 1) => "n3",
        _ => return None,
    };
    Some(Grant::member(node, false))
}

/// The owner of a key.
struct Party {
    key: PublicKey,
    session: SessionId,
    /// What the agent granted when the last greeting arrived.
    granted: Option<Grant>,
    /// The grant of the session that must be open.
    open: Option<Grant>,
    links: Vec<PeerLink>,
}

impl Party {
    fn new(key: PublicKey) -> Self {
        let session = SessionId([key[0]; 16]);
        Self { key, session, granted: None, open: None, links: Vec::new() }
    }

    /// Takes a step. `wanted` is what the owner of the key may do at present.
    fn act(&mut self, agent: &Arc<Agent>, act: Act, wanted: Option<Grant>) {
        match act {
            Act::Greet => self.granted = agent.grant(&self.key),
            Act::Open => {
                let order = SessionOrder::Open(self.session);
                let Some(mut link) = self.complete_greeting(agent, order) else { return };
                if self.granted == wanted {
                    link.await_message(|message| matches!(message, FromAgent::Welcome { .. }));
                    self.open = wanted;
                } else {
                    link.await_end();
                }
                self.links.push(link);
            }
            Act::Resume => {
                // The welcome has arrived.
                let order = SessionOrder::Resume(self.session, 1);
                let Some(mut link) = self.complete_greeting(agent, order) else { return };
                if self.granted == wanted && self.open.is_some() {
                    link.sent = self.links.last().map_or(0, |before| before.sent);
                    link.await_message(|message| matches!(message, FromAgent::Resumed(_)));
                } else {
                    link.await_end();
                }
                self.links.push(link);
            }
            Act::Order => {
                let Some(link) = self.links.last_mut() else { return };
                link.say(&ToAgent::Clock(7));
                match self.open {
                    Some(_) => link.await_message(
                        |message| matches!(message, FromAgent::Clock(asked, ..) if asked == 7),
                    ),
                    None => link.await_end(),
                }
            }
        }
    }

    /// Completes the greeting that the agent has looked up; `None` if the agent refused it then.
    fn complete_greeting(&self, agent: &Arc<Agent>, order: SessionOrder) -> Option<PeerLink> {
        Some(PeerLink::open(agent, self.key, self.granted.clone()?, order))
    }

    fn leave(&mut self) {
        if let (Some(_), Some(link)) = (&self.open, self.links.last_mut()) {
            link.say(&ToAgent::Session(SessionOrder::Leave));
        }
        for link in self.links.drain(..) {
            drop(link.stream);
            let _ = link.serving.join().expect("the agent does not panic");
        }
    }
}

/// The peer's end of a connection.
struct PeerLink {
    stream: TcpStream,
    channel: Channel,
    received: Vec<u8>,
    /// The number of messages that were sent in this session.
    sent: u64,
    serving: JoinHandle<Result<(), LinkError>>,
}

impl PeerLink {
    fn open(agent: &Arc<Agent>, key: PublicKey, grant: Grant, order: SessionOrder) -> Self {
        let (near, stream) = socket::pair().expect("loopback is there");
        stream.set_read_timeout(Some(STEP_TIMEOUT)).expect("a socket takes a timeout");
        let (ours, channel) = channels();
        let caller = Caller { peer: ([127, 0, 0, 1], 1).into(), key, role: grant.role };
        let first = ToAgent::Session(order).to_bytes();
        let agent = Arc::clone(agent);
        let serving =
            threads::spawn("peer", move || attend(&agent, caller, grant, &first, near, ours));
        let serving = serving.expect("a thread is left");
        Self { stream, channel, received: Vec::new(), sent: 0, serving }
    }

    /// Sends the next message of the session. It is lost if the agent has ended the connection.
    fn say(&mut self, order: &ToAgent) {
        self.sent += 1;
        let numbers = [self.sent.to_le_bytes(), 0_u64.to_le_bytes()].concat();
        let mut frame = Vec::new();
        let message = [numbers, order.to_bytes()].concat();
        self.channel.sending.seal(&message, &mut frame).expect("a short message");
        let _ = self.stream.write_all(&frame);
    }

    /// Reads until a message comes that is meant.
    fn await_message(&mut self, is_meant: impl Fn(FromAgent) -> bool) {
        loop {
            let frame = self.hear().expect("the agent serves a member");
            // The first frame of a continued session has no numbers before its message.
            let messages = [Some(&frame[..]), frame.get(16..)];
            if messages.into_iter().flatten().filter_map(FromAgent::parse).any(&is_meant) {
                return;
            }
        }
    }

    /// Reads until the agent ends the connection.
    fn await_end(&mut self) {
        let until_ns = clock::after(STEP_TIMEOUT);
        while self.hear().is_some() {
            assert!(!clock::until(until_ns).is_zero(), "the agent goes on to serve a stranger");
        }
    }

    /// Returns the next frame; `None` if the agent has ended the connection.
    fn hear(&mut self) -> Option<Vec<u8>> {
        let until_ns = clock::after(STEP_TIMEOUT);
        loop {
            if let Some(frame) = self.channel.receiving.open(&mut self.received).ok()? {
                return Some(frame.to_vec());
            }
            assert!(!clock::until(until_ns).is_zero(), "the agent neither serves nor refuses");
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(read) => self.received.extend(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }
}

/// Returns the two ends of a channel.
fn channels() -> (Channel, Channel) {
    let secret = Secret([3; 32]);
    let mut theirs = Handshake::link(Side::Initiator, &secret, b"").expect("a handshake");
    let mut ours = Handshake::link(Side::Responder, &secret, b"").expect("a handshake");
    let first = theirs.write(&[]).expect("a first message");
    let _ = ours.read(&first).expect("both have the secret");
    let second = ours.write(&[]).expect("a second message");
    let _ = theirs.read(&second).expect("both have the secret");
    let ours = ours.into_channel().expect("the handshake is complete");
    (ours, theirs.into_channel().expect("the handshake is complete"))
}

fn cluster_agent(name: &str, key: PublicKey, member: Option<PublicKey>) -> ClusterAgent {
    let addresses = Vec::new();
    ClusterAgent { name: name.to_owned(), addresses, port: 1, key, member, rack: None }
}

fn config() -> AgentConfig {
    AgentConfig {
        root: None,
        controllers: Vec::new(),
        farm: FarmAccess::default(),
        listen: Vec::new(),
        reached: Vec::new(),
        ports: Ports::ANY,
        keys: None,
        stay: None,
        max_life: None,
        disk: None,
        records: Records::default(),
        names: None,
        cluster_key: None,
        syslog: false,
        program: || Ok(Box::new(std::io::empty())),
        transport: Transport::Tcp,
    }
}
