//! Sends and receives Ethernet frames on an interface, without IP, its routes and its filters
//! (packet(7)). This needs `CAP_NET_RAW` in the user namespace that owns the network namespace;
//! without it, use [`crate::datagram`].

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The first local experimental EtherType of IEEE 802.
pub const EXPERIMENTAL: u16 = 0x88B5;

/// A non-blocking socket for frames of one EtherType on one interface.
#[derive(Debug)]
pub struct FrameSocket {
    fd: OwnedFd,
    address: libc::sockaddr_ll,
}

const LENGTH: libc::socklen_t = size_of::<libc::sockaddr_ll>() as libc::socklen_t;

/// A non-blocking packet socket that is bound to one interface.
pub(crate) struct BoundSocket {
    /// The socket.
    pub fd: OwnedFd,
    /// What it is bound to.
    pub address: libc::sockaddr_ll,
}

impl BoundSocket {
    /// Opens a socket of a `kind`, such as `SOCK_RAW`, for frames of `protocol` on the interface
    /// with this index.
    pub fn open(interface: u32, kind: libc::c_int, protocol: u16) -> io::Result<Self> {
        let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: socket takes numbers only; on success it returns a new descriptor, which nothing
        // else owns.
        let fd = unsafe {
            // Protocol 0: no frame of another interface is received before the socket is bound.
            let fd = libc::socket(libc::AF_PACKET, kind, 0);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: `sockaddr_ll` consists of numbers, for which zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = i32::try_from(interface).map_err(io::Error::other)?;
        // SAFETY: the address is a whole `sockaddr_ll` of the length that is passed.
        let result = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), LENGTH) };
        if result != 0 { Err(io::Error::last_os_error()) } else { Ok(Self { fd, address }) }
    }
}

impl FrameSocket {
    /// Opens a socket on the interface with this index.
    ///
    /// # Errors
    /// When the process lacks the privilege, or there is no such interface.
    pub fn open(interface: u32, ethertype: u16) -> io::Result<Self> {
        let BoundSocket { fd, mut address } =
            BoundSocket::open(interface, libc::SOCK_DGRAM, ethertype)?;
        address.sll_halen = 6;
        address.sll_addr[..6].fill(0xff);
        let socket = Self { fd, address };
        socket.go_past_queues();
        Ok(socket)
    }

    /// Makes frames bypass the queueing discipline, so that the few frames do not wait behind data.
    /// Kernels without this option queue them, which is no error.
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

    /// Receives the payload of a frame into `buffer` without waiting. Returns its length in bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when no frame has arrived.
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
