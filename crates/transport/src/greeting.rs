//! The greeting at the beginning of every connection, except those that fetch the program. It
//! consists of preambles, the identity under which the peer connects, a Noise handshake, and one
//! encrypted frame from the connecting side. The frame proves that the greeting is not a replayed
//! one, and tells what the connection is for.

use std::io::{self, Read, Write};
use std::time::Duration;

use garland_protocol::{
    Channel, ChannelError, CopyId, FRAME_HEAD, FrameError, Handshake, KeyPair, Line, PREAMBLE_LEN,
    Preamble, PublicKey, Purpose, Role, Secret, VersionError, length_behind,
};
use garland_sys::error::reason;
use garland_sys::socket::TcpStream;
use thiserror::Error;

use crate::limits;
use crate::timed::Timed;

/// The error of a connection: its greeting failed, or it broke.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The connection failed or broke.
    #[error("{reason}", reason = break_reason(.0))]
    Io(#[from] io::Error),
    /// The peer has another protocol version.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// The handshake failed: the peer does not know the key or secret, or was refused.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A frame is not authentic.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Returns the reason why a connection broke, for messages.
pub fn break_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the other end closed it".to_owned(),
        _ => reason(error),
    }
}

/// The keys or the secret with which the ends of a connection authenticate each other.
#[derive(Clone)]
pub enum Credentials<'a> {
    /// A control channel: our key pair, and the public key of the peer.
    Keys(&'a KeyPair, PublicKey),
    /// Any other connection: the ID of a copy, meeting, mount or standing chain, and the secret
    /// that both ends know.
    Secret(CopyId, Secret),
}

impl Credentials<'_> {
    fn shake(&self, role: Role, prologue: &[u8]) -> Result<Handshake, ChannelError> {
        match self {
            Self::Keys(ours, theirs) => Handshake::control(role, ours, theirs, prologue),
            Self::Secret(_, secret) => Handshake::link(role, secret, prologue),
        }
    }
}

/// The identity under which a peer connects. It proves nothing by itself.
pub enum Claim {
    /// The public key of a controller.
    Controller(PublicKey),
    /// The ID of a copy, meeting, mount or standing chain.
    Member(CopyId),
}

/// A connection whose greeting succeeded.
pub struct Welcomed<T> {
    /// What the connection belongs to, as returned by the `find` of [`Greeting::welcome`].
    pub to: T,
    /// The contents of the peer's first frame.
    pub first: Vec<u8>,
    /// The channel for further frames.
    pub channel: Channel,
}

/// Greets as the connecting side, and returns the channel for further frames. `first` is the
/// contents of the first frame. The peer must answer within `patience`.
pub fn introduce(
    stream: &TcpStream,
    patience: Duration,
    purpose: Purpose,
    credentials: &Credentials<'_>,
    first: &[u8],
) -> Result<Channel, LinkError> {
    let mut peer = Timed::begin(stream, patience)?;
    let preamble = Preamble::ours(purpose).to_bytes();
    let mut shake = credentials.shake(Role::Initiator, &preamble)?;
    let mut hello = preamble.to_vec();
    hello.extend(match credentials {
        Credentials::Keys(ours, _) => &ours.public[..],
        Credentials::Secret(id, _) => &id.0,
    });
    put_message(&mut hello, &shake.write(&[])?);
    peer.write_all(&hello)?;
    Preamble::parse(&peer.read_array()?)?;
    shake.read(&read_message(&mut peer)?)?;
    let mut channel = shake.into_channel()?;
    let mut proof = Vec::new();
    channel.sending.seal(first, &mut proof)?;
    peer.write_all(&proof)?;
    peer.end()?;
    Ok(channel)
}

/// The accepting side of a greeting, after the peer's preamble was read.
pub struct Greeting<'a> {
    peer: Timed<'a>,
    purpose: Purpose,
    preamble: [u8; PREAMBLE_LEN],
}

