//! The first bytes of the connecting side, before anything is answered: the preamble, the identity
//! that it claims, and the first message of the handshake. A controller adds the time and a MAC by
//! which the agent recognises it before any key exchange.
//!
//! Heads and agents of all releases read these bytes of each other when an agent is retired: those
//! of [`Purpose::Retire`] never change.

use thiserror::Error;

use crate::copy::CopyId;
use crate::wire::agreement::{Agreement, GreetingStamp, MAC_LEN, Mac};
use crate::wire::channel::PublicKey;
use crate::wire::line::ChannelError;
use crate::wire::version::{PREAMBLE_LEN, Preamble, Purpose, VersionError};

/// The length of a ticket for the program on the wire in bytes. Tickets are hexadecimal, because
/// shells print them.
pub const TICKET_LEN: usize = 64;

/// The maximum length of a handshake message in bytes.
pub const HANDSHAKE_MAX: usize = 256;

/// The number of bytes of a message's length.
const LENGTH: usize = 2;

/// The length of a stamp in bytes.
const STAMP_LEN: usize = 16;

/// The identity under which a peer connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The public key of a controller. It proves nothing by itself.
    Controller(PublicKey),
    /// The ID of a link, meeting, mount or standing chain. It proves nothing by itself.
    Member(CopyId),
    /// The ticket of a node that fetches the program.
    Ticket([u8; TICKET_LEN]),
}

/// What shows that a greeting is of the one whose key it claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark<'a> {
    /// When the greeting was made.
    pub stamp: GreetingStamp,
    /// The MAC.
    pub mac: Mac,
    /// All bytes before the MAC.
    covered: &'a [u8],
}

impl Mark<'_> {
    /// Whether the greeting was made by the other one who has `keys`.
    #[must_use]
    pub fn is_of(&self, keys: &Agreement) -> bool {
        keys.is_mac(self.covered, &self.mac)
    }
}

/// The parsed first bytes of the connecting side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello<'a> {
    /// The preamble: the prologue of the handshake.
    pub preamble: &'a [u8; PREAMBLE_LEN],
    /// What the connection is for.
    pub purpose: Purpose,
    /// The identity that the peer claims.
    pub claim: Claim,
    /// The first message of the handshake; empty after a ticket.
    pub message: &'a [u8],
    /// The mark of a controller; none of others.
    pub mark: Option<Mark<'a>>,
}

/// Why a peer's first bytes are refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HelloError {
    /// The preamble is not one of this protocol.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// What follows is too long, or not complete.
    #[error(transparent)]
    Channel(#[from] ChannelError),
}

impl<'a> Hello<'a> {
    /// Returns the length of a peer's first bytes, as far as the `received` ones tell it.
    ///
    /// # Errors
    /// When the peer has another version, or its message is too long.
    pub fn wanted(received: &[u8]) -> Result<usize, HelloError> {
        let Some(preamble) = received.first_chunk() else { return Ok(PREAMBLE_LEN) };
        let (before, behind) = match Preamble::parse(preamble)?.purpose {
            Purpose::Binary => return Ok(PREAMBLE_LEN + TICKET_LEN),
            Purpose::Control | Purpose::Retire => (size_of::<PublicKey>() + STAMP_LEN, MAC_LEN),
            Purpose::Link | Purpose::Probe | Purpose::Files => (size_of::<CopyId>(), 0),
        };
        let start = PREAMBLE_LEN + before + LENGTH;
        let Some(length) = received.get(start - LENGTH..start) else { return Ok(start) };
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        if length > HANDSHAKE_MAX {
            return Err(ChannelError::TooLong(length, HANDSHAKE_MAX).into());
        }
        Ok(start + length + behind)
    }

    /// Parses a peer's first bytes, which are as many as are wanted.
    ///
    /// # Errors
    /// When the peer has another version, or the bytes are more or fewer.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, HelloError> {
        if Self::wanted(bytes)? != bytes.len() {
            return Err(ChannelError::Garbage.into());
        }
        let (preamble, rest) = split(bytes)?;
        let purpose = Preamble::parse(preamble)?.purpose;
        let mut mark = None;
        let (claim, message) = match purpose {
            Purpose::Control | Purpose::Retire => {
                let (covered, mac) = bytes.split_last_chunk().ok_or(ChannelError::Garbage)?;
                let (key, rest) = split(covered.get(PREAMBLE_LEN..).unwrap_or_default())?;
                let (clock, rest) = split(rest)?;
                let (time, rest) = split(rest)?;
                let stamp = GreetingStamp { clock: *clock, time_ns: u64::from_le_bytes(*time) };
                mark = Some(Mark { stamp, mac: *mac, covered });
                (Claim::Controller(*key), rest)
            }
            Purpose::Binary => {
                let (ticket, _) = split(rest)?;
                return Ok(Self {
                    preamble,
                    purpose,
                    claim: Claim::Ticket(*ticket),
                    message: &[],
                    mark,
                });
            }
            Purpose::Link | Purpose::Probe | Purpose::Files => {
                let (id, rest) = split(rest)?;
                (Claim::Member(CopyId(*id)), rest)
            }
        };
        let (_, message) = split::<LENGTH>(message)?;
        Ok(Self { preamble, purpose, claim, message, mark })
    }
}

/// Returns the first bytes of a controller that has `key` and, with the agent, `keys`.
#[must_use]
pub fn controller_hello(
    preamble: &[u8; PREAMBLE_LEN],
    key: &PublicKey,
    stamp: GreetingStamp,
    message: &[u8],
    keys: &Agreement,
) -> Vec<u8> {
    let mut hello = [&preamble[..], key, &stamp.clock, &stamp.time_ns.to_le_bytes()].concat();
    put_message(&mut hello, message);
    let mac = keys.mac(&hello);
    hello.extend(mac);
    hello
}

/// Returns the first bytes of an end of a link, a meeting or a mount, or of a standing chain.
#[must_use]
pub fn member_hello(preamble: &[u8; PREAMBLE_LEN], id: CopyId, message: &[u8]) -> Vec<u8> {
    let mut hello = [&preamble[..], &id.0].concat();
    put_message(&mut hello, message);
    hello
}

/// Appends a handshake message to `out`, after its length (two bytes, little endian).
///
/// # Panics
/// When the message has 64 KiB, which none of the handshake has.
pub fn put_message(out: &mut Vec<u8>, message: &[u8]) {
    let length = u16::try_from(message.len()).expect("a handshake message is shorter than 64 KiB");
    out.extend(length.to_le_bytes());
    out.extend(message);
}

fn split<const COUNT: usize>(bytes: &[u8]) -> Result<(&[u8; COUNT], &[u8]), ChannelError> {
    bytes.split_first_chunk().ok_or(ChannelError::Garbage)
}
