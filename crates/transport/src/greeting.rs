//! How two that were told of each other by a head greet: the preamble, the identity of what they come
//! for, the handshake that links use, and one sealed message that no listener could have recorded.
//! After it, the connection belongs to what they came for.

use std::io::{Read, Write};

use garland_protocol::{
    BINDING_LEN, Channel, ChannelError, CopyId, Handshake, PREAMBLE_LEN, Preamble, Purpose, Role,
    Secret,
};

use crate::link::{self, LinkError};
use crate::timed::Timed;

/// Bytes of the sealed message: its frame, the connection's number, the seal's tag.
const PROOF_LEN: usize = 2 + 2 + 16;

/// A guest that was let in.
pub struct Welcomed<T> {
    /// What it came for.
    pub to: T,
    /// Which of its connections this is.
    pub number: u16,
    /// What no other connection has.
    pub binding: [u8; BINDING_LEN],
}

/// Greets as the one that has connected, for the connection `number` of `id`, which `secret` is for;
/// gives what no other connection has.
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

/// Answers a peer that comes for something; its preamble, `theirs`, has been read. `find` gives what
/// is expected under an identity and the secret of that, waiting a little for it to begin.
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
