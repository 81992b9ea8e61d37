//! Frames by an interface, past IP and whatever filters or routes it (packet(7)). Needs
//! `CAP_NET_RAW` in the network's user namespace; without it there are [`crate::datagram`]s.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The first local experimental EtherType of IEEE 802.
pub const EXPERIMENTAL: u16 = 0x88B5;

/// A socket for frames of one EtherType on one interface. It never blocks.
#[derive(Debug)]
pub struct FrameSocket {
    fd: OwnedFd,
    address: libc::sockaddr_ll,
}

const LENGTH: libc::socklen_t = size_of::<libc::sockaddr_ll>() as libc::socklen_t;

impl FrameSocket {
    /// Opens one on the interface of this number.
    ///
    /// # Errors
    /// When the process may not, or there is no such interface.
    pub fn open(interface: u32, ethertype: u16) -> io::Result<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: socket takes numbers only; a good answer is a descriptor that nobody else has.
        let fd = unsafe {
            // Without a protocol nothing comes in before it is bound.
            let fd = libc::socket(libc::AF_PACKET, kind, 0);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: `sockaddr_ll` is plain numbers, for which zeroes are good.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ethertype.to_be();
        address.sll_ifindex = i32::try_from(interface).map_err(io::Error::other)?;
        // SAFETY: the address is a whole `sockaddr_ll` of the length that is passed.
        let result = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), LENGTH) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        address.sll_halen = 6;
        address.sll_addr[..6].fill(0xff);
        let socket = Self { fd, address };
        socket.go_past_queues();
        Ok(socket)
    }

    /// Probes are few, and needn't wait behind data; kernels that can't do it send them all the same.
    fn go_past_queues(&self) {
        let yes: libc::c_int = 1;
        // SAFETY: the descriptor is open, and the value is a C int whose size is passed.
        let _ = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_QDISC_BYPASS,
                (&raw const yes).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
    }

    /// Broadcasts a frame with this payload.
    ///
    /// # Errors
    /// When the interface is down, or its queue is full.
    pub fn broadcast(&self, payload: &[u8]) -> io::Result<()> {
        // SAFETY: the payload and the address are valid for the lengths that are passed.
        let sent = unsafe {
            libc::sendto(
                self.fd.as_raw_fd(),
                payload.as_ptr().cast(),
                payload.len(),
                0,
                (&raw const self.address).cast(),
                LENGTH,
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Takes the payload of a frame that came in; its length.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (length, _) =
            rustix::net::recv(&self.fd, &mut *buffer, rustix::net::RecvFlags::DONTWAIT)?;
        Ok(length)
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
