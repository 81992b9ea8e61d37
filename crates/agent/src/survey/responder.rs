//! Answers probes: datagrams are counted or echoed in short form, connections are measured. Answers
//! are shorter than requests, so that they cannot amplify a stranger's traffic.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use garland_sys::datagram::DatagramSocket;
use garland_sys::event::{self, Wake};
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpListener;
use garland_sys::sync::Mutex;
use garland_sys::tcp;
use garland_sys::threads::{self, Joined, Slots};

use super::rate;

/// A datagram that requests an answer: this byte, a number of 4 bytes, and padding.
pub const ECHO: u8 = b'e';
/// A datagram that is counted: this byte and the number of its burst in 4 bytes.
const BURST: u8 = b'b';

/// The maximum number of bursts whose counts are kept.
const BURSTS: usize = 64;

/// The maximum number of connections that are measured at a time.
const CONNECTIONS: usize = 64;

/// The maximum number of datagrams of a burst.
const MOST: u32 = 10_000;

/// Ports that answer probes until this value is dropped.
pub struct Responder {
    /// The UDP port for datagrams and the TCP port for connections.
    pub ports: (u16, u16),
    counts: Arc<Mutex<BTreeMap<u32, u32>>>,
    end: Arc<Wake>,
    threads: Vec<Joined>,
}

impl Responder {
    /// Opens a free UDP port and a free TCP port, and starts the threads that answer on them.
    pub fn open() -> io::Result<Self> {
        let (datagrams, listener) =
            (DatagramSocket::open(0, None)?, tcp::listen(0, Transport::Tcp)?);
        listener.set_nonblocking(true)?;
        let ports = (datagrams.port()?, listener.local_addr()?.port());
        let (counts, end): (Arc<Mutex<_>>, _) = (Arc::default(), Arc::new(Wake::new()?));
        let mut responder = Self { ports, counts, end, threads: Vec::new() };
        let own = (Arc::clone(&responder.counts), Arc::clone(&responder.end));
        let echo = threads::spawn("echo", move || answer(&datagrams, &own.0, &own.1))?;
        responder.threads.push(echo.into());
        let own = Arc::clone(&responder.end);
        let sink = threads::spawn("sink", move || accept(&listener, &own))?;
        responder.threads.push(sink.into());
        Ok(responder)
    }

    /// Returns the number of datagrams of the burst with number `burst` that have arrived, and
    /// forgets that burst.
    pub fn take(&mut self, burst: u32) -> u32 {
        self.counts.lock().remove(&burst).unwrap_or(0)
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.end.raise();
        self.threads.clear();
    }
}

/// Sends a burst of `count` small datagrams. Returns the number that this node's kernel accepted.
pub fn burst(to: SocketAddrV4, number: u32, count: u32) -> io::Result<u32> {
    // The number of datagrams that all queues accept at once.
    const TOGETHER: u32 = 20;
    let socket = DatagramSocket::open(0, None)?;
    let mut bytes = vec![BURST];
    bytes.extend(number.to_le_bytes());
    let mut sent = 0;
    for place in 0..count.min(MOST) {
        sent += u32::from(socket.send(&bytes, to).is_ok());
        if place % TOGETHER == TOGETHER - 1 {
            threads::sleep(Duration::from_millis(1));
        }
    }
    Ok(sent)
}

fn answer(socket: &DatagramSocket, counts: &Mutex<BTreeMap<u32, u32>>, end: &Wake) {
    let mut buffer = vec![0; 65_536];
    loop {
        let Ok(ready) = event::wait_readable(&[end.as_fd(), socket.as_fd()], None) else { return };
        if ready[0] {
            return;
        }
        while let Ok(arrival) = socket.receive(&mut buffer) {
            let Some((&kind, rest)) = buffer[..arrival.length].split_first() else { continue };
            let Some(&number) = rest.first_chunk::<4>() else { continue };
            match kind {
                ECHO => {
                    // Answer over the interface on which the datagram arrived: routing may choose
                    // another one.
                    let _ = socket.send_by(arrival.interface, &number, arrival.from);
                }
                BURST => {
                    let mut counts = counts.lock();
                    *counts.entry(u32::from_le_bytes(number)).or_default() += 1;
                    if counts.len() > BURSTS {
                        counts.pop_first();
                    }
                }
                _ => {}
            }
        }
    }
}

fn accept(listener: &TcpListener, end: &Wake) {
    let slots = Slots::new(CONNECTIONS);
    loop {
        let Ok(ready) = event::wait_readable(&[end.as_fd(), listener.as_fd()], None) else {
            return;
        };
        if ready[0] {
            return;
        }
        let Ok((stream, _)) = listener.accept() else { continue };
        let Some(slot) = slots.take() else { continue };
        // The thread ends by itself in a bounded time. Without a thread the connection is closed.
        let _ = threads::spawn("rate", move || {
            let _slot = slot;
            // Errors are ignored: a sender that is gone needs no rate.
            let _ = rate::receive(stream);
        });
    }
}
