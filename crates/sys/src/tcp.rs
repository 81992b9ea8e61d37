//! TCP sockets: connecting, listening, options, and non-blocking transfers.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::net::sockopt;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::mptcp::Transport;
use crate::socket::{TcpListener, TcpStream};
use crate::world;

/// The congestion controls for links inside a cluster, best first. They replace bbr where it is the
/// default. Without the fq queueing discipline, bbr paces by timers: this takes twice the CPU time
/// of a loss-based algorithm, and gains nothing inside one site.
pub const PREFERRED: [&str; 2] = ["cubic", "reno"];

/// Connects within `timeout`.
///
/// # Errors
/// When the connection is refused or times out.
pub fn connect(
    address: SocketAddr,
    timeout: Duration,
    transport: Transport,
) -> io::Result<TcpStream> {
    if let Some(connected) = world::connect(address, timeout) {
        return connected.map(|(real, ends)| TcpStream::simulated(real, ends));
    }
    let stream = transport.connect(address, timeout)?;
    stream.set_nodelay(true)?;
    Ok(stream.into())
}

/// Connects by plain TCP within `timeout`. Packets in both directions have at most `bytes` bytes,
/// including headers (`TCP_MAXSEG`, which is announced to the other end).
///
/// # Errors
/// When the kernel refuses that size, or the connection is refused or times out.
pub fn connect_in_packets(
    bytes: u16,
    address: SocketAddr,
    timeout: Duration,
) -> io::Result<TcpStream> {
    const TCP: u16 = 20;
    let headers = if address.is_ipv4() { 20 + TCP } else { 40 + TCP };
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_mss(u32::from(bytes.saturating_sub(headers)))?;
    socket.connect_timeout(&address.into(), timeout)?;
    let stream = std::net::TcpStream::from(socket);
    stream.set_nodelay(true)?;
    Ok(stream.into())
}

/// Connects through the interface with this name within `timeout`, regardless of routes.
///
/// # Errors
/// When there is no such interface, or the connection is refused or times out.
pub fn connect_by(
    interface: &str,
    address: SocketAddr,
    timeout: Duration,
) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.bind_device(Some(interface.as_bytes()))?;
    socket.connect_timeout(&address.into(), timeout)?;
    Ok(std::net::TcpStream::from(socket).into())
}

/// Listens on `port` of all addresses, IPv6 and IPv4 if the host has both; port 0 means any free
/// one. An MPTCP listener accepts plain TCP, too. For a second a connection is accepted only when
/// its first bytes have arrived: until then a silent peer is the kernel's.
///
/// # Errors
/// When the port is in use or the host has no network.
pub fn listen(port: u16, transport: Transport) -> io::Result<TcpListener> {
    if let Some(listening) = world::listen(port) {
        return listening.map(TcpListener::simulated);
    }
    let any6 = SocketAddr::from((std::net::Ipv6Addr::UNSPECIFIED, port));
    let any4 = SocketAddr::from((std::net::Ipv4Addr::UNSPECIFIED, port));
    let both = || {
        let socket = transport.socket(Domain::IPV6)?;
        socket.set_only_v6(false)?;
        bind(socket, any6, transport)
    };
    match both() {
        Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
            bind(transport.socket(Domain::IPV4)?, any4, transport)
        }
        result => result,
    }
}

/// Listens on `address` only; port 0 means any free one. An MPTCP listener accepts plain TCP, too.
///
/// # Errors
/// When the port is in use, or the address is none of this host.
pub fn listen_at(address: SocketAddr, transport: Transport) -> io::Result<TcpListener> {
    if let Some(listening) = world::listen(address.port()) {
        return listening.map(TcpListener::simulated);
    }
    bind(transport.socket(Domain::for_address(address))?, address, transport)
}

fn bind(socket: Socket, address: SocketAddr, transport: Transport) -> io::Result<TcpListener> {
    /// The maximum number of connections that wait to be accepted. The kernel allows no more than
    /// `net.core.somaxconn`, 4096 on most systems.
    const BACKLOG: i32 = 4096;
    /// How long a peer may be silent before its connection is accepted nevertheless.
    const SILENT_S: libc::c_int = 1;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    // With MPTCP, further subflows of a connection would be silent peers: they could not join it.
    if transport == Transport::Tcp {
        // On failure silent peers are accepted at once.
        let _ = defer_accept(&socket, SILENT_S);
    }
    socket.listen(BACKLOG)?;
    Ok(std::net::TcpListener::from(socket).into())
}

