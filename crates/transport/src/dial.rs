//! Dials an agent: opens a connection for a new session, or another one for a session that goes on.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::time::Duration;

use garland_protocol::wire::{
    Channel, KeyPair, PublicKey, Purpose, SessionId, SessionOrder, VersionError,
};
use garland_protocol::{FromAgent, Message, ToAgent};
use garland_sys::error::reason;
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpStream;
use garland_sys::{clock, threads};
use thiserror::Error;

use crate::detour;
use crate::greeting::{Credentials, LinkError, introduce};
use crate::limits;

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
    /// A frame is not the next one that the agent sent: it was changed in transit.
    #[error("lost the connection to its agent: a message was changed in transit")]
    Changed,
    /// The agent ended the session; contains why.
    #[error("its agent refused: {0}")]
    Refused(String),
    /// The agent sent an invalid message, or a message to it could not be encrypted.
    #[error("protocol error: its agent sent an invalid message")]
    Garbage,
}

/// The address of an agent, the keys of both sides, and the session to open.
#[derive(Clone)]
pub(crate) struct Dial {
    pub(crate) address: SocketAddr,
    pub(crate) ours: KeyPair,
    pub(crate) theirs: PublicKey,
    pub(crate) session: SessionId,
}

/// How long a greeting may take.
#[derive(Clone, Copy)]
pub(crate) struct Timeouts {
    /// The time in which the TCP connection must be open.
    pub(crate) connect: Duration,
    /// The time in which the agent must answer the greeting.
    pub(crate) answer: Duration,
}

/// A new connection of a session.
pub struct Renewed {
    pub(crate) stream: TcpStream,
    pub(crate) channel: Channel,
    /// The bytes that have arrived after the agent's reply.
    pub(crate) received: Vec<u8>,
    /// The number of the head's messages that have arrived at the agent.
    pub(crate) arrived: u64,
}

/// The time between two attempts after a connection was reset, at first; it doubles up to the
/// maximum.
const RESET_PAUSE_MIN: Duration = Duration::from_millis(20);
const RESET_PAUSE_MAX: Duration = Duration::from_millis(160);

/// How long connections that are reset are tried again.
const RESETS_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens a connection to the agent at `address` for `purpose`. `first` is the contents of the first
/// frame.
///
/// A connection that is reset during the greeting is tried again within the timeout. An agent with
/// too many strangers resets some. And while a process is being killed, its listening socket stays
/// open for a moment: the kernel accepts a connection and resets it.
pub(crate) fn greet(
    address: SocketAddr,
    timeouts: Timeouts,
    purpose: Purpose,
    credentials: &Credentials<'_>,
    first: &[u8],
) -> Result<(TcpStream, Channel), ConnectionError> {
    let until_ns = clock::after(timeouts.connect.min(RESETS_TIMEOUT));
    let mut pause = RESET_PAUSE_MIN;
    loop {
        match greet_once(address, timeouts, purpose, credentials, first) {
            Err(error) if is_reset(&error) && !clock::until(until_ns).is_zero() => {
                threads::sleep(pause);
                pause = (2 * pause).min(RESET_PAUSE_MAX);
            }
            ended => return ended,
        }
    }
}

fn is_reset(error: &ConnectionError) -> bool {
    let (ConnectionError::Connect(_, error) | ConnectionError::Io(error)) = error else {
        return false;
    };
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

fn greet_once(
    address: SocketAddr,
    timeouts: Timeouts,
    purpose: Purpose,
    credentials: &Credentials<'_>,
    first: &[u8],
) -> Result<(TcpStream, Channel), ConnectionError> {
    let stream = detour::connect(address, timeouts.connect, Transport::Tcp)
        .map_err(|error| ConnectionError::Connect(address, error))?;
    let wrong = |error: LinkError| match error {
        LinkError::Version(error) => ConnectionError::Version(error),
        // A detour may break where an agent would close the connection.
        LinkError::Io(error)
            if error.kind() == io::ErrorKind::UnexpectedEof && !detour::is_taken(&address) =>
        {
            ConnectionError::WrongKey(address)
        }
        LinkError::Io(error) => ConnectionError::Io(error),
        LinkError::Channel(_) | LinkError::Frame(_) => ConnectionError::WrongKey(address),
    };
    let channel = introduce(&stream, timeouts.answer, purpose, credentials, first);
    Ok((stream, channel.map_err(wrong)?))
}

impl Dial {
    /// Opens a connection whose first message is `first`.
    pub(crate) fn greet(
        &self,
        timeouts: Timeouts,
        first: &ToAgent,
    ) -> Result<(TcpStream, Channel), ConnectionError> {
        let credentials = Credentials::Keys(&self.ours, self.theirs);
        greet(self.address, timeouts, Purpose::Control, &credentials, &first.to_bytes())
    }

    /// Opens another connection for the session, of whose messages `arrived` have arrived here.
    /// `timeout` applies to the TCP connection.
    pub(crate) fn resume(
        &self,
        arrived: u64,
        timeout: Duration,
    ) -> Result<Renewed, ConnectionError> {
        let resume = ToAgent::Session(SessionOrder::Resume(self.session, arrived));
        let timeouts = Timeouts { connect: timeout, answer: limits::ANSWER };
        let (mut stream, mut channel) = self.greet(timeouts, &resume)?;
        stream.set_read_timeout(Some(limits::ANSWER))?;
        let mut received = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let frame = channel.receiving.open(&mut received);
            if let Some(bytes) = frame.map_err(|_| ConnectionError::Garbage)? {
                let Some(FromAgent::Resumed(arrived)) = FromAgent::parse(&bytes) else {
                    return Err(ConnectionError::Garbage);
                };
                stream.set_read_timeout(None)?;
                return Ok(Renewed { stream, channel, received, arrived });
            }
            match stream.read(&mut buffer)? {
                0 => return Err(ConnectionError::Gone),
                read => received.extend(&buffer[..read]),
            }
        }
    }
}
