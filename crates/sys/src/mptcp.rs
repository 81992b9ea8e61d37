//! MPTCP (RFC 8684): connections that use several paths at once. The kernel's path manager creates
//! the paths from the addresses that `ip mptcp endpoint` configures.
//!
//! If the peer supports only plain TCP, the kernel makes the connection fall back to TCP. If this
//! machine's kernel has no MPTCP, the connection uses TCP from the start.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

/// The transport protocol of data links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Plain TCP.
    #[default]
    Tcp,
    /// MPTCP if the kernels of both ends support it, otherwise TCP.
    Mptcp,
}

impl Transport {
    /// Returns `Mptcp` if `wanted` is set, otherwise `Tcp`.
    #[must_use]
    pub fn mptcp_if(wanted: bool) -> Self {
        if wanted { Self::Mptcp } else { Self::Tcp }
    }

    /// Creates an unconnected socket of this transport.
    pub(crate) fn socket(self, domain: Domain) -> io::Result<Socket> {
        if self == Self::Mptcp {
            match Socket::new(domain, Type::STREAM, Some(Protocol::MPTCP)) {
                Err(error) if is_lacking(&error) => {}
                Ok(socket) if !takes_options(&socket) => {}
                result => return result,
            }
        }
        Socket::new(domain, Type::STREAM, Some(Protocol::TCP))
    }

    /// Connects to `address` within `timeout`.
    ///
    /// # Errors
    /// When the connection is refused or times out.
    pub fn connect(self, address: SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        if self == Self::Tcp {
            return TcpStream::connect_timeout(&address, timeout);
        }
        let socket = self.socket(Domain::for_address(address))?;
        socket.connect_timeout(&address.into(), timeout)?;
        Ok(socket.into())
    }
}

/// Returns whether this machine's kernel has MPTCP, has it enabled, and supports all socket options
/// that links need.
#[must_use]
pub fn is_there() -> bool {
    let socket = Transport::Mptcp.socket(Domain::IPV4);
    socket.and_then(|socket| socket.protocol()).is_ok_and(|is| is == Some(Protocol::MPTCP))
}

/// Returns whether the error means that the kernel has no MPTCP, or that `net.mptcp.enabled` is 0.
fn is_lacking(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    let lacking = [libc::EPROTONOSUPPORT, libc::EINVAL, libc::ENOPROTOOPT, libc::ESOCKTNOSUPPORT];
    lacking.map(Some).contains(&code)
}

/// Returns whether MPTCP sockets of this kernel support the options that links set. Linux 5.6 to
/// 5.15 supports few of them.
fn takes_options(socket: &Socket) -> bool {
    let keep = socket2::TcpKeepalive::new().with_time(Duration::from_secs(5));
    let socket = SockRef::from(socket);
    socket.set_tcp_nodelay(true).is_ok() && socket.set_tcp_keepalive(&keep).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp;

    #[test]
    fn both_transports_reach_both_kinds_of_listeners() {
        assert!(is_there(), "this kernel has no MPTCP, which the tests need");
        for listens in [Transport::Tcp, Transport::Mptcp] {
            let listener = tcp::listen(0, listens).unwrap();
            let port = listener.local_addr().unwrap().port();
            for dials in [Transport::Tcp, Transport::Mptcp] {
                let address = SocketAddr::from(([127, 0, 0, 1], port));
                let stream = tcp::connect(address, Duration::from_secs(1), dials).unwrap();
                tcp::keep_alive(&stream).unwrap();
                tcp::set_low_water(&stream, 4096).unwrap();
                assert!(!tcp::choose_congestion(&stream, &tcp::PREFERRED).unwrap().is_empty());
                let (accepted, _) = listener.accept().unwrap();
                let spoken = SockRef::from(&*accepted).protocol().unwrap();
                let both = (listens, dials) == (Transport::Mptcp, Transport::Mptcp);
                let expected = if both { Protocol::MPTCP } else { Protocol::TCP };
                assert_eq!(spoken, Some(expected), "{listens:?} {dials:?}");
            }
        }
    }
}
