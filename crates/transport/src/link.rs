//! Links: the connections between neighbours in a copy. In the greeting both ends prove that they
//! know the copy's secret. Afterwards the link carries frames and blocks.

use std::io::Read;
use std::net::SocketAddr;

use garland_protocol::{CopyId, FRAME_LEN, Frame, Keys, Purpose, Secret};
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpStream;
use garland_sys::tcp;

use crate::greeting::{Credentials, LinkError, introduce};
use crate::limits;
use crate::link_pool::LinkPool;

/// The lane and epoch of a link, which its first frame contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The number of the lane.
    pub lane: u16,
    /// The epoch of the link: a number that the head increments for each new link of the lane.
    pub epoch: u32,
}

impl Hop {
    fn to_bytes(self) -> [u8; 6] {
        let mut bytes = [0; 6];
        bytes[..2].copy_from_slice(&self.lane.to_le_bytes());
        bytes[2..].copy_from_slice(&self.epoch.to_le_bytes());
        bytes
    }

    /// Parses the contents of a link's first frame; `None` if the length is wrong.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (lane, epoch) = bytes.split_first_chunk()?;
        let (lane, epoch) = (u16::from_le_bytes(*lane), u32::from_le_bytes(epoch.try_into().ok()?));
        Some(Self { lane, epoch })
    }
}

/// The parameters of a link to open.
pub struct Dial<'a> {
    /// The address of the neighbour's agent.
    pub address: SocketAddr,
    /// The ID of the copy.
    pub copy: CopyId,
    /// The lane and epoch of the link.
    pub hop: Hop,
    /// The secret of the copy, which both ends know.
    pub secret: &'a Secret,
    /// The congestion control algorithms to use, best first.
    pub congestion: &'a [String],
    /// The transport of the connection, if a new one is opened.
    pub transport: Transport,
}

/// Opens a link to the neighbour's agent: over a parked connection of `link_pool` if one works,
/// otherwise over a new connection.
pub fn dial(to: &Dial<'_>, link_pool: Option<&LinkPool>) -> Result<TcpStream, LinkError> {
    if let Some(stream) = link_pool.and_then(|link_pool| link_pool.lease(to.address))
        // A connection whose peer is gone fails after this time, instead of the whole timeout.
        && tcp::break_unacknowledged(&stream, Some(limits::PARKED)).is_ok()
        && let Ok(stream) = greet(stream, to)
    {
        tcp::break_unacknowledged(&stream, None)?;
        return Ok(stream);
    }
    greet(tcp::connect(to.address, limits::ANSWER, to.transport)?, to)
}

fn greet(stream: TcpStream, to: &Dial<'_>) -> Result<TcpStream, LinkError> {
    let congestion: Vec<&str> = to.congestion.iter().map(String::as_str).collect();
    // Errors are ignored: the kernel's default works, too.
    let _ = tcp::choose_congestion(&stream, &congestion);
    let credentials = Credentials::Secret(to.copy, to.secret.clone());
    introduce(&stream, limits::ANSWER, Purpose::Link, &credentials, &to.hop.to_bytes())?;
    tcp::keep_alive(&stream)?;
    Ok(stream)
}

/// Reads a frame header, and verifies it with the `keys` of its copy. Returns the frame and its
/// encoded bytes.
pub fn read_frame(
    mut stream: impl Read,
    keys: &Keys,
) -> Result<(Frame, [u8; FRAME_LEN]), LinkError> {
    let mut bytes = [0; FRAME_LEN];
    stream.read_exact(&mut bytes)?;
    Ok((Frame::parse(&bytes, keys)?, bytes))
}
