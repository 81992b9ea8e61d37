//! Control channels: the connections from the head to its agents. Their sockets are non-blocking,
//! so that one loop can serve all agents. If a connection breaks, its session can continue over
//! another one ([`Redial`]).

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use garland_protocol::wire::{
    Channel, Delivered, Delivery, KeyPair, PublicKey, SessionId, SessionOrder,
};
use garland_protocol::{FromAgent, Message, ToAgent};
use garland_sys::event::Wake;
use garland_sys::socket::TcpStream;
use garland_sys::tcp_info::TcpInfo;
use garland_sys::{clock, random, tcp};

use crate::dial::{ConnectionError, Dial, Renewed, Timeouts};
use crate::redial::Redial;

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
        self.write_unsent()
    }

    /// Tells the agent what has arrived, if it is due, and the socket has accepted all that was
    /// sent before: an agent that sends without end and reads nothing gets one acknowledgement for
    /// all.
    fn acknowledge(&mut self) -> Result<(), ConnectionError> {
        if !self.unsent.is_empty() {
            return Ok(());
        }
        match self.delivery.acknowledge() {
            Some(frame) => self.send_frame(&frame),
            None => Ok(()),
        }
    }

    /// Sends bytes that [`Self::send`] kept, until all are sent or the socket accepts no more.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn flush(&mut self) -> Result<(), ConnectionError> {
        self.write_unsent()?;
        self.acknowledge()
    }

    fn write_unsent(&mut self) -> Result<(), ConnectionError> {
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

    /// Returns the memory in bytes of what was sent, and not acknowledged by the other side.
    #[must_use]
    pub fn unacknowledged(&self) -> usize {
        self.delivery.kept_bytes()
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
        let mut frames = Vec::new();
        if self.channel.receiving.open_all(&mut self.received, &mut frames).is_err() {
            self.is_broken = true;
            end = Some(ConnectionError::Changed);
        }
        let mut messages = Vec::new();
        for frame in frames {
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
                // A break is reported by the next call.
                let _ = self.acknowledge();
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

    /// Returns the time of a round trip to the agent, without that in queues; `None` if the kernel
    /// does not tell it.
    pub fn round_trip(&self) -> Option<Duration> {
        TcpInfo::read(&self.stream).ok().map(|info| info.least_round_trip)
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

    use garland_protocol::wire::{Handshake, Secret, Side};
    use garland_sys::socket::pair;

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

    /// A connection to an agent that this test plays: its socket and its channel.
    fn connected() -> (Connection, TcpStream, Channel) {
        let secret = Secret([1; 32]);
        let mut shakes = [Side::Initiator, Side::Responder]
            .map(|side| Handshake::link(side, &secret, &[0; 32]).unwrap());
        let asked = shakes[0].write(&[]).unwrap();
        let _ = shakes[1].read(&asked).unwrap();
        let answer = shakes[1].write(&[]).unwrap();
        let _ = shakes[0].read(&answer).unwrap();
        let [ours, theirs] = shakes.map(|shake| shake.into_channel().unwrap());
        let (near, far) = pair().unwrap();
        let keys = KeyPair::generate();
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let session = SessionId([3; 16]);
        let dial = Dial { address, ours: keys, theirs: [7; 32], session };
        (Connection::new(dial, near, ours).unwrap(), far, theirs)
    }

    /// The frames of `count` messages of an agent, of which the first has the number `first`.
    fn frames(channel: &mut Channel, first: u64, count: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let message = FromAgent::Clock(1, 2, 3).to_bytes();
        for number in first..first + count {
            let frame = [&number.to_le_bytes()[..], &0_u64.to_le_bytes(), &message].concat();
            channel.sending.seal(&frame, &mut bytes).unwrap();
        }
        bytes
    }

    #[test]
    fn an_agent_that_reads_nothing_gets_one_acknowledgement_for_all_that_it_sends() {
        const ROUNDS: u64 = 100;
        const MESSAGES: u64 = 200;
        let (mut connection, mut far, mut channel) = connected();
        let long = ToAgent::Input(vec![b'x'; 60_000]);
        while !connection.has_unsent() {
            connection.send(&long).unwrap();
        }
        let unsent = connection.unsent.len();
        for round in 0..ROUNDS {
            let bytes = frames(&mut channel, 1 + round * MESSAGES, MESSAGES);
            far.write_all(&bytes).unwrap();
            let mut heard = 0;
            while heard < MESSAGES {
                heard += connection.receive().unwrap().len() as u64;
            }
        }
        assert_eq!(connection.unsent.len(), unsent, "nothing more is kept for it");
        // Once it reads, it gets the acknowledgement.
        far.set_nonblocking(true).unwrap();
        let mut received = Vec::new();
        let mut told = 0;
        let mut buffer = vec![0; 1 << 20];
        while told < ROUNDS * MESSAGES {
            connection.flush().unwrap();
            match far.read(&mut buffer) {
                Ok(read) => received.extend(&buffer[..read]),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
            let mut numbered = Vec::new();
            channel.receiving.open_all(&mut received, &mut numbered).unwrap();
            for frame in numbered {
                told = u64::from_le_bytes(frame[8..16].try_into().unwrap());
            }
        }
        assert_eq!(told, ROUNDS * MESSAGES);
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
