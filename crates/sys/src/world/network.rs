//! The network of a simulated world: listeners, and connections whose bytes travel for a while.
//!
//! Each end of a connection is one end of a pair of local sockets; the network holds the other one.
//! It reads what a process has written, and writes it to the other process when it arrives.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};

use super::random::Random;
use super::tasks::ProcessId;
use crate::answers::Answers;

/// The number of bytes in flight in one direction above which no more are read from the sender.
const WINDOW: usize = 256 << 10;

/// The first port that is given to a listener that asks for any.
const FREE_PORT: u16 = 40_000;

/// The time in nanoseconds after which a kernel sends unacknowledged bytes again for the first
/// time; each further time comes after twice as long.
const REPEAT_NS: u64 = 200_000_000;

/// The time in nanoseconds after which the kernel breaks a connection whose other end does not
/// answer, if nothing waits for an acknowledgement: what [`crate::tcp::keep_alive`] sets.
const KEEP_ALIVE_NS: u64 = 15_000_000_000;

/// The two addresses of a simulated connection: ours, and the other end's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ends(pub(super) SocketAddr, pub(super) SocketAddr);

/// A process and a port.
pub(super) type Port = (ProcessId, u16);

/// One end of a connection, as its process holds it.
pub(super) type Held = (OwnedFd, SocketAddr, SocketAddr);

/// How fast bytes travel.
#[derive(Clone, Copy, Debug)]
pub struct Wires {
    /// The shortest time from one process to another, in nanoseconds.
    pub latency_ns: u64,
    /// The longest time that is added at random, in nanoseconds.
    pub jitter_ns: u64,
    /// The rate of one direction of a connection in bytes per second.
    pub rate: u64,
}

impl Default for Wires {
    fn default() -> Self {
        Self { latency_ns: 50_000, jitter_ns: 200_000, rate: 125_000_000 }
    }
}

enum Parcel {
    Bytes(Vec<u8>),
    /// The end of the stream.
    End,
    /// The other process is gone: nothing can be sent any more, either.
    Gone,
}

struct End {
    process: ProcessId,
    /// The addresses of this end and of the other one.
    addresses: Ends,
    /// The network's end of the pair of sockets; `None` after the process has closed its own.
    socket: Option<OwnedFd>,
    /// Whether everything that the process will ever write has been read.
    is_read: bool,
    /// What is on its way to the process, each with its time of arrival.
    inbox: VecDeque<(u64, Parcel)>,
    /// The number of bytes on their way to the process, or whose acknowledgement is.
    in_flight: usize,
    /// The bytes of `in_flight` that have arrived, and whose acknowledgement is held up.
    unacknowledged: usize,
    /// Whether the process's receive buffer is full.
    is_full: bool,
    /// When something last arrived from the other end.
    heard_ns: u64,
    /// When the first of the bytes was sent that wait for a cut to end.
    waits_since_ns: Option<u64>,
    /// Whether the other end has closed the connection in order.
    is_closed: bool,
}

/// A time in which nothing arrives from one process at another one.
#[derive(Clone, Copy, Debug)]
struct Cut {
    since_ns: u64,
    until_ns: u64,
    /// Whether idle connections were given up.
    is_given_up: bool,
}

impl Cut {
    /// Returns when the cut ends, or when kernels give up idle connections.
    fn turn_ns(&self) -> u64 {
        let patience_ns = if self.is_given_up { u64::MAX } else { KEEP_ALIVE_NS };
        self.until_ns.min(self.since_ns.saturating_add(patience_ns))
    }
}

/// A byte to change, after this number of further bytes from one process to another one.
#[derive(Clone, Copy, Debug)]
struct Flip {
    hop: (ProcessId, ProcessId),
    after: u64,
}

/// The connections of a listener that were not accepted, and a counter that is readable as long as
/// there are any.
#[derive(Debug)]
struct Queue(VecDeque<Held>, Arc<OwnedFd>);

/// Ends 2n and 2n + 1 belong to the same connection.
type EndId = u64;

#[derive(Default)]
pub(super) struct Network {
    wires: Wires,
    ends: BTreeMap<EndId, End>,
    next: EndId,
    listeners: BTreeMap<Port, Queue>,
    /// The present cuts from one process to another one.
    cuts: BTreeMap<(ProcessId, ProcessId), Cut>,
    flips: Vec<Flip>,
    /// The addresses of ends whose connection broke, instead of being closed.
    broken: BTreeSet<Ends>,
    /// Processes whose machines lost their power, and when.
    off: BTreeMap<ProcessId, u64>,
}