impl<'a> Greeting<'a> {
    /// Reads the preamble of a peer. If the peer has another version, sends our preamble and fails,
    /// so that the peer can report both versions.
    pub fn begin(stream: &'a TcpStream) -> Result<Self, LinkError> {
        stream.set_nodelay(true)?;
        let mut peer = Timed::begin(stream, limits::GREETING)?;
        let preamble = peer.read_array()?;
        let purpose = match Preamble::parse(&preamble) {
            Err(error @ VersionError::Version { .. }) => {
                peer.write_all(&Preamble::ours(Purpose::Link).to_bytes())?;
                return Err(error.into());
            }
            parsed => parsed?.purpose,
        };
        Ok(Self { peer, purpose, preamble })
    }

    /// Returns what the connection is for.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Reads the ticket of a peer that fetches the program: such a connection has no further
    /// greeting. The timeouts for reading and writing remain on the connection.
    pub fn ticket<const LENGTH: usize>(mut self) -> Result<[u8; LENGTH], LinkError> {
        let ticket = self.peer.read_array()?;
        self.peer.stream().set_read_timeout(Some(limits::GREETING))?;
        Ok(ticket)
    }

    /// Answers the greeting. `find` returns the credentials of the claimed identity and what the
    /// connection belongs to; `None` refuses the peer. `find` may wait briefly for the order that
    /// announces the connection; this time does not count against the peer.
    pub fn welcome<'k, T>(
        mut self,
        find: impl FnOnce(Claim) -> Option<(Credentials<'k>, T)>,
    ) -> Result<Welcomed<T>, LinkError> {
        let claim = match self.purpose {
            Purpose::Control => Claim::Controller(self.peer.read_array()?),
            _ => Claim::Member(CopyId(self.peer.read_array()?)),
        };
        let hello = read_message(&mut self.peer)?;
        let (credentials, to) = self.peer.aside(|| find(claim)).ok_or(ChannelError::Refused)?;
        let mut shake = credentials.shake(Role::Responder, &self.preamble)?;
        shake.read(&hello)?;
        let mut answer = Preamble::ours(self.purpose).to_bytes().to_vec();
        put_message(&mut answer, &shake.write(&[])?);
        self.peer.write_all(&answer)?;
        let mut channel = shake.into_channel()?;
        // Only the owner of the key or secret can send this frame: the peer's first message may be a
        // replayed one.
        let first = read_frame(&mut self.peer, &mut channel.receiving);
        let first = first.map_err(|_| ChannelError::Refused)?;
        self.peer.end()?;
        Ok(Welcomed { to, first, channel })
    }
}

/// Appends a handshake message to `out`, after its length (two bytes, little endian).
fn put_message(out: &mut Vec<u8>, message: &[u8]) {
    let length = u16::try_from(message.len()).expect("a handshake message is shorter than 64 KiB");
    out.extend(length.to_le_bytes());
    out.extend(message);
}

/// Reads a message of the handshake.
fn read_message(peer: &mut Timed<'_>) -> Result<Vec<u8>, LinkError> {
    let length = usize::from(u16::from_le_bytes(peer.read_array()?));
    if length > limits::MESSAGE {
        return Err(ChannelError::TooLong(length, limits::MESSAGE).into());
    }
    let mut message = vec![0; length];
    peer.read_exact(&mut message)?;
    Ok(message)
}

/// Reads the first frame of a peer, and returns its contents.
fn read_frame(peer: &mut Timed<'_>, line: &mut Line) -> Result<Vec<u8>, LinkError> {
    let head: [u8; FRAME_HEAD] = peer.read_array()?;
    let mut frame = head.to_vec();
    frame.resize(FRAME_HEAD + length_behind(head, limits::MESSAGE)?, 0);
    peer.read_exact(&mut frame[FRAME_HEAD..])?;
    Ok(line.open(&mut frame)?.ok_or(ChannelError::Garbage)?)
}

#[cfg(test)]
mod tests;
