//! Answers probes: datagrams are counted or echoed in short form, connections are measured. Answers
//! are shorter than requests, so that they cannot amplify a stranger's traffic.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use garland_sys::datagram::DatagramSocket;
use garland_sys::event::{self, Wake};
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpListener;
use garland_sys::sync::Mutex;
use garland_sys::tcp;
use garland_sys::threads::{self, Joined, Slot, Slots};

use super::rate;

/// A datagram that requests an answer: this byte, a number of 4 bytes, and padding.
pub const ECHO: u8 = b'e';
/// A datagram that is counted: this byte and the number of its burst in 4 bytes.
const BURST: u8 = b'b';

/// The maximum number of connections that are measured at a time.
const MAX_CONNECTIONS: usize = 64;

/// The maximum number of connections of one address that are measured at a time: a node has one,
/// and an earlier one may not have ended yet.
const MAX_CONNECTIONS_OF_ADDRESS: usize = 4;

/// The maximum number of datagrams that a socket is served before the end is looked for, so that a
/// flood cannot keep the thread from ending.
pub(super) const MAX_DATAGRAMS_AT_ONCE: usize = 64;

/// The maximum number of datagrams of a burst.
const MAX_BURST: u32 = 10_000;

/// How often a port is asked for that is free at all addresses.
const CHOICES_MAX: u32 = 32;

/// Ports that answer probes until this value is dropped.
pub struct Responder {
    /// The UDP port for datagrams and the TCP port for connections.
    pub ports: (u16, u16),
    counted: Arc<Mutex<CountedBurst>>,
    end: Arc<Wake>,
    threads: Vec<Joined>,
}

/// The burst that the head asked for last; no other one is counted.
#[derive(Default)]
struct CountedBurst {
    /// Its number; `None` before the first question.
    number: Option<u32>,
    /// Its datagrams that have arrived since the last question.
    arrived: u32,
}

impl Responder {
    /// Opens a free UDP port and a free TCP port at those of `addresses` that are this node's own,
    /// and starts the threads that answer on them.
    pub fn open(addresses: &[Ipv4Addr]) -> io::Result<Self> {
        let datagrams = at_own(addresses, |at, port| {
            let socket = DatagramSocket::open_at(SocketAddrV4::new(at, port))?;
            Ok((socket.port()?, socket))
        })?;
        let listeners = at_own(addresses, |at, port| {
            let listener = tcp::listen_at((at, port).into(), Transport::Tcp)?;
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?.port(), listener))
        })?;
        let ports = (datagrams.port, listeners.port);
        let counted = Arc::default();
        let end = Arc::new(Wake::new()?);
        let mut responder = Self { ports, counted, end, threads: Vec::new() };
        let counted = Arc::clone(&responder.counted);
        let end = Arc::clone(&responder.end);
        let echo = threads::spawn("echo", move || answer(&datagrams.sockets, &counted, &end))?;
        responder.threads.push(echo.into());
        let end = Arc::clone(&responder.end);
        let sink = threads::spawn("sink", move || accept(&listeners.sockets, &end))?;
        responder.threads.push(sink.into());
        Ok(responder)
    }

    /// Returns the number of datagrams of the burst with number `burst` that have arrived since
    /// this was last called with that number; 0 if it was last called with another one. From now on
    /// only datagrams of this burst are counted.
    pub fn take(&self, burst: u32) -> u32 {
        let now = CountedBurst { number: Some(burst), arrived: 0 };
        let before = std::mem::replace(&mut *self.counted.lock(), now);
        if before.number == Some(burst) { before.arrived } else { 0 }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.end.raise();
        self.threads.clear();
    }
}

/// Sockets with one port at several addresses.
struct AtOwn<S> {
    /// The port; 0 without sockets.
    port: u16,
    sockets: Vec<S>,
}

