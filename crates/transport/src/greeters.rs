//! Greets the peers that connect to a port, all in one loop: no thread and no buffer is spent on a
//! peer before it has proved its identity.
//!
//! A peer is a stranger until it has sent what only the holder of a key or secret can have made.
//! Those who send that at once, as all do who have one, take no place of strangers. A new stranger
//! that says less replaces the oldest one of those that take most places, and never a peer that is
//! no stranger.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use garland_protocol::wire::{ChannelError, Claim, Preamble, Purpose, VersionError};
use garland_sys::event::Wake;
use garland_sys::socket::{TcpListener, TcpStream};
use garland_sys::sync::Mutex;
use garland_sys::watch::Watch;
use garland_sys::{clock, tcp, threads};

use crate::greeting::{Found, Greeting, Guest, LinkError, Step};
use crate::key_ring::{Identity, KeyRing};
use crate::limits::{GREETING, PROVING, STRANGERS, STRANGERS_OF_ADDRESS};

/// The interval at which deadlines of greetings are checked, if there are any.
const DEADLINE_CHECK_INTERVAL: Duration = Duration::from_millis(100);
const POLL_IDLE: Duration = Duration::from_secs(60);

/// The maximum number of connections that are accepted before others are served.
const ACCEPTED_AT_ONCE: usize = 64;

