//! The greeting at the beginning of every connection, except those that fetch the program. It
//! consists of preambles, the identity under which the peer connects, a Noise handshake, and one
//! encrypted frame from the connecting side. The frame proves that the greeting is not a replayed
//! one, and tells what the connection is for.
//!
//! The connecting side knows its peer, and waits. The accepting side is a machine that takes bytes as
//! they come, so that one loop greets all peers and strangers cost no thread.

use std::io::{self, Read, Write};
use std::time::Duration;

use garland_protocol::{
    Channel, ChannelError, CopyId, FRAME_HEAD, FrameError, Handshake, KeyPair, PREAMBLE_LEN,
    Preamble, PublicKey, Purpose, Secret, Side, VersionError, length_behind,
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
    fn shake(&self, side: Side, prologue: &[u8]) -> Result<Handshake, ChannelError> {
        match self {
            Self::Keys(ours, theirs) => Handshake::control(side, ours, theirs, prologue),
            Self::Secret(_, secret) => Handshake::link(side, secret, prologue),
        }
    }
}

/// The length of a ticket for the program on the wire in bytes. Tickets are hexadecimal, because
/// shells print them.
pub const TICKET_LEN: usize = 64;

/// The identity under which a peer connects.
pub enum Claim {
    /// The public key of a controller. It proves nothing by itself.
    Controller(PublicKey),
    /// The ID of a copy, meeting, mount or standing chain. It proves nothing by itself.
    Member(CopyId),
    /// The ticket of a node that fetches the program.
    Ticket([u8; TICKET_LEN]),
}

/// What is known of a claimed identity.
pub enum Found<'k, T> {
    /// The peer must prove that it has these credentials; then the connection belongs to `T`.
    Member(Credentials<'k>, T),
    /// The ticket is valid.
    Ticket,
    /// Nothing yet: the order that announces the connection may still come, within this time.
    Later(Duration),
    /// Nothing: the peer is refused.
    Nothing,
}

/// A peer whose greeting succeeded.
pub enum Guest<T> {
    /// A peer that has proved its identity.
    Member(Welcomed<T>),
    /// A node that fetches the program, with a valid ticket. It is sent no frames.
    Ticket([u8; TICKET_LEN]),
}

/// A connection whose greeting succeeded.
pub struct Welcomed<T> {
    /// What the connection belongs to.
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
    let mut shake = credentials.shake(Side::Initiator, &preamble)?;
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

/// The accepting side of a greeting, without a socket. Only received bytes are kept, at most a
/// preamble, an identity and a message.
pub struct Greeting<T> {
    received: Vec<u8>,
    /// What the connection belongs to, and its channel, while the peer's first frame is awaited.
    proving: Option<(T, Channel)>,
}

/// The next step of a greeting.
pub enum Step<T> {
    /// Send these bytes, then receive what is wanted.
    Answer(Vec<u8>),
    /// The order that announces the connection may still come: proceed when there is a new one, and
    /// refuse the peer after this time.
    Wait(Duration),
    /// The greeting succeeded.
    Done(Box<Guest<T>>),
}

impl<T> Default for Greeting<T> {
    fn default() -> Self {
        Self { received: Vec::new(), proving: None }
    }
}

impl<T> Greeting<T> {
    /// Returns how many bytes must be received next; 0 if the greeting can proceed.
    ///
    /// # Errors
    /// When the peer has another version, or its message is too long.
    pub fn wanted(&self) -> Result<usize, LinkError> {
        let whole = match self.proving {
            None => hello_len(&self.received)?,
            Some(_) => match self.received.first_chunk() {
                None => FRAME_HEAD,
                Some(head) => {
                    FRAME_HEAD + length_behind(*head, limits::MESSAGE).map_err(refused)?
                }
            },
        };
        Ok(whole.saturating_sub(self.received.len()))
    }

    /// Takes received bytes, at most as many as are wanted.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.received.extend(bytes);
    }

    /// Whether the peer has only to prove its identity by its first frame.
    #[must_use]
    pub fn is_proving(&self) -> bool {
        self.proving.is_some()
    }

    /// Proceeds once no more bytes are wanted. `find` returns what is known of the claimed identity.
    ///
    /// # Errors
    /// When the peer is refused.
    pub fn proceed<'k>(
        &mut self,
        find: impl FnOnce(Purpose, &Claim) -> Found<'k, T>,
    ) -> Result<Step<T>, LinkError> {
        if let Some((to, mut channel)) = self.proving.take() {
            // Only the owner of the key or secret can send this frame: the peer's first message may
            // be a replayed one.
            let first = channel.receiving.open(&mut self.received).map_err(refused)?;
            let first = first.ok_or(ChannelError::Refused)?;
            return Ok(Step::Done(Guest::Member(Welcomed { to, first, channel }).into()));
        }
        let (preamble, rest) = split(&self.received)?;
        let purpose = Preamble::parse(preamble)?.purpose;
        let (claim, message) = match purpose {
            Purpose::Control | Purpose::Retire => {
                split(rest).map(|(key, rest)| (Claim::Controller(*key), rest))?
            }
            Purpose::Binary => split(rest).map(|(ticket, rest)| (Claim::Ticket(*ticket), rest))?,
            Purpose::Link | Purpose::Probe | Purpose::Files => {
                split(rest).map(|(id, rest)| (Claim::Member(CopyId(*id)), rest))?
            }
        };
        let (credentials, to) = match (find(purpose, &claim), claim) {
            (Found::Member(credentials, to), _) => (credentials, to),
            (Found::Ticket, Claim::Ticket(ticket)) => {
                return Ok(Step::Done(Guest::Ticket(ticket).into()));
            }
            (Found::Later(patience), _) => return Ok(Step::Wait(patience)),
            (Found::Ticket | Found::Nothing, _) => return Err(ChannelError::Refused.into()),
        };
        let mut shake = credentials.shake(Side::Responder, preamble)?;
        let (_, message) = split::<LENGTH>(message)?;
        shake.read(message)?;
        let mut answer = Preamble::ours(purpose).to_bytes().to_vec();
        put_message(&mut answer, &shake.write(&[])?);
        self.proving = Some((to, shake.into_channel()?));
        self.received.clear();
        Ok(Step::Answer(answer))
    }
}

fn refused(_: ChannelError) -> ChannelError {
    ChannelError::Refused
}

/// The number of bytes of a message's length.
const LENGTH: usize = 2;

/// Returns the length of a peer's preamble, identity and message, as far as the `received` bytes
/// tell it.
fn hello_len(received: &[u8]) -> Result<usize, LinkError> {
    let Some(preamble) = received.first_chunk() else { return Ok(PREAMBLE_LEN) };
    let identity = match Preamble::parse(preamble)?.purpose {
        Purpose::Binary => return Ok(PREAMBLE_LEN + TICKET_LEN),
        Purpose::Control | Purpose::Retire => size_of::<PublicKey>(),
        Purpose::Link | Purpose::Probe | Purpose::Files => size_of::<CopyId>(),
    };
    let start = PREAMBLE_LEN + identity + LENGTH;
    let Some(length) = received.get(start - LENGTH..start) else { return Ok(start) };
    let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
    if length > limits::MESSAGE {
        return Err(ChannelError::TooLong(length, limits::MESSAGE).into());
    }
    Ok(start + length)
}

fn split<const COUNT: usize>(bytes: &[u8]) -> Result<(&[u8; COUNT], &[u8]), ChannelError> {
    bytes.split_first_chunk().ok_or(ChannelError::Garbage)
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

#[cfg(test)]
mod tests;
