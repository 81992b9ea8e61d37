//! Takes whole Ethernet frames from one device and sends them from another (packet(7)), with what a
//! NIC would still have to do for them: each frame stands behind a `virtio_net_hdr`
//! (`PACKET_VNET_HDR`), which says at which length the segment is to be cut and where a checksum is
//! missing. So a segment of 64 KiB stays one, and checksums are neither computed nor lost.
//!
//! This needs `CAP_NET_RAW` in the user namespace that owns the network namespace.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::clock;
use crate::packet::BoundSocket;

/// The length of a `virtio_net_hdr` in bytes.
const HEADER: usize = 10;

/// The maximum length of a frame with its header, in bytes: a segment of 64 KiB, behind Ethernet's
/// header and a tag.
pub const FRAME_MAX: usize = HEADER + 18 + 65_536;

/// `PACKET_IGNORE_OUTGOING` of linux/if_packet.h, which libc does not have.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// A non-blocking socket that gets a copy of every frame that arrives at a device. Frames that the
/// device sends are left out.
#[derive(Debug)]
pub struct FrameTap {
    fd: OwnedFd,
}

/// A frame that [`FrameTap::receive`] has put into its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TappedFrame {
    /// The length of the frame with its header, in bytes.
    pub length: usize,
    /// The time since the frame arrived at the device, in nanoseconds.
    pub age_ns: u64,
}

impl FrameTap {
    /// Opens a socket at the device `name`, with room for about `room` bytes of frames that have
    /// not been received yet. If this process may not ask for so much, it has what the system
    /// allows.
    ///
    /// # Errors
    /// When the process lacks the privilege, there is no such device, or the kernel cannot do it.
    pub fn open(name: &str, room: usize) -> io::Result<Self> {
        let fd = open_at(name, libc::ETH_P_ALL as u16)?;
        set(&fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        set(&fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        let room = libc::c_int::try_from(room).unwrap_or(libc::c_int::MAX);
        if set(&fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, room).is_err() {
            set(&fd, libc::SOL_SOCKET, libc::SO_RCVBUF, room)?;
        }
        // Before Linux 4.20 these frames come, too; `receive` leaves them out.
        let _ = set(&fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
        Ok(Self { fd })
    }

    /// Receives the next frame, with its header, into `buffer`, which should have [`FRAME_MAX`]
    /// bytes. Returns `None` if no frame has arrived.
    ///
    /// # Errors
    /// When the frame cannot be passed on as it is, or the device has gone.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<TappedFrame>> {
        loop {
            let mut control = Control { words: [0; CONTROL_WORDS] };
            // SAFETY: `sockaddr_ll` consists of numbers, for which zeroes are valid.
            let mut from: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
            let mut piece =
                libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            // SAFETY: `msghdr` consists of numbers and pointers, for which zeroes are valid.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            message.msg_name = (&raw mut from).cast();
            message.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            message.msg_iov = &raw mut piece;
            message.msg_iovlen = 1;
            message.msg_control = (&raw mut control).cast();
            message.msg_controllen = size_of::<Control>() as _;
            // SAFETY: the message points to a name, a buffer and a control buffer that live here
            // and have the lengths that it says.
            let got =
                unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
            let Ok(length) = usize::try_from(got) else {
                let error = io::Error::last_os_error();
                match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(None),
                    io::ErrorKind::Interrupted => continue,
                    _ => return Err(error),
                }
            };
            if from.sll_pkttype == libc::PACKET_OUTGOING {
                continue;
            }
            let age_ns = arrival_ns(&message).map_or(0, |at| clock::wall_ns().saturating_sub(at));
            return Ok(Some(TappedFrame { length, age_ns }));
        }
    }

    /// Returns the number of frames that found no room since the last call.
    ///
    /// # Errors
    /// When the kernel cannot tell.
    pub fn lost(&self) -> io::Result<u64> {
        /// `struct tpacket_stats` of linux/if_packet.h.
        #[repr(C)]
        struct Statistics {
            packets: libc::c_uint,
            drops: libc::c_uint,
        }
        let mut statistics = Statistics { packets: 0, drops: 0 };
        let mut length = size_of::<Statistics>() as libc::socklen_t;
        // SAFETY: the value is a whole `tpacket_stats` of the length that is passed.
        let result = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(statistics.drops.into())
    }
}

impl AsFd for FrameTap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A socket that sends frames from a device.
#[derive(Debug)]
pub struct FrameOutlet {
    fd: OwnedFd,
}

impl FrameOutlet {
    /// Opens a socket at the device `name`.
    ///
    /// # Errors
    /// Those of [`FrameTap::open`].
    pub fn open(name: &str) -> io::Result<Self> {
        // Protocol 0: the socket receives nothing.
        let fd = open_at(name, 0)?;
        set(&fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        Ok(Self { fd })
    }

    /// Sends a frame as [`FrameTap::receive`] has given it, with its header.
    ///
    /// # Errors
    /// When the device is down or has gone, or the kernel has no memory left.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        rustix::net::send(&self.fd, frame, rustix::net::SendFlags::DONTWAIT)?;
        Ok(())
    }
}

/// Room for the control message with a frame's time, aligned as control messages are.
#[repr(C)]
struct Control {
    words: [u64; CONTROL_WORDS],
}

const CONTROL_WORDS: usize = 16;

/// Returns the time at which the received frame arrived, by the wall clock in nanoseconds; `None`
/// if the kernel has not said it.
fn arrival_ns(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has filled the control buffer of `message` and set its length; the macros
    // stay within it.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !next.is_null() {
        // SAFETY: `next` is a control message within the buffer.
        let header = unsafe { &*next };
        if header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_TIMESTAMPNS {
            // SAFETY: the data of such a message is a `timespec`, which may be unaligned.
            let time: libc::timespec =
                unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(next).cast()) };
            let seconds = u64::try_from(time.tv_sec).ok()?;
            return Some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?);
        }
        // SAFETY: as for the first message.
        next = unsafe { libc::CMSG_NXTHDR(message, next) };
    }
    None
}

/// Opens a raw packet socket for frames of `protocol` at the device `name`.
fn open_at(name: &str, protocol: u16) -> io::Result<OwnedFd> {
    let name = CString::new(name)?;
    // SAFETY: the name is a string that ends with a zero byte.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(BoundSocket::open(index, libc::SOCK_RAW, protocol)?.fd)
}

/// Sets an option of a socket whose value is a C int.
fn set(
    fd: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the value is a C int whose size is passed.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
