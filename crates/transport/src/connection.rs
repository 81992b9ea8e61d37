//! Control channels: the connections from the head to its agents. Their sockets are non-blocking,
//! so that one loop can serve all agents. If a connection breaks, its session can continue over
//! another one ([`Redial`]).

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use crate::dial::{ConnectionError, Dial, Renewed, Timeouts};
use crate::redial::Redial;
use garland_protocol::wire::{
    Channel, Delivered, Delivery, KeyPair, PublicKey, SessionId, SessionOrder,
};
use garland_protocol::{FromAgent, Message, ToAgent};
use garland_sys::event::Wake;
use garland_sys::socket::TcpStream;
use garland_sys::{clock, random, tcp};

/// The control channel of a session with one agent. Dropping this value ends the session.
pub struct Connection {
    stream: TcpStream,
    channel: Channel,
    dial: Dial,
    delivery: Delivery,
    received: Vec<u8>,
    /// The time of the last [`Self::receive`], in monotonic nanoseconds; 0 before the first one.
    read_ns: u64,
    /// The time at which the last bytes were received, in monotonic nanoseconds.
    heard_ns: u64,
    unsent: Vec<u8>,
    is_broken: bool,
}

/// Connects to the agent at `address`, which must have the public key `theirs`. `ours` is the
/// head's key pair. `timeout` applies to the TCP connection, and again to the greeting.
///
/// # Errors
/// When nothing answers in time, the version differs, or the agent does not have that key.
pub fn connect_agent(
    address: SocketAddr,
    ours: &KeyPair,
    theirs: &PublicKey,
    timeout: Duration,
) -> Result<Connection, ConnectionError> {
    let session = SessionId(random::bytes());
    let dial = Dial { address, ours: ours.clone(), theirs: *theirs, session };
    let open = ToAgent::Session(SessionOrder::Open(session));
    let (stream, channel) = dial.greet(Timeouts { connect: timeout, answer: timeout }, &open)?;
    Connection::new(dial, stream, channel)
}

impl Connection {
    fn new(dial: Dial, stream: TcpStream, channel: Channel) -> Result<Self, ConnectionError> {
        prepare(&stream)?;
        Ok(Self {
            stream,
            channel,
            dial,
            delivery: Delivery::default(),
            received: Vec::new(),
            read_ns: 0,
            heard_ns: clock::now_ns(),
            unsent: Vec::new(),
            is_broken: false,
        })
    }

    /// Sends a message. Bytes that the socket does not accept are kept for [`Self::flush`]. While
    /// the connection is broken, the message waits for [`Self::renew`].
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn send(&mut self, message: &ToAgent) -> Result<(), ConnectionError> {
        let frame = self.delivery.send(message.to_bytes());
        self.send_frame(&frame)
    }

    fn send_frame(&mut self, frame: &[u8]) -> Result<(), ConnectionError> {
        if self.is_broken {
            return Ok(());
        }
        let sealed = self.channel.sending.seal(frame, &mut self.unsent);
        sealed.map_err(|_| ConnectionError::Garbage)?;
        self.flush()
    }

