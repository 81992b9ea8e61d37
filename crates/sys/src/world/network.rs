//! The network of a simulated world: listeners, and connections whose bytes travel for a while.
//!
//! Each end of a connection is one end of a pair of local sockets; the network holds the other one.
//! It reads what a process has written, and writes it to the other process when it arrives.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};

use super::random::Random;
use super::tasks::ProcessId;

/// The number of bytes in flight in one direction above which no more are read from the sender.
const WINDOW: usize = 256 << 10;

/// The first port that is given to a listener that asks for any.
const FREE_PORT: u16 = 40_000;

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
    Reset,
}

struct End {
    process: ProcessId,
    /// The network's end of the pair of sockets; `None` after the process has closed its own.
    socket: Option<OwnedFd>,
    /// Whether everything that the process will ever write has been read.
    is_read: bool,
    /// What is on its way to the process, each with its time of arrival.
    inbox: VecDeque<(u64, Parcel)>,
    /// The number of bytes in `inbox`.
    in_flight: usize,
    /// Whether the process's receive buffer is full.
    is_full: bool,
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
    /// Pairs of processes, the smaller number first, between which nothing arrives before a time.
    cut: BTreeMap<(ProcessId, ProcessId), u64>,
    /// Processes whose machines lost their power.
    off: BTreeSet<ProcessId>,
}

/// Returns the address of a process.
pub(super) fn address_of(process: ProcessId) -> IpAddr {
    Ipv4Addr::from(0x0a00_0000 + process as u32 + 1).into()
}

fn process_of(address: IpAddr) -> Option<ProcessId> {
    let IpAddr::V4(address) = address.to_canonical() else { return None };
    Some(u32::from(address).checked_sub(0x0a00_0001)? as ProcessId)
}

