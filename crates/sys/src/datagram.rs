//! UDP datagrams that are sent through a chosen interface without fragmentation, and received
//! together with the interface that they arrived on (`SO_BINDTODEVICE`, `IP_PKTINFO`,
//! `IP_MTU_DISCOVER`; ip(7), socket(7)). This needs no privilege since Linux 5.7.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// A non-blocking UDP socket.
#[derive(Debug)]
pub struct DatagramSocket(Socket);

/// The sender, the interface and the length of a received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The number of bytes that were written to the buffer.
    pub length: usize,
    /// The address of the sender.
    pub from: SocketAddrV4,
    /// The index of the interface that received the datagram.
    pub interface: u32,
}

/// A buffer for one control message with a `struct in_pktinfo`, aligned for `struct cmsghdr`.
#[repr(align(8))]
struct Control([u8; 64]);

impl DatagramSocket {
    /// Opens a socket that listens on `port` of all addresses; 0 means any free port. If
    /// `interface` is given, the socket sends and receives only through the interface with this
    /// name.
    ///
    /// # Errors
    /// When the port is in use, or the kernel refuses an option.
    pub fn open(port: u16, interface: Option<&str>) -> io::Result<Self> {
        Self::bind(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port), interface)
    }

    /// Opens a socket that listens at one address of this host; port 0 means any free one.
    ///
    /// # Errors
    /// When the port is in use, the address is none of this host, or the kernel refuses an option.
    pub fn open_at(address: SocketAddrV4) -> io::Result<Self> {
        Self::bind(address, None)
    }

    fn bind(address: SocketAddrV4, interface: Option<&str>) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        socket.set_broadcast(true)?;
        if let Some(interface) = interface {
            socket.bind_device(Some(interface.as_bytes()))?;
        }
        socket.bind(&SockAddr::from(address))?;
        let socket = Self(socket);
        socket.set(libc::IP_PKTINFO, 1)?;
        Ok(socket)
    }

    /// Forbids fragmentation: packets are sent whole or not at all, whatever path MTU the kernel
    /// assumes.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn never_cut(&self) -> io::Result<()> {
        self.set(libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
    }

    /// Returns the port of the socket.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub fn port(&self) -> io::Result<u16> {
        let address = self.0.local_addr()?.as_socket_ipv4();
        Ok(address.ok_or(io::ErrorKind::AddrNotAvailable)?.port())
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// When there is no route to the address, or the packet is larger than the MTU of the interface
    /// (`EMSGSIZE`).
    pub fn send(&self, bytes: &[u8], to: SocketAddrV4) -> io::Result<()> {
        self.0.send_to(bytes, &SockAddr::from(to)).map(drop)
    }

    /// Sends a datagram through the interface with this index, from the address at which the socket
    /// listens: without it, the kernel would choose one of the interface.
    ///
    /// # Errors
    /// Those of [`DatagramSocket::send`].
    pub fn send_by(&self, interface: u32, bytes: &[u8], to: SocketAddrV4) -> io::Result<()> {
        let address = SockAddr::from(to);
        // The unspecified address, of a socket that listens at all, lets the kernel choose.
        let own = self.0.local_addr()?.as_socket_ipv4().map_or(0, |own| u32::from(*own.ip()));
        let mut control = Control([0; 64]);
        let mut piece =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: `msghdr` consists of numbers and pointers, for which zeroes are valid. Everything
        // that it points to outlives the call of sendmsg, which only reads it; the control buffer
        // is aligned and large enough for one header with an `in_pktinfo` (CMSG_SPACE is 32 at
        // most).
        let sent = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_name = address.as_ptr().cast_mut().cast();
            message.msg_namelen = address.len();
            message.msg_iov = &raw mut piece;
            message.msg_iovlen = 1;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen =
                libc::CMSG_SPACE(size_of::<libc::in_pktinfo>() as u32) as usize;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::IPPROTO_IP;
            (*header).cmsg_type = libc::IP_PKTINFO;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<libc::in_pktinfo>() as u32) as usize;
            let mut info: libc::in_pktinfo = std::mem::zeroed();
            info.ipi_ifindex = i32::try_from(interface).map_err(io::Error::other)?;
            info.ipi_spec_dst.s_addr = own.to_be();
            libc::CMSG_DATA(header).cast::<libc::in_pktinfo>().write_unaligned(info);
            libc::sendmsg(self.0.as_raw_fd(), &raw const message, 0)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Receives a datagram into `buffer` without waiting.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when no datagram has arrived.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Arrival> {
        let mut control = Control([0; 64]);
        // SAFETY: both consist of numbers and pointers, for which zeroes are valid. Everything that
        // the message points to outlives the call of recvmsg and has the given lengths.
        let (length, from, interface) = unsafe {
            let mut from: libc::sockaddr_in = std::mem::zeroed();
            let mut message: libc::msghdr = std::mem::zeroed();
            let mut piece =
                libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            message.msg_name = (&raw mut from).cast();
            message.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
            message.msg_iov = &raw mut piece;
            message.msg_iovlen = 1;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = control.0.len();
            let length = libc::recvmsg(self.0.as_raw_fd(), &raw mut message, 0);
            (length, from, interface(&message))
        };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        let address = Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr));
        let from = SocketAddrV4::new(address, u16::from_be(from.sin_port));
        Ok(Arrival { length, from, interface: interface.unwrap_or_default() })
    }

    fn set(&self, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        // SAFETY: the descriptor is open, and the value is a C int whose size is passed.
        let result = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::IPPROTO_IP,
                option,
                (&raw const value).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Returns the index of the interface in the control data of a received message.
///
/// # Safety
/// The control buffer of `message` must still exist, and be zeroed or filled by recvmsg.
unsafe fn interface(message: &libc::msghdr) -> Option<u32> {
    // SAFETY: the macros walk the control messages that recvmsg wrote; the data of an `IP_PKTINFO`
    // message is an `in_pktinfo`.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::IPPROTO_IP && (*header).cmsg_type == libc::IP_PKTINFO {
                let info = libc::CMSG_DATA(header).cast::<libc::in_pktinfo>().read_unaligned();
                return u32::try_from(info.ipi_ifindex).ok();
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

impl AsFd for DatagramSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_datagram_says_how_it_came_and_an_answer_goes_back() {
        let [one, two] = [(); 2].map(|()| DatagramSocket::open(0, None).unwrap());
        let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, two.port().unwrap());
        let mut buffer = [0; 100];
        assert_eq!(two.receive(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        one.never_cut().unwrap();
        one.send(b"there", to).unwrap();
        let wait = |socket: &DatagramSocket| {
            crate::event::wait_readable(&[socket.as_fd()], Some(Duration::from_secs(5))).unwrap()
        };
        wait(&two);
        let arrival = two.receive(&mut buffer).unwrap();
        assert_eq!(&buffer[..arrival.length], b"there");
        assert_eq!(arrival.from.port(), one.port().unwrap());
        assert_ne!(arrival.interface, 0);
        two.send_by(arrival.interface, b"back", arrival.from).unwrap();
        wait(&one);
        assert_eq!(one.receive(&mut buffer).unwrap().length, 4);
        let long = one.send(&[0; 65_507], to);
        assert!(long.is_ok() || long.unwrap_err().raw_os_error() == Some(libc::EMSGSIZE));
    }

    #[test]
    fn an_answer_comes_from_the_address_that_was_asked() {
        let asking = DatagramSocket::open(0, None).unwrap();
        let asked = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 3), 0);
        let answering = DatagramSocket::open_at(asked).unwrap();
        let asked = SocketAddrV4::new(*asked.ip(), answering.port().unwrap());
        let mut buffer = [0; 8];
        let wait = |socket: &DatagramSocket| {
            crate::event::wait_readable(&[socket.as_fd()], Some(Duration::from_secs(5))).unwrap()
        };
        asking.send(b"there", asked).unwrap();
        wait(&answering);
        let arrival = answering.receive(&mut buffer).unwrap();
        answering.send_by(arrival.interface, b"back", arrival.from).unwrap();
        wait(&asking);
        assert_eq!(asking.receive(&mut buffer).unwrap().from, asked);
    }
}
