//! Opens the connections of a meeting to the other agent.

use std::net::SocketAddr;

use garland_protocol::measure::{Meeting, StreamTask, Task};
use garland_protocol::wire::Purpose;
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpStream;
use garland_sys::tcp;
use garland_transport::{Credentials, LinkError, introduce};

use super::SILENCE;

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
    let credentials = Credentials::Secret(meeting.id, meeting.secret.clone());
    introduce(&stream, SILENCE, Purpose::Probe, &credentials, &number.to_le_bytes())?;
    Ok(stream)
}