/// The number of the wake flag among the watched descriptors. Those of the listeners follow, then
/// those of peers.
const WAKE: u64 = 0;

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
        let watch = Watch::new()?;
        let wake = Arc::new(Wake::new()?);
        Ok(Self { watch, wake, parked: Mutex::default() })
    }

    /// Returns the flag to raise when [`Host::find`] knows of another identity.
    pub fn wake(&self) -> Arc<Wake> {
        Arc::clone(&self.wake)
    }

    /// Greets a peer on a connection that was parked: as a new one, but it takes no place of
    /// others, since the number of parked connections is limited.
    pub fn greet(&self, stream: TcpStream, peer: SocketAddr) {
        self.parked.lock().push((stream, peer));
        self.wake.raise();
    }

    /// Accepts connections and greets peers until that fails.
    ///
    /// # Errors
    /// When the system cannot watch the connections.
    pub fn run(&self, listeners: &[TcpListener], host: &impl Host) -> io::Result<()> {
        self.watch.add(&*self.wake, WAKE)?;
        let listeners: BTreeMap<u64, &TcpListener> = (WAKE + 1..).zip(listeners).collect();
        for (number, listener) in &listeners {
            listener.set_nonblocking(true)?;
            self.watch.add(*listener, *number)?;
        }
        let next = WAKE + listeners.len() as u64;
        let mut table = Table { next, ..Table::new(&self.watch, host) };
        let mut checked_ns = 0;
        loop {
            let patience = if table.peers.is_empty() { POLL_IDLE } else { DEADLINE_CHECK_INTERVAL };
            for number in self.watch.wait(patience)? {
                match number {
                    WAKE => {
                        self.wake.lower();
                        self.watch.rearm(&*self.wake, WAKE)?;
                        for (stream, peer) in std::mem::take(&mut *self.parked.lock()) {
                            table.enter(stream, peer, None);
                        }
                        table.ask_again();
                    }
                    number => match listeners.get(&number) {
                        Some(listener) => {
                            table.accept(listener);
                            self.watch.rearm(*listener, number)?;
                        }
                        None => table.advance(number),
                    },
                }
            }
            let now = clock::now_ns();
            if now.saturating_sub(checked_ns) >= DEADLINE_CHECK_INTERVAL.as_nanos() as u64 {
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
    ring: KeyRing,
    /// The peers, the oldest first.
    peers: BTreeMap<u64, Peer<H::Owner>>,
    strangers: Places<IpAddr>,
    proving: Places<Identity>,
    next: u64,
}

/// The numbers of places that some peers take, by what they have in common.
struct Places<K> {
    counts: HashMap<K, usize>,
    total: usize,
}

/// Whose place a peer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// That of a stranger from this address, or network of addresses.
    Stranger(IpAddr),
    /// That of a peer that has only to prove this identity.
    Proving(Identity),
}

/// A peer that has not completed its greeting.
struct Peer<T> {
    stream: TcpStream,
    address: SocketAddr,
    /// The address by which the peer is counted as a stranger; `None` if it is not counted.
    origin: Option<IpAddr>,
    /// The place that the peer takes; none before its first bytes were received.
    place: Option<Place>,
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

impl<K> Default for Places<K> {
    fn default() -> Self {
        Self { counts: HashMap::new(), total: 0 }
    }
}

impl<K: Copy + Eq + Hash> Places<K> {
    fn take(&mut self, of: K) {
        *self.counts.entry(of).or_default() += 1;
        self.total += 1;
    }

    fn release(&mut self, of: K) {
        if let Some(count) = self.counts.get_mut(&of) {
            *count -= 1;
            self.total -= 1;
            if *count == 0 {
                self.counts.remove(&of);
            }
        }
    }

    fn count(&self, of: K) -> usize {
        self.counts.get(&of).copied().unwrap_or(0)
    }

    /// Returns the largest of the numbers.
    fn most(&self) -> usize {
        self.counts.values().max().copied().unwrap_or(0)
    }
}

impl<'a, H: Host> Table<'a, H> {
    fn new(watch: &'a Watch, host: &'a H) -> Self {
        Self {
            watch,
            host,
            ring: KeyRing::default(),
            peers: BTreeMap::new(),
            strangers: Places::default(),
            proving: Places::default(),
            next: WAKE,
        }
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
                    return self.refuse_greediest("the agent has no file descriptor left");
                }
            }
        }
    }

    /// Greets a new peer as far as its bytes have arrived. It takes a place only if more must come.
    fn enter(&mut self, stream: TcpStream, address: SocketAddr, origin: Option<IpAddr>) {
        self.next += 1;
        let number = self.next;
        let until_ns = clock::after(GREETING);
        let greeting = Greeting::default();
        let peer = Peer { stream, address, origin, place: None, greeting, until_ns, waits: false };
        self.proceed(number, peer, false);
    }

    /// Greets a peer as far as its bytes have arrived.
    fn advance(&mut self, number: u64) {
        if let Some(peer) = self.peers.remove(&number) {
            self.proceed(number, peer, true);
        }
    }

    fn proceed(&mut self, number: u64, mut peer: Peer<H::Owner>, is_watched: bool) {
        match peer.advance(self.host, &mut self.ring) {
            Ok(progress @ (Progress::Receives | Progress::Waits)) => {
                let needed = peer.needed_place();
                self.give_place(&mut peer, needed);
                let watched = match (is_watched, progress) {
                    (false, _) => self.watch.add(&peer.stream, number),
                    (true, Progress::Receives) => self.watch.rearm(&peer.stream, number),
                    (true, _) => Ok(()),
                };
                match watched {
                    Ok(()) => drop(self.peers.insert(number, peer)),
                    // The connection is broken, or cannot be watched.
                    Err(_) => self.release(&peer),
                }
            }
            Ok(Progress::Done(guest)) => {
                self.release(&peer);
                self.host.admit(peer.stream, peer.address, *guest);
            }
            Err(error) => {
                let may_come_again = matches!(
                    error,
                    LinkError::Channel(ChannelError::Crowded | ChannelError::TooOften)
                );
                if may_come_again {
                    come_again(&peer.stream);
                }
                self.release(&peer);
                self.host.refuse(peer.address, &error.to_string());
            }
        }
    }

    /// Gives a peer the place that it needs now. Another one may have to go for it.
    fn give_place(&mut self, peer: &mut Peer<H::Owner>, place: Option<Place>) {
        if place == peer.place {
            return;
        }
        self.release_place(peer.place);
        match place {
            Some(Place::Stranger(origin)) => {
                if self.strangers.count(origin) >= STRANGERS_OF_ADDRESS {
                    let reason =
                        "too many connections from this address have not completed their greeting";
                    self.refuse_oldest(reason, |_, place| place == Place::Stranger(origin));
                } else if self.strangers.total >= STRANGERS {
                    self.refuse_greediest("too many connections have not completed their greeting");
                }
                self.strangers.take(origin);
            }
            Some(Place::Proving(identity)) => {
                if self.proving.total >= PROVING {
                    let reason = "too many connections with this key have not proved it";
                    let most = self.proving.most();
                    self.refuse_oldest(reason, |table, place| match place {
                        Place::Proving(identity) => table.proving.count(identity) == most,
                        Place::Stranger(_) => false,
                    });
                }
                self.proving.take(identity);
            }
            None => {}
        }
        peer.place = place;
    }

    /// Refuses the oldest stranger of the address with most of them.
    fn refuse_greediest(&mut self, reason: &str) {
        let most = self.strangers.most();
        self.refuse_oldest(reason, |table, place| match place {
            Place::Stranger(origin) => table.strangers.count(origin) == most,
            Place::Proving(_) => false,
        });
    }

    /// Refuses the oldest peer whose place is such a one. It may come again.
    fn refuse_oldest(&mut self, reason: &str, is_such: impl Fn(&Self, Place) -> bool) {
        let mut peers = self.peers.iter();
        let oldest = peers.find(|(_, peer)| peer.place.is_some_and(|place| is_such(self, place)));
        if let Some((&number, peer)) = oldest {
            come_again(&peer.stream);
            self.refuse(number, reason);
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
        if let Some(peer) = self.peers.remove(&number) {
            self.release(&peer);
            self.host.refuse(peer.address, reason);
        }
    }

    /// Gives back what a peer takes that has been removed.
    fn release(&mut self, peer: &Peer<H::Owner>) {
        // A peer without a place was perhaps never watched, which is no error.
        self.watch.remove(&peer.stream);
        self.release_place(peer.place);
    }

    fn release_place(&mut self, place: Option<Place>) {
        match place {
            Some(Place::Stranger(origin)) => self.strangers.release(origin),
            Some(Place::Proving(identity)) => self.proving.release(identity),
            None => {}
        }
    }
}

