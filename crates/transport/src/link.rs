//! Links: the connections between neighbours in a copy. In the greeting both ends prove that they
//! know the copy's secret. Afterwards the link carries frames and blocks.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::time::Duration;

use garland_protocol::{CopyId, FRAME_LEN, Frame, Keys, Purpose, Secret};
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpStream;
use garland_sys::tcp;

use crate::greeting::{Credentials, LinkError, introduce};
use crate::limits;
use crate::link_pool::LinkPool;
use crate::timed::Timed;

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
/// encoded bytes. Waits without limit for the first byte, and for the others no longer than
/// [`limits::FRAME`].
pub fn read_frame(stream: &TcpStream, keys: &Keys) -> Result<(Frame, [u8; FRAME_LEN]), LinkError> {
    read_frame_within(stream, keys, limits::FRAME)
}

fn read_frame_within(
    mut stream: &TcpStream,
    keys: &Keys,
    patience: Duration,
) -> Result<(Frame, [u8; FRAME_LEN]), LinkError> {
    let mut bytes = [0; FRAME_LEN];
    let arrived = loop {
        match stream.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            result => break result?,
        }
    };
    if arrived < FRAME_LEN {
        let rest = Timed::reading(stream, patience).read_exact(&mut bytes[arrived..]);
        stream.set_read_timeout(None)?;
        rest?;
    }
    Ok((Frame::parse(&bytes, keys)?, bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::mpsc::channel;

    use garland_protocol::Kind;
    use garland_sys::socket::pair;

    use super::*;

    fn keys() -> Keys {
        Keys::new(&Secret([5; 32]), CopyId([7; 16]))
    }

    #[test]
    fn a_frame_that_has_begun_does_not_hold_up_its_lane() {
        let (near, mut far) = pair().unwrap();
        let (over, is_over) = channel();
        far.write_all(&[1]).unwrap();
        std::thread::spawn(move || {
            let patience = Duration::from_millis(100);
            let result = read_frame_within(&near, &keys(), patience).map(|(frame, _)| frame);
            let is_unlimited = near.read_timeout().unwrap().is_none();
            over.send((result.map_err(|error| error.to_string()), is_unlimited)).unwrap();
        });
        let limit = Duration::from_secs(60);
        let (result, is_unlimited) = is_over.recv_timeout(limit).expect("it ends by itself");
        assert!(result.is_err() && is_unlimited, "{result:?}");
        drop(far);
    }

    #[test]
    fn a_frame_in_pieces_is_read_and_its_payload_has_no_limit() {
        let (near, mut far) = pair().unwrap();
        let frame = Frame::bare(Kind::End, CopyId([7; 16]), 0, 3);
        let bytes = frame.to_bytes(&keys());
        far.write_all(&bytes[..1]).unwrap();
        let rest = std::thread::spawn(move || far.write_all(&bytes[1..]).map(|()| far));
        let (read, _) = read_frame(&near, &keys()).unwrap();
        assert_eq!((read.kind, read.index), (Kind::End, 3));
        assert_eq!(near.read_timeout().unwrap(), None);
        drop(rest.join());
    }
}
