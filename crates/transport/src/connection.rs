//! Control channels: the connections from the head to its agents. Their sockets are non-blocking,
//! so that one loop can serve all agents.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use garland_protocol::{
    Channel, FromAgent, KeyPair, Message, PublicKey, Purpose, ToAgent, VersionError,
};
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpStream;
use garland_sys::{clock, tcp, threads};
use thiserror::Error;

use crate::greeting::{Credentials, LinkError, introduce};
use garland_sys::error::reason;

/// The error of a control channel: it cannot be opened, or it broke.
#[derive(Debug, Error)]
pub enum ConnectionError {
    /// The TCP connection to this address could not be opened.
    #[error("cannot connect to its agent at {0}: {reason}", reason = reason(.1))]
    Connect(SocketAddr, io::Error),
    /// The agent has another protocol version.
    #[error(transparent)]
    Version(VersionError),
    /// The agent at this address does not have the key with which it was launched.
    #[error("the agent at {0} does not have the key with which it was launched")]
    WrongKey(SocketAddr),
    /// The connection broke.
    #[error("lost the connection to its agent: {reason}", reason = reason(.0))]
    Io(#[from] io::Error),
    /// The agent closed the connection, as it does when it exits.
    #[error("its agent exited or was killed")]
    Gone,
    /// The agent sent an invalid message, or a message to it could not be encrypted.
    #[error("protocol error: its agent sent an invalid message")]
    Garbage,
}

/// An open control channel to one agent.
pub struct Connection {
    stream: TcpStream,
    key: PublicKey,
    channel: Channel,
    received: Vec<u8>,
    /// The time of the last [`Self::receive`], in monotonic nanoseconds; 0 before the first one.
    read_ns: u64,
    unsent: Vec<u8>,
}

/// Connects to the agent at `address`, which must have the public key `theirs`. `ours` is the
/// head's key pair. `timeout` applies to the TCP connection, and again to the greeting.
///
/// While a process is being killed, its listening socket stays open for a moment: the kernel
/// accepts a connection and resets it. So a connection that is reset is tried again.
///
/// # Errors
/// When nothing answers in time, the version differs, or the agent does not have that key.
pub fn connect_agent(
    address: SocketAddr,
    ours: &KeyPair,
    theirs: &PublicKey,
    timeout: Duration,
) -> Result<Connection, ConnectionError> {
    for _ in 0..RESETS {
        match greet(address, ours, theirs, timeout) {
            Err(ConnectionError::Io(error)) if is_reset(&error) => threads::sleep(AFTER_RESET),
            ended => return ended,
        }
    }
    greet(address, ours, theirs, timeout)
}

/// The number of further attempts after a connection was reset during the greeting.
const RESETS: u32 = 3;

/// The time between attempts, in which a killed process closes its sockets.
const AFTER_RESET: Duration = Duration::from_millis(20);

fn is_reset(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

fn greet(
    address: SocketAddr,
    ours: &KeyPair,
    theirs: &PublicKey,
    timeout: Duration,
) -> Result<Connection, ConnectionError> {
    let stream = tcp::connect(address, timeout, Transport::Tcp)
        .map_err(|error| ConnectionError::Connect(address, error))?;
    let wrong = |error: LinkError| match error {
        LinkError::Version(error) => ConnectionError::Version(error),
        LinkError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            ConnectionError::WrongKey(address)
        }
        LinkError::Io(error) => ConnectionError::Io(error),
        LinkError::Channel(_) | LinkError::Frame(_) => ConnectionError::WrongKey(address),
    };
    let (credentials, first) = (Credentials::Keys(ours, *theirs), ToAgent::Ping.to_bytes());
    let channel = introduce(&stream, timeout, Purpose::Control, &credentials, &first);
    let channel = channel.map_err(wrong)?;
    stream.set_nonblocking(true)?;
    tcp::keep_alive(&stream)?;
    let (received, unsent) = (Vec::new(), Vec::new());
    Ok(Connection { stream, key: *theirs, channel, received, read_ns: 0, unsent })
}

impl Connection {
    /// Sends a message. Bytes that the socket does not accept are kept for [`Self::flush`].
    ///
    /// # Errors
    /// When the connection broke.
    pub fn send(&mut self, message: &ToAgent) -> Result<(), ConnectionError> {
        self.channel
            .sending
            .seal(&message.to_bytes(), &mut self.unsent)
            .map_err(|_| ConnectionError::Garbage)?;
        self.flush()
    }

    /// Sends bytes that [`Self::send`] kept, until all are sent or the socket accepts no more.
    ///
    /// # Errors
    /// When the connection broke.
    pub fn flush(&mut self) -> Result<(), ConnectionError> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Returns whether [`Self::send`] kept bytes, so that [`Self::flush`] must be called.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Returns the messages that have arrived, without waiting. If more than 256 KiB have arrived,
    /// the rest is left for the next call.
    ///
    /// # Errors
    /// When a message is invalid, the connection broke, or the agent closed it. Messages that
    /// arrived before the end of the connection are returned first; the next call then fails.
    pub fn receive(&mut self) -> Result<Vec<FromAgent>, ConnectionError> {
        let mut buffer = [0; 16 << 10];
        let mut end = None;
        // Bounded, so that one busy agent cannot starve the others.
        for _ in 0..16 {
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    end = Some(ConnectionError::Gone);
                    break;
                }
                Ok(read) => self.received.extend(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    end = Some(error.into());
                    break;
                }
            }
        }
        self.read_ns = clock::now_ns();
        let mut messages = Vec::new();
        while let Some(bytes) =
            self.channel.receiving.open(&mut self.received).map_err(|_| ConnectionError::Garbage)?
        {
            messages.push(FromAgent::parse(&bytes).ok_or(ConnectionError::Garbage)?);
        }
        match end {
            Some(error) if messages.is_empty() => Err(error),
            _ => Ok(messages),
        }
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
        self.key
    }

    /// Returns this host's own address on the route to the agent.
    ///
    /// # Errors
    /// When the connection broke.
    pub fn own_address(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
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
        let connected =
            connect_agent(address, &KeyPair::generate(), &[7; 32], Duration::from_secs(10));
        dying.join().expect("it ends");
        let Err(ConnectionError::Connect(_, error)) = connected else {
            panic!("{:?}", connected.err());
        };
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