fn pair_of(one: ProcessId, other: ProcessId) -> (ProcessId, ProcessId) {
    (one.min(other), one.max(other))
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

    /// Returns the time at which something that is sent now between two processes arrives.
    pub(super) fn arrival_ns(
        &self,
        (one, other): (ProcessId, ProcessId),
        now_ns: u64,
        random: &mut Random,
    ) -> u64 {
        let travel = if one == other { 1_000 } else { self.wires.latency_ns };
        let jitter = if one == other { 0 } else { random.below(self.wires.jitter_ns + 1) };
        let cut_ns = self.cut.get(&pair_of(one, other)).copied().unwrap_or(0);
        now_ns.max(cut_ns) + travel + jitter
    }

    /// Returns whether the machine with this address lost its power.
    pub(super) fn is_off(&self, address: SocketAddr) -> bool {
        process_of(address.ip()).is_some_and(|process| self.off.contains(&process))
    }

    /// Lets nothing arrive between two processes before a time. Nothing is lost, as with TCP.
    pub(super) fn cut(&mut self, one: ProcessId, other: ProcessId, until_ns: u64) {
        self.cut.insert(pair_of(one, other), until_ns);
        for id in 0..self.next {
            let Some(its) = self.ends.get(&id).map(|end| end.process) else { continue };
            let Some(far) = self.ends.get(&(id ^ 1)).map(|end| end.process) else { continue };
            if pair_of(its, far) == pair_of(one, other)
                && let Some(end) = self.ends.get_mut(&id)
            {
                for (at_ns, _) in &mut end.inbox {
                    *at_ns = (*at_ns).max(until_ns);
                }
            }
        }
    }

    /// Opens a connection from a process to a listener, which may accept it now.
    pub(super) fn connect(&mut self, from: ProcessId, to: Port) -> std::io::Result<Held> {
        let ours = SocketAddr::from((address_of(from), 1024 + (self.next % 30_000) as u16));
        let theirs = SocketAddr::from((address_of(to.0), to.1));
        let mut held = Vec::new();
        for process in [from, to.0] {
            let (near, far) = UnixStream::pair()?;
            let end = End {
                process,
                socket: Some(far.into()),
                is_read: false,
                inbox: VecDeque::new(),
                in_flight: 0,
                is_full: false,
            };
            self.ends.insert(self.next, end);
            self.next += 1;
            held.push(OwnedFd::from(near));
        }
        let (far, near) = (held.pop(), held.pop());
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
        self.off.extend(is_off.then_some(process));
        let its = self.ends.iter().filter(|(_, end)| end.process == process);
        let its: Vec<EndId> = its.map(|(id, _)| *id).collect();
        for id in its {
            if let Some(end) = self.ends.get_mut(&id) {
                (end.socket, end.is_read) = (None, true);
                end.inbox.clear();
                end.in_flight = 0;
            }
            if let Some(far) = self.ends.get_mut(&(id ^ 1)) {
                match is_off {
                    // Nothing is read from it any more, as if nobody acknowledged it.
                    true => far.is_read = true,
                    false => far.inbox.push_back((now_ns, Parcel::Reset)),
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
        let (process, mut bytes) = (end.process, vec![0; 64 << 10]);
        let Some(socket) = &end.socket else { return };
        let parcel = match rustix::net::recv(socket, &mut bytes[..], RecvFlags::DONTWAIT) {
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
        let Some(far) = self.ends.get(&(id ^ 1)) else { return };
        let length = if let Parcel::Bytes(bytes) = &parcel { bytes.len() } else { 0 };
        let before_ns = far.inbox.back().map_or(0, |(at_ns, _)| *at_ns);
        let arrival_ns = self.arrival_ns((process, far.process), now_ns, random);
        let sending_ns = length as u64 * 1_000_000_000 / self.wires.rate.max(1);
        if let Some(far) = self.ends.get_mut(&(id ^ 1)) {
            far.inbox.push_back((before_ns.max(arrival_ns) + sending_ns, parcel));
            far.in_flight += length;
        }
    }

    /// Returns the next time at which something arrives.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let open = self.ends.values().filter(|end| !end.is_full && end.socket.is_some());
        open.filter_map(|end| end.inbox.front().map(|(at_ns, _)| *at_ns)).min()
    }

    /// Gives processes what has arrived. Returns whether something has.
    pub(super) fn deliver(&mut self, now_ns: u64) -> bool {
        let mut any = false;
        let mut broken = Vec::new();
        for (id, end) in &mut self.ends {
            while !end.is_full && end.inbox.front().is_some_and(|(at_ns, _)| *at_ns <= now_ns) {
                let Some(socket) = &end.socket else { break };
                any = true;
                let Some((at_ns, parcel)) = end.inbox.pop_front() else { break };
                let mut bytes = match parcel {
                    Parcel::Bytes(bytes) => bytes,
                    Parcel::End => {
                        let _ = rustix::net::shutdown(socket, Shutdown::Write);
                        continue;
                    }
                    Parcel::Reset => {
                        let _ = rustix::net::shutdown(socket, Shutdown::Both);
                        end.is_read = true;
                        continue;
                    }
                };
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                match rustix::net::send(socket, &bytes, flags) {
                    Ok(sent) => {
                        end.in_flight -= sent;
                        bytes.drain(..sent);
                        end.is_full = !bytes.is_empty();
                    }
                    Err(Errno::AGAIN) => end.is_full = true,
                    // The process has closed its end.
                    Err(_) => {
                        broken.push(*id);
                        break;
                    }
                }
                if end.is_full {
                    end.inbox.push_front((at_ns, Parcel::Bytes(bytes)));
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
            (end.socket, end.is_read, end.in_flight) = (None, true, 0);
            end.inbox.clear();
        }
        if let Some(far) = self.ends.get_mut(&(id ^ 1)) {
            far.inbox.retain(|(at_ns, _)| *at_ns <= now_ns);
            far.is_read = true;
            far.socket.iter().for_each(|socket| {
                let _ = rustix::net::shutdown(socket, Shutdown::Both);
            });
        }
    }
}
