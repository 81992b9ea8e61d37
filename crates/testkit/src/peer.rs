//! A hostile peer: sends and receives raw bytes over TCP.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType};

use crate::waiting::DEADLINE;

/// A TCP connection to a port of this machine.
#[derive(Debug)]
pub struct Peer {
    stream: TcpStream,
}

impl Peer {
    /// Connects to `port`.
    ///
    /// # Panics
    /// When no socket listens there.
    #[must_use]
    pub fn connect(port: u16) -> Self {
        Self::connect_from(Ipv4Addr::UNSPECIFIED, port)
    }

    /// Connects to `port` from another address of this machine, such as `127.0.0.9`.
    ///
    /// # Panics
    /// When no socket listens there.
    #[must_use]
    pub fn connect_from(address: Ipv4Addr, port: u16) -> Self {
        let peer = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)
            .expect("a socket can be had");
        rustix::net::bind(&peer, &SocketAddrV4::new(address, 0)).expect("it is this machine's");
        rustix::net::connect(&peer, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))
            .unwrap_or_else(|error| panic!("connecting to port {port}: {error}"));
        let stream = TcpStream::from(peer);
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout can be set");
        stream.set_write_timeout(Some(Duration::from_secs(5))).expect("a timeout can be set");
        Self { stream }
    }

    /// Returns whether the other side has closed the connection. Bytes received so far are dropped.
    #[must_use]
    pub fn is_hung_up(&self) -> bool {
        self.stream.set_nonblocking(true).expect("a socket can be");
        let read = (&self.stream).read(&mut [0; 256]);
        self.stream.set_nonblocking(false).expect("a socket can be");
        match read {
            Ok(read) => read == 0,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }

    /// Sends bytes. Errors are ignored, since the other side may have closed the connection.
    pub fn say(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Shuts down the sending direction of the connection.
    pub fn hush(&self) {
        // The other side may have hung up.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Returns all bytes that arrive until the other side closes the connection.
    ///
    /// # Panics
    /// When the connection is not closed before the deadline.
    #[must_use]
    pub fn hear_all(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Err(error) = self.stream.read_to_end(&mut bytes) {
            let kind = error.kind();
            assert!(kind == std::io::ErrorKind::ConnectionReset, "still connected: {error}");
        }
        bytes
    }
}
