//! A member of a copy that lies. It stands between an agent and all others, has the agent's keys
//! and the secrets of the copy and of the agent's links, and changes what the agent says: to the
//! head, and to the nodes that it feeds or that feed it.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use garland_protocol::copy::{
    Begin, CopyId, FRAME_LEN, Frame, Keys, Kind, LinkSecret, TAG_LEN, link_id,
};
use garland_protocol::wire::{
    Channel, Delivered, Delivery, KeyPair, Purpose, Secret, SessionOrder,
};
use garland_protocol::{Message, ToAgent};
use garland_sys::event::{self, Interest, Wake};
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpStream;
use garland_sys::tcp;
use garland_sys::threads::{sleep, spawn};
use garland_sys::world::{Process, Random};
use garland_transport::connection::{Connection, connect_agent};
use garland_transport::link;
use garland_transport::{
    Claim, Credentials, Found, Greeters, Guest, Host, LinkError, Welcomed, limits,
};

use crate::forger::Forger;
use crate::room::PORT;
use crate::tongue::Tongue;

/// What a member lies about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// The contents of blocks: it changes one in so many, and seals them anew.
    Contents(u64),
    /// The frames of links: it repeats, drops and changes them, with valid MACs.
    Frames,
    /// Its links: it opens them, and asks for no blocks.
    Silence,
    /// Its place: it opens the links of others, by all secrets that it has.
    Intrusion,
    /// Itself: it has everything, and has committed.
    Success,
    /// Others: links to them break, and what comes from them is corrupt.
    Blame,
    /// Everything: messages at any moment, with any numbers, repeated, missing and late.
    Messages,
}

/// How often liars have tried to open links of others, and how often they could.
pub static INTRUSIONS_TRIED: AtomicUsize = AtomicUsize::new(0);
pub static INTRUSIONS: AtomicUsize = AtomicUsize::new(0);

/// The keys and the address of the agent for which a liar speaks.
#[derive(Clone)]
pub struct Victim {
    pub address: IpAddr,
    /// The agents of the other nodes.
    pub others: Vec<SocketAddr>,
    pub keys: KeyPair,
    pub head: KeyPair,
}

/// The process of a liar.
struct Liar {
    lie: Lie,
    seed: u64,
    agent: Victim,
    known: Mutex<Known>,
    wake: Arc<Wake>,
}

/// The numbers of links that a liar tries to open.
const EPOCHS_TRIED: std::ops::Range<u32> = 1..6;

/// What a liar knows from the head's orders.
#[derive(Default)]
struct Known {
    secrets: HashMap<CopyId, Secret>,
    /// The agent's links, by the identities under which they are opened.
    links: HashMap<CopyId, KnownLink>,
}

/// A link of the agent.
#[derive(Clone)]
struct KnownLink {
    copy: CopyId,
    lane: u16,
    epoch: u32,
    secret: Secret,
    /// The address of the node that the agent feeds over it.
    downstream: Option<SocketAddr>,
}

/// Whom an accepted connection belongs to.
enum Owner {
    Head,
    Neighbour(CopyId, KnownLink),
}

/// The port of a liar.
struct Port(Arc<Liar>);

/// Starts a liar before an agent.
pub fn start(lie: Lie, seed: u64, agent: Victim) -> Process {
    let lies = move || {
        let greeters = Greeters::new().expect("a descriptor");
        let known = Mutex::default();
        let wake = greeters.wake();
        let liar = Arc::new(Liar { lie, seed, agent, known, wake });
        let listener = tcp::listen(PORT, Transport::Tcp).expect("the port is free");
        greeters.run(std::slice::from_ref(&listener), &Port(liar)).expect("connections come");
    };
    Process::start("liar", lies).expect("a process")
}

impl Host for Port {
    type Owner = Owner;

    fn find(&self, _: Purpose, claim: &Claim) -> Found<'_, Owner> {
        let Victim { keys, head, .. } = &self.0.agent;
        match claim {
            Claim::Controller(key) if *key == head.public => {
                Found::Member(Credentials::Keys(keys, *key), Owner::Head)
            }
            Claim::Member(id) => match self.0.known.lock().expect("no panic").links.get(id) {
                Some(link) => {
                    let owner = Owner::Neighbour(*id, link.clone());
                    Found::Member(Credentials::Secret(*id, link.secret.clone()), owner)
                }
                None => Found::Later(limits::ORDER),
            },
            _ => Found::Nothing,
        }
    }

    fn admit(&self, stream: TcpStream, peer: SocketAddr, guest: Guest<Owner>) {
        let Guest::Member(Welcomed { to, first, channel }) = guest else { return };
        let liar = Arc::clone(&self.0);
        let serve = move || match to {
            Owner::Head => liar.attend(Head::new(stream, channel), &first),
            Owner::Neighbour(id, link) => liar.link(stream, peer, id, &link),
        };
        drop(spawn("lie", serve).expect("a thread"));
    }

    fn refuse(&self, _: SocketAddr, _: &str) {}
}

