//! The greeting of two agents in a meeting.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use garland_protocol::{Meeting, PREAMBLE_LEN, Purpose, StreamTask, Task};
use garland_sys::mptcp::Transport;
use garland_sys::tcp;

use super::SILENCE;
use super::guest::Invitation;
use crate::expected::{Expectations, Expected};
use garland_transport::greeting::{Welcomed, introduce, welcome};
use garland_transport::link::LinkError;
use garland_transport::timed::Timed;

/// Opens the connection `number` of `meeting` to the other agent.
pub fn dial(
    address: SocketAddr,
    meeting: &Meeting,
    number: u16,
    transport: Transport,
) -> Result<TcpStream, LinkError> {
    let stream = match meeting.task {
        Task::Stream(StreamTask { packet: Some(bytes), .. }) => {
            tcp::connect_in_packets(bytes, address, SILENCE)?
        }
        Task::Stream(_) | Task::Ping(_) => tcp::connect(address, SILENCE, transport)?,
    };
    stream.set_write_timeout(Some(SILENCE))?;
    let mut peer = Timed::begin(&stream, SILENCE);
    introduce(&mut peer, Purpose::Probe, meeting.id, &meeting.secret, number)?;
    stream.set_read_timeout(Some(SILENCE))?;
    Ok(stream)
}

/// Answers the greeting of the other agent of a meeting; its preamble, `theirs`, has been read.
/// Returns the meeting's invitation, and the number of the connection.
pub fn greet_guest(
    expected: &Expectations,
    peer: &mut Timed<'_>,
    theirs: &[u8; PREAMBLE_LEN],
) -> Result<Welcomed<Arc<Invitation>>, LinkError> {
    welcome(peer, Purpose::Probe, theirs, |id| {
        let Some(Expected::Guest(invitation)) = expected.wait(id, SILENCE) else { return None };
        Some((invitation.secret.clone(), invitation))
    })
}