/// Makes the end of a connection a reset, which tells the peer that it may come again.
fn come_again(stream: &TcpStream) {
    // Otherwise it ends as that of a peer without the key.
    let _ = tcp::reset_on_close(stream);
}

impl<T> Peer<T> {
    /// Returns the place that the peer needs, according to what it has sent.
    fn needed_place(&self) -> Option<Place> {
        let origin = self.origin?;
        Some(match self.greeting.proving() {
            Some(Claim::Controller(key)) => Place::Proving(Identity::Key(*key)),
            Some(Claim::Member(id)) => Place::Proving(Identity::Secret(*id)),
            Some(Claim::Ticket(_)) | None => Place::Stranger(origin),
        })
    }

    fn advance(
        &mut self,
        host: &impl Host<Owner = T>,
        ring: &mut KeyRing,
    ) -> Result<Progress<T>, LinkError> {
        let advanced = self.exchange(host, ring);
        if let Err(LinkError::Version(VersionError::Version { .. })) = advanced {
            // The peer can report both versions then.
            let _ = tcp::try_send(&self.stream, &Preamble::ours(Purpose::Link).to_bytes());
        }
        advanced
    }

    fn exchange(
        &mut self,
        host: &impl Host<Owner = T>,
        ring: &mut KeyRing,
    ) -> Result<Progress<T>, LinkError> {
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
            match self.greeting.proceed(ring, |purpose, claim| host.find(purpose, claim))? {
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
                    self.stream.set_nodelay(true)?;
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
        match self.waits || self.greeting.proving().is_some() {
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
