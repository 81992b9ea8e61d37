//! How two agents that were told to meet greet: the preamble, the meeting's identity, the handshake
//! that links use, and one sealed message that no listener could have recorded. After it, the
//! connection belongs to what is measured.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use garland_core::proto::{
    Channel, ChannelError, Copy, Handshake, Meeting, PREAMBLE_LEN, Preamble, Purpose, Role, Task,
};
use garland_sys::mptcp::Transport;
use garland_sys::tcp;

use super::SILENCE;
use super::guest::Invitation;
use crate::agent::{Agent, Expected};
use crate::link::{self, LinkError};

/// Bytes of the sealed message: its frame, the connection's number, the seal's tag.
const PROOF_LEN: usize = 2 + 2 + 16;

/// Connects to the other agent for the connection `number` of `meeting`.
pub fn dial(
    address: SocketAddr,
    meeting: &Meeting,
    number: u16,
    transport: Transport,
) -> Result<TcpStream, LinkError> {
    let mut stream = match packet(&meeting.task) {
        Some(bytes) => tcp::connect_in_packets(bytes, address, SILENCE)?,
        None => tcp::connect(address, SILENCE, transport)?,
    };
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let ours = Preamble::ours(Purpose::Probe).to_bytes();
    let mut shake = Handshake::link(Role::Initiator, &meeting.secret, &ours)?;
    let mut hello = ours.to_vec();
    hello.extend(meeting.id.0);
    link::put_message(&mut hello, &shake.write(&[])?);
    stream.write_all(&hello)?;
    link::read_preamble(&stream)?;
    shake.read(&link::read_message(&stream)?)?;
    let mut proof = Vec::with_capacity(PROOF_LEN);
    shake.into_channel()?.seal(&number.to_le_bytes(), &mut proof)?;
    stream.write_all(&proof)?;
    Ok(stream)
}

/// The size that a meeting's packets are kept to, if they are.
fn packet(task: &Task) -> Option<u16> {
    match task {
        Task::Stream(task) => task.packet,
        Task::Ping(_) => None,
    }
}

/// Answers a peer that says it comes for a meeting; its preamble, `theirs`, has been read.
pub fn greet_guest(
    agent: &Agent,
    mut stream: &TcpStream,
    theirs: &[u8; PREAMBLE_LEN],
) -> Result<(Arc<Invitation>, u16), LinkError> {
    let mut id = [0; 16];
    stream.read_exact(&mut id)?;
    let hello = link::read_message(stream)?;
    let stranger = || LinkError::Channel(ChannelError::Refused);
    let Some(Expected::Guest(invitation)) = agent.await_expected(Copy(id), SILENCE) else {
        return Err(stranger());
    };
    let mut shake = Handshake::link(Role::Responder, invitation.secret(), theirs)?;
    shake.read(&hello)?;
    let mut answer = Preamble::ours(Purpose::Probe).to_bytes().to_vec();
    link::put_message(&mut answer, &shake.write(&[])?);
    stream.write_all(&answer)?;
    let number = read_proof(stream, &mut shake.into_channel()?)?;
    Ok((invitation, number))
}

fn read_proof(mut stream: &TcpStream, channel: &mut Channel) -> Result<u16, LinkError> {
    let mut proof = vec![0; PROOF_LEN];
    stream.read_exact(&mut proof)?;
    let number = channel.open(&mut proof)?;
    let number = number.and_then(|bytes| <[u8; 2]>::try_from(bytes).ok());
    number.map(u16::from_le_bytes).ok_or(LinkError::Channel(ChannelError::Refused))
}
