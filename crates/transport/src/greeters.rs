//! Greets the peers that connect to a port, all in one loop: no thread and no buffer is spent on a
//! peer before it has proved its identity. Limits the connections that have not completed their
//! greeting, in total and per address. A new connection replaces the oldest one of those that take
//! most places, so that slow peers lock nobody out: others complete their greeting in milliseconds.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use garland_protocol::{ChannelError, Preamble, Purpose, VersionError};
use garland_sys::event::Wake;
use garland_sys::socket::{TcpListener, TcpStream};
use garland_sys::sync::Mutex;
use garland_sys::watch::Watch;
use garland_sys::{clock, tcp, threads};

use crate::greeting::{Claim, Found, Greeting, Guest, LinkError, Step};
use crate::limits::{GREETING, PEERS, PEERS_OF_ADDRESS};

/// The interval at which deadlines of greetings are checked, if there are any.
const POLL: Duration = Duration::from_millis(100);
const POLL_IDLE: Duration = Duration::from_secs(60);

/// The maximum number of connections that are accepted before others are served.
const ACCEPTED_AT_ONCE: usize = 64;

/// The numbers of the listener and of the wake flag among the watched descriptors; those of peers
/// are larger.
const LISTENER: u64 = 0;
const WAKE: u64 = 1;

/// The owner of a port: it knows the peers, and serves those whose greeting succeeded.
pub trait Host {
    /// The owners of connections: what a connection may belong to.
    type Owner;

    /// Returns what is known of a claimed identity.
    fn find(&self, purpose: Purpose, claim: &Claim) -> Found<'_, Self::Owner>;

    /// Serves a peer whose greeting succeeded; returns at once.
    fn admit(&self, stream: TcpStream, peer: SocketAddr, guest: Guest<Self::Owner>);

    /// Notes that a peer was refused, and the reason.
    fn refuse(&self, peer: SocketAddr, reason: &str);
}

/// The loop that greets peers.
pub struct Greeters {
    watch: Watch,
    wake: Arc<Wake>,
    parked: Mutex<Vec<(TcpStream, SocketAddr)>>,
}

impl Greeters {
    /// Creates a loop without peers.
    ///
    /// # Errors
    /// When the system has no file descriptors left.
    pub fn new() -> io::Result<Self> {
        let (watch, wake) = (Watch::new()?, Arc::new(Wake::new()?));
        Ok(Self { watch, wake, parked: Mutex::default() })
    }

    /// Returns the flag to raise when [`Host::find`] knows of another identity.
    pub fn wake(&self) -> Arc<Wake> {
        Arc::clone(&self.wake)
    }

    /// Greets a peer on a connection that was parked: as a new one, but it takes no place of others,
    /// since the number of parked connections is limited.
    pub fn greet(&self, stream: TcpStream, peer: SocketAddr) {
        self.parked.lock().push((stream, peer));
        self.wake.raise();
    }

    /// Accepts connections and greets peers until that fails.
    ///
    /// # Errors
    /// When the system cannot watch the connections.
    pub fn run(&self, listener: &TcpListener, host: &impl Host) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        self.watch.add(listener, LISTENER)?;
        self.watch.add(&*self.wake, WAKE)?;
        let mut table = Table::new(&self.watch, host);
        let mut checked_ns = 0;
        loop {
            let patience = if table.peers.is_empty() { POLL_IDLE } else { POLL };
            for number in self.watch.wait(patience)? {
                match number {
                    LISTENER => {
                        table.accept(listener);
                        self.watch.rearm(listener, LISTENER)?;
                    }
                    WAKE => {
                        self.wake.lower();
                        self.watch.rearm(&*self.wake, WAKE)?;
                        for (stream, peer) in std::mem::take(&mut *self.parked.lock()) {
                            table.enter(stream, peer, None);
                        }
                        table.ask_again();
                    }
                    number => table.advance(number),
                }
            }
            let now = clock::now_ns();
            if now.saturating_sub(checked_ns) >= POLL.as_nanos() as u64 {
                checked_ns = now;
                table.refuse_late(now);
            }
        }
    }
}

