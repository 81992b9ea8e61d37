//! The greeting of two agents in a meeting.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use garland_protocol::{Meeting, PREAMBLE_LEN, Purpose, Task};
use garland_sys::mptcp::Transport;
use garland_sys::tcp;

use super::SILENCE;
use super::guest::Invitation;
use crate::expected::{Expectations, Expected};
use garland_transport::greeting::{introduce, welcome};
use garland_transport::link::LinkError;
use garland_transport::timed::Timed;

/// Opens the connection `number` of `meeting` to the other agent.
pub fn dial(
    address: SocketAddr,
    meeting: &Meeting,
    number: u16,
    transport: Transport,
) -> Result<TcpStream, LinkError> {
    let stream = match packet(&meeting.task) {
        Some(bytes) => tcp::connect_in_packets(bytes, address, SILENCE)?,
        None => tcp::connect(address, SILENCE, transport)?,
    };
    stream.set_write_timeout(Some(SILENCE))?;
    introduce(
        &mut Timed::begin(&stream, SILENCE),
        Purpose::Probe,
        meeting.id,
        &meeting.secret,
        number,
    )?;
    stream.set_read_timeout(Some(SILENCE))?;
    Ok(stream)
}

/// Returns the packet size that a meeting requests, in bytes.
fn packet(task: &Task) -> Option<u16> {
    match task {
        Task::Stream(task) => task.packet,
        Task::Ping(_) => None,
    }
}

/// Answers the greeting of the other agent of a meeting; its preamble, `theirs`, has been read.
/// Returns the meeting's invitation, and the number of the connection.
pub fn greet_guest(
    expected: &Expectations,
    peer: &mut Timed<'_>,
    theirs: &[u8; PREAMBLE_LEN],
) -> Result<(Arc<Invitation>, u16), LinkError> {
    let welcomed = welcome(peer, Purpose::Probe, theirs, |id| {
        let Some(Expected::Guest(invitation)) = expected.wait(id, SILENCE) else {
            return None;
        };
        Some((invitation.secret().clone(), invitation))
    })?;
    Ok((welcomed.to, welcomed.number))
}