/// Returns the address of a process.
pub(super) fn address_of(process: ProcessId) -> IpAddr {
    Ipv4Addr::from(0x0a00_0000 + process as u32 + 1).into()
}

fn process_of(address: IpAddr) -> Option<ProcessId> {
    let IpAddr::V4(address) = address.to_canonical() else { return None };
    Some(u32::from(address).checked_sub(0x0a00_0001)? as ProcessId)
}

impl Network {
    pub(super) fn new(wires: Wires) -> Self {
        Self { wires, ..Self::default() }
    }

    /// Opens a listener. Returns its port, and a descriptor that is readable while connections wait
    /// to be accepted.
    pub(super) fn listen(
        &mut self,
        process: ProcessId,
        port: u16,
    ) -> std::io::Result<(Port, Arc<OwnedFd>)> {
        let is_free = |port: &u16| !self.listeners.contains_key(&(process, *port));
        let mut free = FREE_PORT..u16::MAX;
        let port = if port == 0 { free.find(is_free) } else { Some(port).filter(is_free) };
        let port = port.ok_or(std::io::ErrorKind::AddrInUse)?;
        let counter = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let queue = Queue(VecDeque::new(), Arc::clone(&counter));
        self.listeners.insert((process, port), queue);
        Ok(((process, port), counter))
    }

    /// Closes a listener; connections that were not accepted end.
    pub(super) fn close(&mut self, port: Port) {
        self.listeners.remove(&port);
    }

    /// Returns the oldest connection that was not accepted.
    pub(super) fn accept(&mut self, port: Port) -> Option<Held> {
        let Queue(waiting, counter) = self.listeners.get_mut(&port)?;
        let held = waiting.pop_front();
        if waiting.is_empty() {
            let _ = rustix::io::read(counter, &mut [0; 8]);
        }
        held
    }

    /// Returns the port with this address, if a process listens there.
    pub(super) fn find(&self, address: SocketAddr) -> Option<Port> {
        let port = (process_of(address.ip())?, address.port());
        self.listeners.contains_key(&port).then_some(port)
    }

    /// Returns the time at which something arrives that one process sends now to another one.
    pub(super) fn arrival_ns(
        &self,
        from: ProcessId,
        to: ProcessId,
        now_ns: u64,
        random: &mut Random,
    ) -> u64 {
        let travel = if from == to { 1_000 } else { self.wires.latency_ns };
        let jitter = if from == to { 0 } else { random.below(self.wires.jitter_ns + 1) };
        let cut_ns = self.cuts.get(&(from, to)).map_or(0, |cut| cut.until_ns);
        now_ns.max(cut_ns) + travel + jitter
    }

    /// Returns whether the machine with this address lost its power.
    pub(super) fn is_off(&self, address: SocketAddr) -> bool {
        process_of(address.ip()).is_some_and(|process| self.off.contains_key(&process))
    }

    /// Lets nothing arrive from one process at another one before a time. Nothing is lost, as with
    /// TCP, but what is sent in the other direction is not acknowledged.
    pub(super) fn cut(&mut self, from: ProcessId, to: ProcessId, now_ns: u64, until_ns: u64) {
        let cut = Cut { since_ns: now_ns, until_ns, is_given_up: false };
        let cut = self.cuts.entry((from, to)).or_insert(cut);
        cut.until_ns = cut.until_ns.max(until_ns);
        for id in self.ends_between(from, to) {
            let Some(end) = self.ends.get_mut(&id) else { continue };
            end.inbox.iter_mut().for_each(|(at_ns, _)| *at_ns = (*at_ns).max(until_ns));
            let is_held = !end.inbox.is_empty();
            if let Some(far) = self.ends.get_mut(&(id ^ 1)).filter(|_| is_held) {
                far.waits_since_ns.get_or_insert(now_ns);
            }
        }
    }

    /// Breaks the connections between two processes, as a firewall does that forgets them. What is
    /// on its way is lost.
    pub(super) fn break_all(&mut self, one: ProcessId, other: ProcessId, now_ns: u64) {
        for id in self.ends_between(one, other) {
            self.reset(id, now_ns);
            self.reset(id ^ 1, now_ns);
        }
        self.forget_closed();
    }

