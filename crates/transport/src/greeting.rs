//! The greeting at the beginning of every connection, except those that fetch the program. It
//! consists of preambles, the identity under which the peer connects, a Noise handshake, and one
//! encrypted frame from the connecting side. The frame proves that the greeting is not a replayed
//! one, and tells what the connection is for.
//!
//! The connecting side knows its peer, and waits. The accepting side is a machine that takes bytes
//! as they come, so that one loop greets all peers and strangers cost no thread.

use std::io::{self, Read, Write};
use std::sync::OnceLock;
use std::time::Duration;

use garland_protocol::copy::{CopyId, FrameError};
use garland_protocol::wire::{
    Channel, ChannelError, Claim, FRAME_HEAD, HANDSHAKE_MAX, Handshake, Hello, HelloError, KeyPair,
    PREAMBLE_LEN, Preamble, PublicKey, Purpose, Secret, Side, TICKET_LEN, VersionError,
    controller_hello, length_behind, member_hello, put_message,
};
use garland_sys::error::reason;
use garland_sys::socket::TcpStream;
use garland_sys::{clock, process, random};
use thiserror::Error;

use crate::key_ring::{Admission, GreetingLimit, KeyRing};
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

impl From<HelloError> for LinkError {
    fn from(error: HelloError) -> Self {
        match error {
            HelloError::Version(error) => error.into(),
            HelloError::Channel(error) => error.into(),
        }
    }
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
    /// Any other connection: the ID of a link, meeting, mount or standing chain, and the secret
    /// that both ends know.
    Secret(CopyId, Secret),
}

/// What is known of a claimed identity.
pub enum Found<'k, T> {
    /// The peer must prove that it has these credentials; then the connection belongs to `T`.
    Member(Credentials<'k>, T),
    /// A peer as `Member` is, who may greet only so often.
    Limited(Credentials<'k>, T, GreetingLimit),
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
    let (hello, mut shake) = first_bytes(&preamble, credentials)?;
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

/// Returns the first bytes of a connection, and its handshake.
fn first_bytes(
    preamble: &[u8; PREAMBLE_LEN],
    credentials: &Credentials<'_>,
) -> Result<(Vec<u8>, Handshake), LinkError> {
    Ok(match credentials {
        Credentials::Keys(ours, theirs) => {
            let keys = ours.agree(Side::Initiator, theirs)?;
            let mut shake = Handshake::control(Side::Initiator, &keys, preamble)?;
            let message = shake.write(&[])?;
            let stamp = keys.stamp(boot(), clock::boot_ns());
            (controller_hello(preamble, &ours.public, stamp, &message, &keys), shake)
        }
        Credentials::Secret(id, secret) => {
            let mut shake = Handshake::link(Side::Initiator, secret, preamble)?;
            let message = shake.write(&[])?;
            (member_hello(preamble, *id, &message), shake)
        }
    })
}

/// Returns what stands for the present boot of this machine, whose clock stamps greetings.
fn boot() -> &'static [u8] {
    static BOOT: OnceLock<Vec<u8>> = OnceLock::new();
    BOOT.get_or_init(|| match process::boot_id() {
        // Without /proc this process has a clock of its own.
        id if id.is_empty() => random::bytes::<16>().to_vec(),
        id => id.into_bytes(),
    })
}

/// The accepting side of a greeting, without a socket. Only received bytes are kept, at most a
/// preamble, an identity and a message.
pub struct Greeting<T> {
    received: Vec<u8>,
    /// The peer whose first frame is awaited.
    proving: Option<Proving<T>>,
}

/// A peer whose first bytes only the holder of its key or secret can have made, if they are no
/// repetition.
struct Proving<T> {
    /// What the connection belongs to.
    to: T,
    channel: Channel,
    claim: Claim,
    /// The greeting of a controller or member of the cluster.
    admission: Option<Admission>,
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
            None => Hello::wanted(&self.received)?,
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

    /// Returns the identity of the peer if it has only to prove it by its first frame.
    #[must_use]
    pub fn proving(&self) -> Option<&Claim> {
        self.proving.as_ref().map(|proving| &proving.claim)
    }

    /// Proceeds once no more bytes are wanted. `find` returns what is known of the claimed
    /// identity, and `ring` is what is known of keys and earlier greetings.
    ///
    /// # Errors
    /// When the peer is refused.
    pub fn proceed<'k>(
        &mut self,
        ring: &mut KeyRing,
        find: impl FnOnce(Purpose, &Claim) -> Found<'k, T>,
    ) -> Result<Step<T>, LinkError> {
        if let Some(Proving { to, mut channel, admission, .. }) = self.proving.take() {
            // Only the owner of the key or secret can send this frame: the peer's first message may
            // be a repetition.
            let first = channel.receiving.open(&mut self.received).map_err(refused)?;
            let first = first.ok_or(ChannelError::Refused)?;
            admission.iter().for_each(|admission| ring.prove(admission));
            return Ok(Step::Done(Guest::Member(Welcomed { to, first, channel }).into()));
        }
        let hello = Hello::parse(&self.received)?;
        let (credentials, to, limit) = match (find(hello.purpose, &hello.claim), &hello.claim) {
            (Found::Member(credentials, to), _) => (credentials, to, None),
            (Found::Limited(credentials, to, limit), _) => (credentials, to, Some(limit)),
            (Found::Ticket, Claim::Ticket(ticket)) => {
                return Ok(Step::Done(Guest::Ticket(*ticket).into()));
            }
            (Found::Later(patience), _) => return Ok(Step::Wait(patience)),
            (Found::Ticket | Found::Nothing, _) => return Err(ChannelError::Refused.into()),
        };
        let (mut shake, admission) = answer_to(&hello, &credentials, limit.as_ref(), ring)?;
        let mut answer = Preamble::ours(hello.purpose).to_bytes().to_vec();
        put_message(&mut answer, &shake.write(&[])?);
        let channel = shake.into_channel()?;
        let claim = hello.claim;
        self.proving = Some(Proving { to, channel, claim, admission });
        self.received.clear();
        Ok(Step::Answer(answer))
    }
}