/// Opens sockets with one port, any that is free, at those of `addresses` that are this node's own.
/// `open` returns a socket at an address with its port; port 0 means any free one.
fn at_own<S>(
    addresses: &[Ipv4Addr],
    open: impl Fn(Ipv4Addr, u16) -> io::Result<(u16, S)>,
) -> io::Result<AtOwn<S>> {
    let mut taken = None;
    for _ in 0..CHOICES_MAX {
        match open_all(addresses, &open) {
            // At another address somebody else has the port.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => taken = Some(error),
            opened => return opened,
        }
    }
    Err(taken.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}

fn open_all<S>(
    addresses: &[Ipv4Addr],
    open: impl Fn(Ipv4Addr, u16) -> io::Result<(u16, S)>,
) -> io::Result<AtOwn<S>> {
    let mut all = AtOwn { port: 0, sockets: Vec::new() };
    for &address in addresses {
        match open(address, all.port) {
            Ok((port, socket)) => {
                all.port = port;
                all.sockets.push(socket);
            }
            // The plan is wrong here, which the head finds by the list of NICs.
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Sends a burst of `count` small datagrams. Returns the number that this node's kernel accepted.
pub fn burst(to: SocketAddrV4, number: u32, count: u32) -> io::Result<u32> {
    // The number of datagrams that all queues accept at once.
    const TOGETHER: u32 = 20;
    let socket = DatagramSocket::open(0, None)?;
    let mut bytes = vec![BURST];
    bytes.extend(number.to_le_bytes());
    let mut sent = 0;
    for place in 0..count.min(MAX_BURST) {
        sent += u32::from(socket.send(&bytes, to).is_ok());
        if place % TOGETHER == TOGETHER - 1 {
            threads::sleep(Duration::from_millis(1));
        }
    }
    Ok(sent)
}

/// Calls `serve` with each of `sockets` that has something, until `end` is raised.
fn attend<S: AsFd>(sockets: &[S], end: &Wake, mut serve: impl FnMut(&S)) {
    let fds: Vec<_> = std::iter::once(end.as_fd()).chain(sockets.iter().map(S::as_fd)).collect();
    loop {
        let Ok(ready) = event::wait_readable(&fds, None) else { return };
        let [ended, ready @ ..] = &ready[..] else { return };
        if *ended {
            return;
        }
        let with = sockets.iter().zip(ready).filter(|(_, is_ready)| **is_ready);
        with.for_each(|(socket, _)| serve(socket));
    }
}

fn answer(sockets: &[DatagramSocket], counted: &Mutex<CountedBurst>, end: &Wake) {
    let mut buffer = vec![0; 65_536];
    attend(sockets, end, |socket| answer_some(socket, &mut buffer, counted));
}

/// Answers or counts the datagrams that have arrived at `socket`, up to [`MAX_DATAGRAMS_AT_ONCE`].
fn answer_some(socket: &DatagramSocket, buffer: &mut [u8], counted: &Mutex<CountedBurst>) {
    for _ in 0..MAX_DATAGRAMS_AT_ONCE {
        let Ok(arrival) = socket.receive(buffer) else { return };
        let Some((&kind, rest)) = buffer[..arrival.length].split_first() else { continue };
        let Some(&number) = rest.first_chunk::<4>() else { continue };
        match kind {
            ECHO => {
                // Answer over the interface on which the datagram arrived: routing may choose
                // another one.
                let _ = socket.send_by(arrival.interface, &number, arrival.from);
            }
            BURST => {
                let mut counted = counted.lock();
                if counted.number == Some(u32::from_le_bytes(number)) {
                    counted.arrived = counted.arrived.saturating_add(1);
                }
            }
            _ => {}
        }
    }
}

/// The connections that are measured, in all and of each address.
struct Admission {
    slots: Arc<Slots>,
    of_addresses: BTreeMap<IpAddr, Arc<Slots>>,
}

impl Admission {
    fn new() -> Self {
        Self { slots: Slots::new(MAX_CONNECTIONS), of_addresses: BTreeMap::new() }
    }

    /// Returns the slots of a connection from `address`; `None` if there are too many.
    fn admit(&mut self, address: IpAddr) -> Option<[Slot; 2]> {
        // The slots of an address that only this map has are all free.
        self.of_addresses.retain(|_, slots| Arc::strong_count(slots) > 1);
        let new = || Slots::new(MAX_CONNECTIONS_OF_ADDRESS);
        let of_address = self.of_addresses.entry(address).or_insert_with(new).take()?;
        Some([of_address, self.slots.take()?])
    }
}

fn accept(listeners: &[TcpListener], end: &Wake) {
    let mut admission = Admission::new();
    attend(listeners, end, |listener| {
        let Ok((stream, from)) = listener.accept() else { return };
        let Some(slots) = admission.admit(from.ip()) else { return };
        // The thread ends by itself in a bounded time. Without a thread the connection is closed.
        let _ = threads::spawn("rate", move || {
            let _slots = slots;
            // Errors are ignored: a sender that is gone needs no rate.
            let _ = rate::receive(stream);
        });
    });
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    const OWN: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

    #[test]
    fn a_stranger_cannot_hold_the_connections_of_the_nodes() {
        let mut admission = Admission::new();
        let [stranger, node] = [9, 3].map(|last| IpAddr::from([127, 0, 0, last]));
        let held: Vec<_> = (0..MAX_CONNECTIONS).filter_map(|_| admission.admit(stranger)).collect();
        assert_eq!(held.len(), MAX_CONNECTIONS_OF_ADDRESS);
        assert!(admission.admit(node).is_some());
        drop(held);
        assert!(admission.admit(stranger).is_some());
        assert!(admission.of_addresses.len() <= 2);
    }

    #[test]
    fn only_the_burst_that_was_asked_for_is_counted() {
        let socket = DatagramSocket::open_at(SocketAddrV4::new(OWN, 0)).unwrap();
        let to = SocketAddrV4::new(OWN, socket.port().unwrap());
        for number in [6, 7, 8, 1_000] {
            assert_eq!(burst(to, number, 10).unwrap(), 10);
        }
        let counted = Mutex::new(CountedBurst { number: Some(7), arrived: 0 });
        answer_some(&socket, &mut [0; 64], &counted);
        assert_eq!(counted.lock().arrived, 10);
        assert!(socket.receive(&mut [0; 64]).is_err());
    }

    #[test]
    fn a_flood_does_not_keep_the_thread_from_looking_for_the_end() {
        let socket = DatagramSocket::open_at(SocketAddrV4::new(OWN, 0)).unwrap();
        let to = SocketAddrV4::new(OWN, socket.port().unwrap());
        let count = u32::try_from(MAX_DATAGRAMS_AT_ONCE).unwrap() + 1;
        assert_eq!(burst(to, 7, count).unwrap(), count);
        let counted = Mutex::new(CountedBurst { number: Some(7), arrived: 0 });
        let mut buffer = [0; 64];
        answer_some(&socket, &mut buffer, &counted);
        assert_eq!(counted.lock().arrived, count - 1);
        assert!(socket.receive(&mut buffer).is_ok());
    }

    #[test]
    fn probes_are_answered_at_the_addresses_that_were_asked_for_and_no_others() {
        let one = Ipv4Addr::new(127, 0, 0, 3);
        let other = Ipv4Addr::new(127, 0, 0, 4);
        let nobodys = Ipv4Addr::new(192, 0, 2, 1);
        let responder = Responder::open(&[one, other, nobodys]).unwrap();
        let (udp, tcp) = responder.ports;
        for (address, is_served) in [(one, true), (other, true), (Ipv4Addr::LOCALHOST, false)] {
            assert_eq!(TcpStream::connect((address, tcp)).is_ok(), is_served, "{address}");
            // Whoever has the port at an address keeps others from it.
            let taken = DatagramSocket::open_at(SocketAddrV4::new(address, udp)).is_err();
            assert_eq!(taken, is_served, "{address}");
        }
    }
}