    /// Changes a bit of the byte that one process sends to another one after `after` further bytes.
    pub(super) fn flip(&mut self, from: ProcessId, to: ProcessId, after: u64) {
        self.flips.push(Flip { hop: (from, to), after });
    }

    /// Changes those of `bytes`, which are on their way, that are to be changed.
    fn change(&mut self, hop: (ProcessId, ProcessId), bytes: &mut [u8]) {
        self.flips.retain_mut(|flip| {
            if flip.hop != hop {
                return true;
            }
            let at = usize::try_from(flip.after).unwrap_or(usize::MAX);
            flip.after = flip.after.saturating_sub(bytes.len() as u64);
            bytes.get_mut(at).map(|byte| *byte ^= 1 << (at % 8)).is_none()
        });
    }

    /// Ends the cuts whose time is over, and breaks idle connections that are cut off for too long.
    /// Returns whether there were any.
    fn turn(&mut self, now_ns: u64) -> bool {
        let due = self.cuts.iter().filter(|(_, cut)| cut.turn_ns() <= now_ns);
        let due: Vec<_> = due.map(|(hop, cut)| (*hop, *cut)).collect();
        for ((from, to), cut) in &due {
            if cut.until_ns <= now_ns {
                self.cuts.remove(&(*from, *to));
            } else if let Some(cut) = self.cuts.get_mut(&(*from, *to)) {
                cut.is_given_up = true;
            }
            for id in self.ends_between(*from, *to).into_iter().flat_map(|id| [id, id ^ 1]) {
                let Some(end) = self.ends.get_mut(&id) else { continue };
                if cut.until_ns <= now_ns {
                    end.in_flight -= std::mem::take(&mut end.unacknowledged);
                    end.waits_since_ns = None;
                } else if end.waits_since_ns.is_none() {
                    self.reset(id ^ 1, now_ns);
                }
            }
        }
        !due.is_empty()
    }

    /// Returns the ends of process `to` of its connections with process `from`, the oldest first.
    fn ends_between(&self, from: ProcessId, to: ProcessId) -> Vec<EndId> {
        let far = |id: &EndId| self.ends.get(&(id ^ 1)).map(|end| end.process);
        let its = self.ends.iter().filter(|(id, end)| end.process == to && far(id) == Some(from));
        its.map(|(id, _)| *id).collect()
    }

    /// Returns since when nothing that one process sends to another one is acknowledged; `None` if
    /// it is.
    fn is_vain_since(&self, from: ProcessId, to: ProcessId) -> Option<u64> {
        let cuts = [(from, to), (to, from)].map(|hop| self.cuts.get(&hop).map(|cut| cut.since_ns));
        cuts.into_iter().chain([self.off.get(&to).copied()]).flatten().min()
    }

    /// Returns whether the connection with this end broke, instead of being closed.
    pub(super) fn is_broken(&self, addresses: &Ends) -> bool {
        self.broken.contains(addresses)
    }

    /// Returns what the kernel tells of a connection, as far as production code decides by it.
    /// `addresses` are those of the end that asks.
    pub(super) fn info(&self, addresses: &Ends, now_ns: u64) -> Answers {
        let found = self.ends.iter().find(|(_, end)| end.addresses == *addresses);
        let both = found.and_then(|(id, end)| Some((end, self.ends.get(&(id ^ 1))?)));
        let Some((end, far)) = both else {
            let peer_closed = !self.is_broken(addresses);
            return Answers { peer_closed, ..Answers::default() };
        };
        let mut info = Answers { peer_closed: end.is_closed, ..Answers::default() };
        if let Some(since_ns) = self.is_vain_since(end.process, far.process) {
            info.unheard = Duration::from_nanos(now_ns.saturating_sub(since_ns.max(end.heard_ns)));
            let is_off = self.off.contains_key(&far.process);
            let waits_ns = end.waits_since_ns.or(is_off.then_some(since_ns));
            // Each time after twice as long.
            let times = waits_ns.map_or(1, |since| now_ns.saturating_sub(since) / REPEAT_NS + 1);
            info.vain = u8::try_from(times.ilog2()).unwrap_or(u8::MAX);
        }
        info
    }