/// A control channel to the head, on the agent's side.
pub struct Head {
    stream: TcpStream,
    channel: Channel,
    delivery: Delivery,
    received: Vec<u8>,
}

impl Head {
    /// Creates the channel of a connection that was welcomed.
    pub fn new(stream: TcpStream, channel: Channel) -> Self {
        stream.set_nonblocking(true).expect("a socket can be");
        Self { stream, channel, delivery: Delivery::default(), received: Vec::new() }
    }

    /// Sends bytes as a message. Returns whether the head may still be there.
    pub fn send(&mut self, message: Vec<u8>) -> bool {
        let frame = self.delivery.send(message);
        let mut sealed = Vec::new();
        if self.channel.sending.seal(&frame, &mut sealed).is_err() {
            return false;
        }
        let mut left = &sealed[..];
        while !left.is_empty() {
            match tcp::try_send(&self.stream, left) {
                Ok(Some(sent)) => left = &left[sent..],
                Ok(None) => sleep(Duration::from_millis(1)),
                Err(_) => return false,
            }
        }
        true
    }

    /// Returns the orders that have arrived; `None` if the head is gone.
    pub fn receive(&mut self) -> Option<Vec<ToAgent>> {
        let mut buffer = [0; 4096];
        while let Some(read) = tcp::try_receive(&self.stream, &mut buffer).ok()? {
            if read == 0 {
                return None;
            }
            self.received.extend(&buffer[..read]);
        }
        let mut orders = Vec::new();
        while let Some(frame) = self.channel.receiving.open(&mut self.received).ok()? {
            if let Delivered::Message(bytes) = self.delivery.receive(&frame).ok()? {
                orders.push(ToAgent::parse(bytes)?);
            }
        }
        Some(orders)
    }
}

impl Liar {
    /// Serves a control channel of the head, until it ends. It is not continued over another one.
    fn attend(&self, mut head: Head, first: &[u8]) {
        let open = ToAgent::parse(first);
        let Some(ToAgent::Session(SessionOrder::Open(_))) = open else { return };
        let address = SocketAddr::from((self.agent.address, PORT));
        let Victim { keys, head: its, .. } = &self.agent;
        let agent = connect_agent(address, its, &keys.public, Duration::from_secs(5));
        let mut agent = agent.expect("the agent serves");
        let mut tongue = Tongue::new(self.lie, self.seed);
        while self.exchange(&mut head, &mut agent, &mut tongue).is_some() {}
    }

    /// Passes on what has arrived. Returns `None` at the end of either side.
    fn exchange(&self, head: &mut Head, agent: &mut Connection, tongue: &mut Tongue) -> Option<()> {
        let from_agent = Interest { fd: agent.as_fd(), write: agent.has_unsent() };
        let from_head = Interest { fd: head.stream.as_fd(), write: false };
        event::wait(&[from_head, from_agent], Some(Duration::from_millis(20))).ok()?;
        for order in head.receive()? {
            let order = self.learn(order);
            if tongue.hear(&order) {
                agent.send(&order).ok()?;
            }
        }
        agent.flush().ok()?;
        let messages = agent.receive().ok()?;
        let said = messages.into_iter().flat_map(|message| tongue.say(message)).collect::<Vec<_>>();
        let unasked = tongue.say_unasked();
        said.into_iter().chain(unasked).all(|bytes| head.send(bytes)).then_some(())
    }