/// The peers that have not completed their greeting.
struct Table<'a, H: Host> {
    watch: &'a Watch,
    host: &'a H,
    /// The peers, the oldest first.
    peers: BTreeMap<u64, Peer<H::Owner>>,
    /// The number of peers of each address, or network of addresses.
    counts: HashMap<IpAddr, usize>,
    next: u64,
}

/// A peer that has not completed its greeting.
struct Peer<T> {
    stream: TcpStream,
    address: SocketAddr,
    /// The address by which the peer is counted; `None` if it is not.
    origin: Option<IpAddr>,
    greeting: Greeting<T>,
    /// The deadline in monotonic nanoseconds.
    until_ns: u64,
    /// Whether the peer has sent its part, and the order that announces it has not come yet.
    waits: bool,
}

/// What becomes of a peer.
enum Progress<T> {
    /// More bytes must arrive.
    Receives,
    /// The order that announces the peer must come.
    Waits,
    Done(Box<Guest<T>>),
}

impl<'a, H: Host> Table<'a, H> {
    fn new(watch: &'a Watch, host: &'a H) -> Self {
        Self { watch, host, peers: BTreeMap::new(), counts: HashMap::new(), next: WAKE }
    }

    /// Accepts the connections that have arrived.
    fn accept(&mut self, listener: &TcpListener) {
        for _ in 0..ACCEPTED_AT_ONCE {
            match listener.accept() {
                Ok((stream, address)) => self.enter(stream, address, Some(origin(address.ip()))),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // Probably out of file descriptors: wait until some are closed.
                Err(_) => {
                    threads::sleep(Duration::from_millis(50));
                    return self.refuse_oldest_of_most("the agent has no file descriptor left");
                }
            }
        }
    }

    /// Begins to greet a peer. If too many take a place already, the oldest of those that take most
    /// is refused.
    fn enter(&mut self, stream: TcpStream, address: SocketAddr, origin: Option<IpAddr>) {
        if let Some(origin) = origin {
            if self.counts.get(&origin).is_some_and(|&count| count >= PEERS_OF_ADDRESS) {
                let reason =
                    "too many connections from this address have not completed their greeting";
                self.refuse_oldest_of(origin, reason);
            } else if self.counts.values().sum::<usize>() >= PEERS {
                self.refuse_oldest_of_most(
                    "too many connections have not completed their greeting",
                );
            }
            *self.counts.entry(origin).or_default() += 1;
        }
        self.next += 1;
        let number = self.next;
        let until_ns = clock::after(GREETING);
        let greeting = Greeting::default();
        let peer = Peer { stream, address, origin, greeting, until_ns, waits: false };
        let watched =
            peer.stream.set_nodelay(true).and_then(|()| self.watch.add(&peer.stream, number));
        self.peers.insert(number, peer);
        if watched.is_err() {
            // The connection is broken, or cannot be watched.
            self.remove(number);
        }
    }

    fn refuse_oldest_of_most(&mut self, reason: &str) {
        let most = self.counts.values().max().copied();
        let has_most = |peer: &Peer<H::Owner>| {
            peer.origin.is_some_and(|origin| self.counts.get(&origin).copied() == most)
        };
        let oldest = self.peers.iter().find(|(_, peer)| has_most(peer)).map(|(number, _)| *number);
        oldest.into_iter().for_each(|number| self.refuse(number, reason));
    }

    fn refuse_oldest_of(&mut self, origin: IpAddr, reason: &str) {
        let mut peers = self.peers.iter();
        let oldest = peers.find(|(_, peer)| peer.origin == Some(origin)).map(|(number, _)| *number);
        oldest.into_iter().for_each(|number| self.refuse(number, reason));
    }

    /// Greets a peer as far as its bytes have arrived.
    fn advance(&mut self, number: u64) {
        let Some(peer) = self.peers.get_mut(&number) else { return };
        match peer.advance(self.host) {
            Ok(Progress::Waits) => {}
            Ok(Progress::Receives) => {
                if self.watch.rearm(&peer.stream, number).is_err() {
                    self.remove(number);
                }
            }
            Ok(Progress::Done(guest)) => {
                if let Some(peer) = self.remove(number) {
                    self.host.admit(peer.stream, peer.address, *guest);
                }
            }
            Err(error) => self.refuse(number, &error.to_string()),
        }
    }

