//! Links: the connections between neighbours in a copy. In the greeting both ends prove that they
//! know the link's secret. Afterwards the link carries frames and blocks.

use std::io;
use std::net::SocketAddr;

use garland_protocol::copy::{CopyId, FRAME_LEN, Frame, Keys};
use garland_protocol::wire::{Purpose, Secret};
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpStream;
use garland_sys::tcp;

use crate::detour;
use crate::greeting::{Credentials, LinkError, introduce};
use crate::limits;
use crate::link_pool::LinkPool;

/// The parameters of a link to open.
pub struct Dial<'a> {
    /// The address of the neighbour's agent.
    pub address: SocketAddr,
    /// The identity of the link, or of a standing chain.
    pub id: CopyId,
    /// The secret of the link, which its two ends know.
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
    greet(detour::connect(to.address, limits::ANSWER, to.transport)?, to)
}

fn greet(stream: TcpStream, to: &Dial<'_>) -> Result<TcpStream, LinkError> {
    let congestion: Vec<&str> = to.congestion.iter().map(String::as_str).collect();
    // Errors are ignored: the kernel's default works, too.
    let _ = tcp::choose_congestion(&stream, &congestion);
    let credentials = Credentials::Secret(to.id, to.secret.clone());
    introduce(&stream, limits::ANSWER, Purpose::Link, &credentials, &[])?;
    tcp::keep_alive(&stream)?;
    Ok(stream)
}

/// The first bytes of a frame header, whose rest has not arrived yet.
#[derive(Debug)]
pub struct PartialFrame {
    bytes: [u8; FRAME_LEN],
    arrived: usize,
}

impl Default for PartialFrame {
    fn default() -> Self {
        Self { bytes: [0; FRAME_LEN], arrived: 0 }
    }
}

impl PartialFrame {
    /// Whether no byte of the frame was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arrived == 0
    }

    /// Reads what has arrived of the header, and no byte that follows it. Does not wait. Returns
    /// the frame, which is verified with the `keys` of its copy, and its encoded bytes; `None` if
    /// more must arrive. The next call after a frame begins the next one.
    ///
    /// # Errors
    /// When the connection is broken or at its end, or the frame is not authentic.
    pub fn read(
        &mut self,
        stream: &TcpStream,
        keys: &Keys,
    ) -> Result<Option<(Frame, [u8; FRAME_LEN])>, LinkError> {
        match tcp::try_receive(stream, &mut self.bytes[self.arrived..])? {
            None => return Ok(None),
            Some(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Some(read) => self.arrived += read,
        }
        if self.arrived < FRAME_LEN {
            return Ok(None);
        }
        self.arrived = 0;
        Ok(Some((Frame::parse(&self.bytes, keys)?, self.bytes)))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use garland_protocol::copy::Kind;
    use garland_sys::event;
    use garland_sys::socket::pair;

    use super::*;

    const COPY: CopyId = CopyId([7; 16]);

    fn keys() -> Keys {
        Keys::new(&Secret([5; 32]), COPY)
    }

    /// Reads what has arrived after bytes have, and returns the kind and index of the frame.
    fn read_when_ready(
        partial: &mut PartialFrame,
        stream: &TcpStream,
    ) -> Result<Option<(Kind, u64)>, LinkError> {
        event::wait_readable(&[stream.as_fd()], None).unwrap();
        Ok(partial.read(stream, &keys())?.map(|(frame, _)| (frame.kind, frame.index)))
    }

    #[test]
    fn a_frame_may_come_in_pieces_and_nothing_waits_for_its_rest() {
        let (near, mut far) = pair().unwrap();
        let mut partial = PartialFrame::default();
        assert!(partial.read(&near, &keys()).unwrap().is_none() && partial.is_empty());
        let frames = [3, 4].map(|index| Frame::bare(Kind::End, COPY, 0, index).to_bytes(&keys()));
        let bytes = frames.concat();
        let within_second = FRAME_LEN + 9;

        far.write_all(&bytes[..1]).unwrap();
        assert_eq!(read_when_ready(&mut partial, &near).unwrap(), None);
        assert!(partial.read(&near, &keys()).unwrap().is_none() && !partial.is_empty());

        far.write_all(&bytes[1..within_second]).unwrap();
        assert_eq!(read_when_ready(&mut partial, &near).unwrap(), Some((Kind::End, 3)));
        assert!(partial.is_empty(), "it reads no byte of the next frame");
        assert_eq!(read_when_ready(&mut partial, &near).unwrap(), None);

        far.write_all(&bytes[within_second..]).unwrap();
        assert_eq!(read_when_ready(&mut partial, &near).unwrap(), Some((Kind::End, 4)));
        assert!(partial.is_empty());
    }

    #[test]
    fn a_frame_that_ends_early_is_the_end_of_its_link() {
        let (near, mut far) = pair().unwrap();
        let mut partial = PartialFrame::default();
        far.write_all(&[1]).unwrap();
        assert_eq!(read_when_ready(&mut partial, &near).unwrap(), None);
        drop(far);
        let error = read_when_ready(&mut partial, &near).unwrap_err().to_string();
        assert_eq!(error, "the other end closed it");
    }
}