    /// Notes what an order tells, and puts this process between the agent and the nodes that it
    /// feeds.
    fn learn(&self, mut order: ToAgent) -> ToAgent {
        let mut known = self.known.lock().expect("no panic");
        let (copy, routes) = match &mut order {
            ToAgent::Begin(begin) => {
                let Begin { copy, secret, routes, .. } = &mut **begin;
                known.secrets.insert(*copy, secret.clone());
                (*copy, &mut routes[..])
            }
            ToAgent::Route(copy, route) => (*copy, std::slice::from_mut(route)),
            _ => return order,
        };
        let own = SocketAddr::from((Process::this().address(), PORT));
        for route in routes {
            let lane = route.lane;
            for LinkSecret { epoch, secret } in route.secrets.clone() {
                let mut downs = route.downstreams.iter_mut();
                let down = downs.find(|down| down.epoch == epoch && down.address.is_some());
                let downstream = down.and_then(|down| down.address.replace(own));
                let link = KnownLink { copy, lane, epoch, secret, downstream };
                known.links.insert(link_id(copy, lane, epoch), link);
            }
        }
        drop(known);
        self.wake.raise();
        if let (Lie::Intrusion, ToAgent::Begin(begin)) = (self.lie, &order) {
            self.intrude(begin);
        }
        order
    }

    /// Opens the links of others in a copy, as long as it can, by every secret that it has.
    fn intrude(&self, begin: &Begin) {
        let own = begin.routes.iter().flat_map(|route| &route.secrets);
        let mut secrets: Vec<Secret> = own.map(|link| link.secret.clone()).collect();
        secrets.push(begin.secret.clone());
        let known = self.known.lock().expect("no panic").links.clone();
        for &address in &self.agent.others {
            for epoch in EPOCHS_TRIED {
                let id = link_id(begin.copy, 0, epoch);
                if known.contains_key(&id) {
                    continue;
                }
                for secret in secrets.clone() {
                    let open = move || {
                        let congestion = &[];
                        let transport = Transport::Tcp;
                        let dial =
                            link::Dial { address, id, secret: &secret, congestion, transport };
                        INTRUSIONS_TRIED.fetch_add(1, Ordering::SeqCst);
                        if link::dial(&dial, None).is_ok() {
                            INTRUSIONS.fetch_add(1, Ordering::SeqCst);
                        }
                    };
                    drop(spawn("intrude", open).expect("a thread"));
                }
            }
        }
    }

    /// Serves a link, which the agent or one of its neighbours has opened: opens another one to the
    /// other of the two, and passes frames on.
    fn link(&self, near: TcpStream, peer: SocketAddr, id: CopyId, link: &KnownLink) {
        let is_from_agent = peer.ip() == self.agent.address;
        let agent = SocketAddr::from((self.agent.address, PORT));
        let address = if is_from_agent { link.downstream } else { Some(agent) };
        let Some(address) = address else { return };
        let copy_secret = self.known.lock().expect("no panic").secrets.get(&link.copy).cloned();
        let Some(copy_secret) = copy_secret else { return };
        let secret = &link.secret;
        let dial = link::Dial { address, id, secret, congestion: &[], transport: Transport::Tcp };
        let Ok(far) = link::dial(&dial, None) else { return };
        let (agent, other) = if is_from_agent { (near, far) } else { (far, near) };
        let mut keys = Keys::new(&copy_secret, link.copy);
        let honest = (other.try_clone(), agent.try_clone());
        let (Ok(from), Ok(to)) = honest else { return };
        drop(spawn("honest", move || pass(&from, &to)));
        let seed = self.seed ^ u64::from(link.epoch) << 16 ^ u64::from(link.lane);
        let forger = Forger::new(self.lie, Random::new(seed), link.copy);
        // The end of a link is no news.
        let _ = forge(&agent, &other, &mut keys, forger);
        let _ =
            (agent.shutdown(std::net::Shutdown::Both), other.shutdown(std::net::Shutdown::Both));
    }
}

/// Passes bytes on until the end of the connection.
fn pass(mut from: &TcpStream, mut to: &TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(std::net::Shutdown::Both), to.shutdown(std::net::Shutdown::Both));
}

/// Passes frames on as a forger wants them.
fn forge(
    from: &TcpStream,
    mut to: &TcpStream,
    keys: &mut Keys,
    mut forger: Forger,
) -> Result<(), LinkError> {
    loop {
        let mut header = [0; FRAME_LEN];
        (&*from).read_exact(&mut header)?;
        let frame = Frame::parse(&header, keys)?;
        let mut payload = vec![0; payload_length(&frame)];
        (&*from).read_exact(&mut payload)?;
        to.write_all(&forger.forge(keys, &frame, &header, payload))?;
    }
}

fn payload_length(frame: &Frame) -> usize {
    match frame.kind {
        Kind::Block => frame.packed as usize + if frame.sealed { TAG_LEN } else { 0 },
        Kind::Digests | Kind::SourceEnd => frame.length as usize,
        _ => 0,
    }
}