/// Makes the kernel report connections of a listening socket only when bytes have arrived on them,
/// or `seconds` have passed (`TCP_DEFER_ACCEPT`).
fn defer_accept(socket: &Socket, seconds: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open for the call's duration (borrowed from `socket`), and the
    // option's value is a C int whose address and size are passed.
    let result = unsafe {
        libc::setsockopt(
            std::os::fd::AsRawFd::as_raw_fd(socket),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the first congestion control of `wanted` that the kernel allows, or keeps the default if it
/// allows none. Returns the one in force.
///
/// # Errors
/// When the kernel does not report the congestion control in force.
pub fn choose_congestion(stream: &TcpStream, wanted: &[&str]) -> io::Result<String> {
    if stream.is_simulated() {
        return Ok(String::new());
    }
    for name in wanted {
        if sockopt::set_tcp_congestion(stream, name).is_ok() {
            break;
        }
    }
    Ok(sockopt::tcp_congestion(stream)?)
}

/// Returns the congestion control that `choose_congestion` would set on this host.
///
/// # Errors
/// When the host has no network.
pub fn congestion_in_force(wanted: &[&str]) -> io::Result<String> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    choose_congestion(&std::net::TcpStream::from(socket).into(), wanted)
}

/// Wakes a reader of `stream` only after at least `bytes` bytes have arrived, or the stream has
/// ended (`SO_RCVLOWAT`). This saves CPU time if bytes arrive in small pieces.
///
/// At most a quarter of the window is waited for: about an eighth of the receive buffer. The kernel
/// enlarges the buffer by what a reader takes in a round trip beyond what is left in the queue
/// (Linux
/// 6.16 and later, `tcp_rcv_space_adjust`). If each call had to wait for a whole window, that would
/// be nothing, and the window would stay as small as it was: 64 KiB for each round trip.
///
/// # Errors
/// When the kernel refuses.
pub fn set_low_water(stream: &TcpStream, bytes: u32) -> io::Result<()> {
    if stream.is_simulated() {
        return Ok(());
    }
    let most = SockRef::from(stream).recv_buffer_size()? / 8;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(most.max(1));
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: the descriptor is open for the call's duration (borrowed from `stream`), and the
    // option's value is a C int whose address and size are passed.
    let result = unsafe {
        libc::setsockopt(
            std::os::fd::AsRawFd::as_raw_fd(stream),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the number of bytes that one connection can have on its way at most: about two thirds of
/// the largest buffer that the kernel gives a sender by itself (`net.ipv4.tcp_wmem`), the rest of
/// which goes to its account of packets. `None` if the kernel does not tell.
#[must_use]
pub fn most_on_its_way() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_wmem").ok()?;
    let largest: u64 = text.split_ascii_whitespace().nth(2)?.parse().ok()?;
    Some(largest * 2 / 3)
}

/// Limits the payload rate of `stream` in bytes per second; 0 means no limit. The kernel spaces the
/// packets evenly; since Linux 4.13 this needs no queueing discipline.
///
/// # Errors
/// When the kernel refuses.
pub fn pace(stream: &TcpStream, bytes_per_second: u64) -> io::Result<()> {
    if bytes_per_second == 0 || stream.is_simulated() {
        return Ok(());
    }
    // Linux before 4.20 takes 32-bit values only, the largest of which means no limit.
    let narrow = bytes_per_second as u32;
    let wide = bytes_per_second as libc::c_ulong;
    let narrow = narrow.to_ne_bytes();
    let wide = wide.to_ne_bytes();
    let fits = bytes_per_second < u64::from(u32::MAX);
    let rate: &[u8] = if fits { &narrow } else { &wide };
    // SAFETY: the descriptor is open for the call's duration (borrowed from `stream`), and the
    // option's value is an integer of one of two sizes, whose address and size are passed.
    let result = unsafe {
        libc::setsockopt(
            std::os::fd::AsRawFd::as_raw_fd(stream),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            rate.as_ptr().cast(),
            rate.len() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits until the low-water mark is reached, then receives the available bytes, at most the length
/// of `buffer`. Returns their number; 0 at the end of the stream.
///
/// It waits by poll(2), not in recv(2): a blocking recv takes the first bytes and then waits until
/// the mark is reached again, which may not happen before the end of the stream.
///
/// # Errors
/// When the connection is broken.
pub fn receive(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    use rustix::io::Errno;
    use rustix::net::RecvFlags;
    loop {
        crate::event::wait_for(stream.as_fd())?;
        match rustix::net::recv(stream, &mut *buffer, RecvFlags::DONTWAIT) {
            Ok((received, _)) => return stream.ended(received),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Receives the available bytes without waiting, at most the length of `buffer`. Returns their
/// number: `None` if there are none or a signal interrupted the call, 0 at the end of the stream.
///
/// # Errors
/// When the connection is broken.
pub fn try_receive(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    use rustix::io::Errno;
    use rustix::net::RecvFlags;
    match rustix::net::recv(stream, buffer, RecvFlags::DONTWAIT) {
        Ok((received, _)) => stream.ended(received).map(Some),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sends as much of `bytes` as the socket accepts without waiting. Returns the number of bytes
/// sent; `None` if the send buffer is full.
///
/// # Errors
/// When the connection is broken.
pub fn try_send(stream: &TcpStream, bytes: &[u8]) -> io::Result<Option<usize>> {
    use rustix::io::Errno;
    use rustix::net::SendFlags;
    match rustix::net::send(stream, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        Ok(sent) => Ok(Some(sent)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Enables TCP keep-alive: the kernel detects the loss of a peer on an idle connection after about
/// 15 s.
///
/// # Errors
/// When the kernel refuses.
pub fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    let keep = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(5))
        .with_interval(Duration::from_secs(5))
        .with_retries(2);
    if stream.is_simulated() {
        return Ok(());
    }
    SockRef::from(&**stream).set_tcp_keepalive(&keep)
}

/// Makes the kernel break the connection if sent data is not acknowledged within `limit`
/// (`TCP_USER_TIMEOUT`): the peer's host is down, or a firewall has lost the connection's state.
/// `None` restores the kernel's default.
///
/// # Errors
/// When the kernel refuses.
pub fn break_unacknowledged(stream: &TcpStream, limit: Option<Duration>) -> io::Result<()> {
    if stream.is_simulated() {
        return Ok(());
    }
    SockRef::from(&**stream).set_tcp_user_timeout(limit)
}

/// Makes closing the connection send a reset to the peer and drop unsent bytes.
///
/// # Errors
/// When the kernel refuses.
pub fn reset_on_close(stream: &TcpStream) -> io::Result<()> {
    SockRef::from(&**stream).set_linger(Some(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_takes_connections_and_a_taken_port_is_refused() {
        let listener = listen(0, Transport::Tcp).unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let stream = connect(address, Duration::from_secs(1), Transport::Tcp).unwrap();
        assert!(!choose_congestion(&stream, &PREFERRED).unwrap().is_empty());
        set_low_water(&stream, 1 << 20).unwrap();
        let option = std::os::fd::AsRawFd::as_raw_fd(&stream);
        let mut waited_for: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the descriptor is open, and the kernel writes at most `length` bytes, the size of
        // the value.
        let result = unsafe {
            libc::getsockopt(
                option,
                libc::SOL_SOCKET,
                libc::SO_RCVLOWAT,
                (&raw mut waited_for).cast(),
                &raw mut length,
            )
        };
        let buffer = SockRef::from(&stream).recv_buffer_size().unwrap();
        assert_eq!((result, waited_for as usize), (0, buffer / 8), "a quarter of the window");
        assert_eq!(listen(port, Transport::Tcp).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn a_silent_peer_is_accepted_later_than_one_that_speaks() {
        use std::io::Write;
        let listener = listen(0, Transport::Tcp).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], listener.local_addr().unwrap().port()));
        let dial = || connect(address, Duration::from_secs(1), Transport::Tcp).unwrap();
        let silent = dial();
        let mut speaks = dial();
        speaks.write_all(b"x").unwrap();
        let (_, first) = listener.accept().unwrap();
        assert_eq!(first.port(), speaks.local_addr().unwrap().port());
        let (_, second) = listener.accept().unwrap();
        assert_eq!(second.port(), silent.local_addr().unwrap().port());
    }

    #[test]
    fn a_listener_at_an_address_is_not_reached_by_another_one() {
        let own = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = listen_at(own, Transport::Tcp).unwrap();
        let port = listener.local_addr().unwrap().port();
        let reached = |address: [u8; 4]| {
            let address = SocketAddr::from((address, port));
            connect(address, Duration::from_secs(1), Transport::Tcp).map(drop)
        };
        assert!(reached([127, 0, 0, 1]).is_ok());
        let refused = reached([127, 0, 0, 2]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let foreign = listen_at(SocketAddr::from(([192, 0, 2, 1], 0)), Transport::Tcp);
        assert_eq!(foreign.unwrap_err().kind(), io::ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn packets_are_kept_to_their_size_by_both_ends() {
        let listener = listen(0, Transport::Tcp).unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let stream = connect_in_packets(576, address, Duration::from_secs(1)).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        for end in [&stream, &accepted] {
            // 40 bytes of headers, and 12 of timestamps if they are on.
            let segment = crate::tcp_info::TcpInfo::read(end).unwrap().segment_size;
            assert!([524, 536].contains(&segment), "{segment}");
        }
        assert!(connect_in_packets(100, address, Duration::from_secs(1)).is_err());
    }
}
