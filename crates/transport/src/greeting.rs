//! The greeting of two peers to which the head has given a common secret, for a meeting or a mount:
//! preambles, the identity of the meeting or mount, the handshake of links, and one sealed message,
//! which proves that the greeting is not a replayed one.

use std::io::{Read, Write};

use garland_protocol::{
    BINDING_LEN, Channel, ChannelError, CopyId, Handshake, PREAMBLE_LEN, Preamble, Purpose, Role,
    Secret,
};

use crate::link::{self, LinkError};
use crate::timed::Timed;

/// Length of the sealed message in bytes: its length field, the number of the connection, the tag.
const PROOF_LEN: usize = 2 + 2 + 16;

/// A connection whose greeting succeeded.
pub struct Welcomed<T> {
    /// The purpose of the connection, as returned by `find`.
    pub to: T,
    /// The number of this connection.
    pub number: u16,
    /// The channel binding, unique to the connection.
    pub binding: [u8; BINDING_LEN],
}

/// Greets as the connecting side. The connection has this `number` among those of `id`, whose
/// secret is `secret`. Returns the channel binding.
pub fn introduce(
    peer: &mut Timed<'_>,
    purpose: Purpose,
    id: CopyId,
    secret: &Secret,
    number: u16,
) -> Result<[u8; BINDING_LEN], LinkError> {
    let ours = Preamble::ours(purpose).to_bytes();
    let mut shake = Handshake::link(Role::Initiator, secret, &ours)?;
    link::offer(peer, &mut shake, [&ours, &id.0, &[]])?;
    let binding = shake.binding();
    let mut proof = Vec::with_capacity(PROOF_LEN);
    shake.into_channel()?.seal(&number.to_le_bytes(), &mut proof)?;
    peer.write_all(&proof)?;
    Ok(binding)
}

/// Answers the greeting of a peer whose preamble, `theirs`, has been read. `find` returns the
/// secret of an identity and what its connections are for. It may wait briefly for the order that
/// announces them.
pub fn welcome<T>(
    peer: &mut Timed<'_>,
    purpose: Purpose,
    theirs: &[u8; PREAMBLE_LEN],
    find: impl FnOnce(CopyId) -> Option<(Secret, T)>,
) -> Result<Welcomed<T>, LinkError> {
    let mut id = [0; 16];
    peer.read_exact(&mut id)?;
    let hello = link::read_message(&mut *peer)?;
    let (secret, to) =
        peer.aside(|| find(CopyId(id))).ok_or(LinkError::Channel(ChannelError::Refused))?;
    let mut shake = Handshake::link(Role::Responder, &secret, theirs)?;
    link::answer(peer, &mut shake, purpose, &hello)?;
    let binding = shake.binding();
    let number = read_proof(peer, &mut shake.into_channel()?)?;
    Ok(Welcomed { to, number, binding })
}

fn read_proof(peer: &mut Timed<'_>, channel: &mut Channel) -> Result<u16, LinkError> {
    let mut proof = vec![0; PROOF_LEN];
    peer.read_exact(&mut proof)?;
    let number = channel.open(&mut proof)?;
    let number = number.and_then(|bytes| <[u8; 2]>::try_from(bytes).ok());
    number.map(u16::from_le_bytes).ok_or(LinkError::Channel(ChannelError::Refused))
}
