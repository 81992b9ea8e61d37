//! The greeting of two peers which a head has told of each other: the preamble, the identity of
//! their purpose, the handshake of links, and one sealed message that cannot be a replayed one.
//! Afterwards the connection belongs to their purpose.

use std::io::{Read, Write};

use garland_protocol::{
    BINDING_LEN, Channel, ChannelError, CopyId, Handshake, PREAMBLE_LEN, Preamble, Purpose, Role,
    Secret,
};

use crate::link::{self, LinkError};
use crate::timed::Timed;

/// Bytes of the sealed message: its frame, the number of the connection, the tag.
const PROOF_LEN: usize = 2 + 2 + 16;

/// A guest that was accepted.
pub struct Welcomed<T> {
    /// Its purpose.
    pub to: T,
    /// The number of this connection.
    pub number: u16,
    /// The channel binding, unique to the connection.
    pub binding: [u8; BINDING_LEN],
}

/// Greets as the connecting side, for the connection `number` of `id` with its `secret`. Returns
/// the channel binding.
pub fn introduce(
    peer: &mut Timed<'_>,
    purpose: Purpose,
    id: CopyId,
    secret: &Secret,
    number: u16,
) -> Result<[u8; BINDING_LEN], LinkError> {
    let ours = Preamble::ours(purpose).to_bytes();
    let mut shake = Handshake::link(Role::Initiator, secret, &ours)?;
    let mut hello = ours.to_vec();
    hello.extend(id.0);
    link::put_message(&mut hello, &shake.write(&[])?);
    peer.write_all(&hello)?;
    link::read_preamble(&mut *peer)?;
    shake.read(&link::read_message(&mut *peer)?)?;
    let binding = shake.binding();
    let mut proof = Vec::with_capacity(PROOF_LEN);
    shake.into_channel()?.seal(&number.to_le_bytes(), &mut proof)?;
    peer.write_all(&proof)?;
    Ok(binding)
}

/// Answers a peer whose preamble, `theirs`, has been read. `find` returns what is expected under an
/// identity and its secret, and may wait briefly for it.
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
    shake.read(&hello)?;
    let mut answer = Preamble::ours(purpose).to_bytes().to_vec();
    link::put_message(&mut answer, &shake.write(&[])?);
    peer.write_all(&answer)?;
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