    /// Opens a connection from a process to a listener, which may accept it now.
    pub(super) fn connect(&mut self, from: ProcessId, to: Port) -> std::io::Result<Held> {
        let ours = SocketAddr::from((address_of(from), 1024 + (self.next % 30_000) as u16));
        let theirs = SocketAddr::from((address_of(to.0), to.1));
        let mut held = Vec::new();
        for (process, addresses) in [(from, Ends(ours, theirs)), (to.0, Ends(theirs, ours))] {
            let (near, far) = UnixStream::pair()?;
            let end = End {
                process,
                addresses,
                socket: Some(far.into()),
                is_read: false,
                inbox: VecDeque::new(),
                in_flight: 0,
                unacknowledged: 0,
                is_full: false,
                heard_ns: 0,
                waits_since_ns: None,
                is_closed: false,
            };
            self.ends.insert(self.next, end);
            self.next += 1;
            held.push(OwnedFd::from(near));
        }
        let far = held.pop();
        let near = held.pop();
        let (near, far) = near.zip(far).expect("there are two ends");
        if let Some(Queue(waiting, counter)) = self.listeners.get_mut(&to) {
            waiting.push_back((far, theirs, ours));
            let _ = rustix::io::write(counter, &1_u64.to_ne_bytes());
        }
        Ok((near, ours, theirs))
    }

    /// Ends the connections of a process whose threads have stopped for ever. If its machine is
    /// off, other processes don't notice.
    pub(super) fn end(&mut self, process: ProcessId, is_off: bool, now_ns: u64) {
        self.listeners.retain(|(its, _), _| *its != process);
        self.off.extend(is_off.then_some((process, now_ns)));
        let its = self.ends.iter().filter(|(_, end)| end.process == process);
        let its: Vec<EndId> = its.map(|(id, _)| *id).collect();
        for id in its {
            if let Some(end) = self.ends.get_mut(&id) {
                (end.socket, end.is_read) = (None, true);
                end.inbox.clear();
                (end.in_flight, end.unacknowledged) = (0, 0);
            }
            if let Some(far) = self.ends.get_mut(&(id ^ 1)) {
                match is_off {
                    // Nothing is read from it any more, as if nobody acknowledged it.
                    true => far.is_read = true,
                    false => far.inbox.push_back((now_ns, Parcel::Gone)),
                }
            }
        }
    }