/// Begins the handshake with a peer that must have `credentials`, and may greet within `limit`.
/// Whether it has them, greets too often, and whether its greeting has come before, shows before
/// any key exchange.
fn answer_to(
    hello: &Hello<'_>,
    credentials: &Credentials<'_>,
    limit: Option<&GreetingLimit>,
    ring: &mut KeyRing,
) -> Result<(Handshake, Option<Admission>), ChannelError> {
    match credentials {
        Credentials::Keys(ours, theirs) => {
            let (keys, admission) =
                ring.admit(ours, theirs, limit.map(|limit| limit.rate), hello)?;
            let mut shake = Handshake::control(Side::Responder, keys, hello.preamble)?;
            shake.read(hello.message)?;
            Ok((shake, Some(admission)))
        }
        Credentials::Secret(_, secret) => {
            let mut shake = Handshake::link(Side::Responder, secret, hello.preamble)?;
            // The first message of this handshake has a tag under the secret itself.
            shake.read(hello.message)?;
            ring.admit_member(hello.message, limit)?;
            Ok((shake, None))
        }
    }
}

fn refused(_: ChannelError) -> ChannelError {
    ChannelError::Refused
}

/// Reads a message of the handshake.
fn read_message(peer: &mut Timed<'_>) -> Result<Vec<u8>, LinkError> {
    let length = usize::from(u16::from_le_bytes(peer.read_array()?));
    if length > HANDSHAKE_MAX {
        return Err(ChannelError::TooLong(length, HANDSHAKE_MAX).into());
    }
    let mut message = vec![0; length];
    peer.read_exact(&mut message)?;
    Ok(message)
}

#[cfg(test)]
mod tests;