    /// Looks for the orders that announce the waiting peers.
    fn ask_again(&mut self) {
        let waiting = self.peers.iter().filter(|(_, peer)| peer.waits);
        let waiting: Vec<u64> = waiting.map(|(number, _)| *number).collect();
        waiting.into_iter().for_each(|number| self.advance(number));
    }

    /// Refuses the peers whose deadline has passed.
    fn refuse_late(&mut self, now: u64) {
        let late = self.peers.iter().filter(|(_, peer)| peer.until_ns <= now);
        let late =
            late.map(|(number, peer)| (*number, peer.broken(io::ErrorKind::TimedOut.into())));
        for (number, error) in late.collect::<Vec<_>>() {
            self.refuse(number, &error.to_string());
        }
    }

    fn refuse(&mut self, number: u64, reason: &str) {
        if let Some(peer) = self.remove(number) {
            self.host.refuse(peer.address, reason);
        }
    }

    fn remove(&mut self, number: u64) -> Option<Peer<H::Owner>> {
        let peer = self.peers.remove(&number)?;
        self.watch.remove(&peer.stream);
        if let Some(origin) = peer.origin
            && let Some(count) = self.counts.get_mut(&origin)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&origin);
            }
        }
        Some(peer)
    }
}

impl<T> Peer<T> {
    fn advance(&mut self, host: &impl Host<Owner = T>) -> Result<Progress<T>, LinkError> {
        let advanced = self.exchange(host);
        if let Err(LinkError::Version(VersionError::Version { .. })) = advanced {
            // The peer can report both versions then.
            let _ = tcp::try_send(&self.stream, &Preamble::ours(Purpose::Link).to_bytes());
        }
        advanced
    }

    fn exchange(&mut self, host: &impl Host<Owner = T>) -> Result<Progress<T>, LinkError> {
        let mut buffer = [0; 512];
        loop {
            let wanted = self.greeting.wanted()?.min(buffer.len());
            if wanted > 0 {
                // No more than is wanted: what follows belongs to whoever serves the peer.
                let received = tcp::try_receive(&self.stream, &mut buffer[..wanted]);
                match received.map_err(|error| self.broken(error))? {
                    None => return Ok(Progress::Receives),
                    Some(0) => return Err(self.broken(io::ErrorKind::UnexpectedEof.into())),
                    Some(received) => self.greeting.receive(&buffer[..received]),
                }
                continue;
            }
            match self.greeting.proceed(|purpose, claim| host.find(purpose, claim))? {
                Step::Done(guest) => return Ok(Progress::Done(guest)),
                Step::Wait(patience) => {
                    if !std::mem::replace(&mut self.waits, true) {
                        self.until_ns = clock::after(patience);
                    }
                    return Ok(Progress::Waits);
                }
                Step::Answer(bytes) => {
                    if std::mem::take(&mut self.waits) {
                        // The peer had no influence on the time until now.
                        self.until_ns = clock::after(GREETING);
                    }
                    // A new connection has room for so few bytes.
                    if tcp::try_send(&self.stream, &bytes)? != Some(bytes.len()) {
                        return Err(io::Error::from(io::ErrorKind::WriteZero).into());
                    }
                }
            }
        }
    }

    /// Returns the reason why a peer is refused whose connection broke or whose deadline passed.
    fn broken(&self, error: io::Error) -> LinkError {
        match self.waits || self.greeting.is_proving() {
            true => ChannelError::Refused.into(),
            false => error.into(),
        }
    }
}

/// Returns the address by which a connection is counted. For IPv6 this is the /64 network, since
/// one host may own all addresses of a network. Link-local addresses count individually.
fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) if !six.is_unicast_link_local() && !six.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(six.to_bits() >> 64 << 64))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests;