    /// Sends bytes that [`Self::send`] kept, until all are sent or the socket accepts no more.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn flush(&mut self) -> Result<(), ConnectionError> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_broken = true;
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    /// Returns whether [`Self::send`] kept bytes, so that [`Self::flush`] must be called.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty() && !self.is_broken
    }

    /// Returns whether the connection broke: [`Self::renew`] continues its session.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Returns the messages that have arrived, without waiting. If more than 256 KiB have arrived,
    /// the rest is left for the next call.
    ///
    /// # Errors
    /// When a message is invalid, the connection broke, or the agent closed it. Messages that
    /// arrived before the end of the connection are returned first; then the connection is broken,
    /// or the next call fails.
    pub fn receive(&mut self) -> Result<Vec<FromAgent>, ConnectionError> {
        let mut buffer = [0; 16 << 10];
        let mut end = None;
        let mut is_heard = false;
        // Bounded, so that one busy agent cannot starve the others.
        for _ in 0..16 {
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    end = Some(ConnectionError::Gone);
                    break;
                }
                Ok(read) => {
                    is_heard = true;
                    self.received.extend(&buffer[..read]);
                    // Whoever waits for the socket is told if more has come meanwhile.
                    if read < buffer.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    end = Some(error.into());
                    break;
                }
            }
        }
        self.read_ns = clock::now_ns();
        if is_heard {
            self.heard_ns = self.read_ns;
        }
        let mut messages = Vec::new();
        loop {
            let frame = match self.channel.receiving.open(&mut self.received) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(_) => {
                    self.is_broken = true;
                    end = Some(ConnectionError::Changed);
                    break;
                }
            };
            match self.delivery.receive(&frame).map_err(|_| ConnectionError::Garbage)? {
                Delivered::Message(bytes) => {
                    match FromAgent::parse(bytes).ok_or(ConnectionError::Garbage)? {
                        FromAgent::Refused(why) => return Err(ConnectionError::Refused(why)),
                        message => messages.push(message),
                    }
                }
                Delivered::Nothing => {}
            }
        }
        match end {
            Some(error) if messages.is_empty() => {
                self.is_broken = true;
                Err(error)
            }
            _ => {
                if let Some(frame) = self.delivery.acknowledge() {
                    // A break is reported by the next call.
                    let _ = self.send_frame(&frame);
                }
                Ok(messages)
            }
        }
    }

    /// Returns how long nothing has arrived, in nanoseconds.
    #[must_use]
    pub fn silent_ns(&self) -> u64 {
        clock::now_ns().saturating_sub(self.heard_ns)
    }

    /// Starts to open another connection for the session, for at most `patience`. `done` is raised
    /// at the end.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn redial(&self, patience: Duration, done: Arc<Wake>) -> io::Result<Redial> {
        Redial::begin(self.dial.clone(), self.delivery.received(), patience, done)
    }

    /// Continues the session over another connection, and sends again what has not arrived.
    ///
    /// # Errors
    /// When the agent did not receive what it says, or the connection breaks.
    pub fn renew(&mut self, renewed: Renewed) -> Result<(), ConnectionError> {
        let Renewed { stream, channel, received, arrived } = renewed;
        prepare(&stream)?;
        (self.stream, self.channel, self.received) = (stream, channel, received);
        self.unsent.clear();
        (self.is_broken, self.heard_ns) = (false, clock::now_ns());
        let frames = self.delivery.resume(arrived).map_err(|_| ConnectionError::Garbage)?;
        frames.iter().try_for_each(|frame| self.send_frame(frame))
    }

    /// Returns the time of the last [`Self::receive`], in monotonic nanoseconds: its messages had
    /// arrived by then.
    #[must_use]
    pub fn read_ns(&self) -> u64 {
        self.read_ns
    }

    /// Returns the public key of the agent.
    #[must_use]
    pub fn key(&self) -> PublicKey {
        self.dial.theirs
    }

    /// Returns this host's own address on the route to the agent.
    ///
    /// # Errors
    /// When the connection broke.
    pub fn own_address(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }
}

/// Prepares the socket of a control channel.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    tcp::keep_alive(stream)
}

impl Drop for Connection {
    /// Tells the agent that the session is over; otherwise it would wait for another connection if
    /// this one ends with a reset.
    fn drop(&mut self) {
        // The agent notices the end of the connection in any case.
        let _ = self.send(&ToAgent::Session(SessionOrder::Leave));
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Asserts that connecting to an agent that exits fails with "connection refused".
    fn assert_refused(address: SocketAddr, dying: std::thread::JoinHandle<()>) {
        let connected =
            connect_agent(address, &KeyPair::generate(), &[7; 32], Duration::from_secs(10));
        dying.join().expect("it ends");
        let Err(ConnectionError::Connect(_, error)) = connected else {
            panic!("{:?}", connected.err());
        };
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    /// Linux resets a connection whose process exits with unread input.
    #[test]
    fn a_reset_by_an_ending_process_is_reported_as_a_refused_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let dying = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("the connection");
            let mut byte = [0];
            let _ = stream.peek(&mut byte).expect("the greeting has come");
            drop((listener, stream));
        });
        assert_refused(address, dying);
    }

    /// Linux also resets connections that no process has accepted yet, if the listening socket is
    /// closed: some before their `connect` returns.
    #[test]
    fn a_reset_by_a_closed_listener_is_reported_as_a_refused_connection() {
        for _ in 0..100 {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr().expect("its address");
            assert_refused(address, std::thread::spawn(move || drop(listener)));
        }
    }
}