    /// Returns the descriptors that the network waits for.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = (EndId, BorrowedFd<'_>, PollFlags)> {
        self.ends.iter().filter_map(|(id, end)| {
            let far = self.ends.get(&(id ^ 1));
            let has_room = far.is_none_or(|far| far.in_flight < WINDOW);
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, !end.is_read && has_room);
            flags.set(PollFlags::OUT, end.is_full);
            let socket = end.socket.as_ref().filter(|_| !flags.is_empty())?;
            Some((*id, socket.as_fd(), flags))
        })
    }

    /// Handles an end that is ready: sends what its process has written on its way, and notes that
    /// its process can receive again.
    pub(super) fn ready(&mut self, id: EndId, flags: PollFlags, now_ns: u64, random: &mut Random) {
        let Some(end) = self.ends.get_mut(&id) else { return };
        if flags.intersects(PollFlags::OUT | PollFlags::ERR | PollFlags::HUP) {
            end.is_full = false;
        }
        if end.is_read || !flags.intersects(PollFlags::IN | PollFlags::ERR | PollFlags::HUP) {
            return;
        }
        let process = end.process;
        let mut bytes = vec![0; 64 << 10];
        let Some(socket) = &end.socket else { return };
        let mut parcel = match rustix::net::recv(socket, &mut bytes[..], RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN | Errno::INTR) => return,
            Ok((0, _)) | Err(_) => {
                end.is_read = true;
                Parcel::End
            }
            Ok((length, _)) => {
                bytes.truncate(length);
                Parcel::Bytes(bytes)
            }
        };
        let Some(far) = self.ends.get(&(id ^ 1)).map(|far| far.process) else { return };
        let length = if let Parcel::Bytes(bytes) = &mut parcel {
            self.change((process, far), bytes);
            bytes.len()
        } else {
            0
        };
        let arrival_ns = self.arrival_ns(process, far, now_ns, random);
        let sending_ns = length as u64 * 1_000_000_000 / self.wires.rate.max(1);
        let is_vain = self.is_vain_since(process, far).is_some();
        if let Some(end) = self.ends.get_mut(&id).filter(|_| is_vain) {
            end.waits_since_ns.get_or_insert(now_ns);
        }
        if let Some(far) = self.ends.get_mut(&(id ^ 1)) {
            let before_ns = far.inbox.back().map_or(0, |(at_ns, _)| *at_ns);
            far.inbox.push_back((before_ns.max(arrival_ns) + sending_ns, parcel));
            far.in_flight += length;
        }
    }

    /// Returns the next time at which something arrives.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let open = self.ends.values().filter(|end| !end.is_full && end.socket.is_some());
        let arrivals = open.filter_map(|end| end.inbox.front().map(|(at_ns, _)| *at_ns));
        arrivals.chain(self.cuts.values().map(Cut::turn_ns)).min()
    }

    /// Gives processes what has arrived. Returns whether something has.
    pub(super) fn deliver(&mut self, now_ns: u64) -> bool {
        let mut any = self.turn(now_ns);
        let mut broken = Vec::new();
        let far = |id: &EndId| Some((*id, self.ends.get(&(id ^ 1))?.process));
        let far: BTreeMap<EndId, ProcessId> = self.ends.keys().filter_map(far).collect();
        for (id, end) in &mut self.ends {
            let back = far.get(id).map(|far| (end.process, *far));
            let is_acknowledged = back.is_none_or(|back| !self.cuts.contains_key(&back));
            while !end.is_full && end.inbox.front().is_some_and(|(at_ns, _)| *at_ns <= now_ns) {
                let Some((at_ns, parcel)) = end.inbox.pop_front() else { break };
                any = true;
                end.heard_ns = now_ns;
                if end.take(at_ns, parcel, is_acknowledged).is_err() {
                    broken.push(*id);
                    break;
                }
            }
        }
        for id in broken {
            self.reset(id, now_ns);
        }
        if any {
            self.forget_closed();
        }
        any
    }

    /// Removes the connections that are closed on both ends.
    fn forget_closed(&mut self) {
        let is_over = |end: &End| end.is_read && end.inbox.is_empty();
        let over = self.ends.iter().filter(|(_, end)| is_over(end)).map(|(id, _)| *id);
        let over: BTreeSet<EndId> = over.collect();
        self.ends.retain(|id, _| !(over.contains(id) && over.contains(&(id ^ 1))));
    }

    /// Ends a connection whose end `id` was closed with bytes on their way to it: the other process
    /// can neither read nor write any more.
    fn reset(&mut self, id: EndId, now_ns: u64) {
        if let Some(end) = self.ends.get_mut(&id) {
            (end.socket, end.is_read) = (None, true);
            (end.in_flight, end.unacknowledged) = (0, 0);
            end.inbox.clear();
            self.broken.insert(end.addresses);
        }
        if let Some(far) = self.ends.get_mut(&(id ^ 1)) {
            far.inbox.retain(|(at_ns, _)| *at_ns <= now_ns);
            far.is_read = true;
            self.broken.insert(far.addresses);
            far.socket.iter().for_each(|socket| {
                let _ = rustix::net::shutdown(socket, Shutdown::Both);
            });
        }
    }
}

impl End {
    /// Gives the process a parcel that arrived at `at_ns`, or as much of it as fits.
    ///
    /// # Errors
    /// When the process has closed its end.
    fn take(&mut self, at_ns: u64, parcel: Parcel, is_acknowledged: bool) -> Result<(), Errno> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let mut bytes = match parcel {
            Parcel::Bytes(bytes) => bytes,
            Parcel::End => {
                self.is_closed = true;
                let _ = rustix::net::shutdown(socket, Shutdown::Write);
                return Ok(());
            }
            Parcel::Gone => {
                self.is_closed = true;
                self.is_read = true;
                let _ = rustix::net::shutdown(socket, Shutdown::Both);
                return Ok(());
            }
        };
        match rustix::net::send(socket, &bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => {
                bytes.drain(..sent);
                match is_acknowledged {
                    true => self.in_flight -= sent,
                    false => self.unacknowledged += sent,
                }
                self.is_full = !bytes.is_empty();
            }
            Err(Errno::AGAIN) => self.is_full = true,
            Err(error) => return Err(error),
        }
        if self.is_full {
            self.inbox.push_front((at_ns, Parcel::Bytes(bytes)));
        }
        Ok(())
    }
}
