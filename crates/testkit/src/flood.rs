//! Strangers that open connections to a port as fast as the machine allows.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};

/// A thread that opens connections to a port of this machine, sends the same bytes on each, and
/// never receives. It ends when this value is dropped.
#[derive(Debug)]
pub struct Flood {
    is_over: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Flood {
    /// Opens connections to `port` from these addresses by turns, and sends `bytes` on each. The
    /// newest `held` connections stay open; older ones are reset, so that no port is used up.
    #[must_use]
    pub fn start(addresses: &[Ipv4Addr], port: u16, held: usize, bytes: Vec<u8>) -> Self {
        let addresses = addresses.to_vec();
        let is_over = Arc::<AtomicBool>::default();
        let sent = Arc::<AtomicU64>::default();
        let its_end = Arc::clone(&is_over);
        let its_count = Arc::clone(&sent);
        let thread = std::thread::spawn(move || {
            let mut open = VecDeque::new();
            for address in addresses.into_iter().cycle() {
                if its_end.load(Ordering::Relaxed) {
                    break;
                }
                match connect(address, port, &bytes) {
                    Ok(socket) => open.push_back(socket),
                    // The kernel has no room at the moment.
                    Err(_) => std::thread::sleep(Duration::from_millis(1)),
                }
                its_count.fetch_add(1, Ordering::Relaxed);
                if open.len() > held {
                    let socket = open.pop_front();
                    // A reset leaves nothing in the kernel.
                    let reset = |socket| sockopt::set_socket_linger(socket, Some(Duration::ZERO));
                    let _ = socket.as_ref().map(reset);
                }
            }
        });
        Self { is_over, sent, thread: Some(thread) }
    }

    /// Returns how many connections were opened.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn connect(address: Ipv4Addr, port: u16, bytes: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    rustix::net::bind(&socket, &SocketAddrV4::new(address, 0))?;
    match rustix::net::connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error),
    }
    // A handshake over loopback is mostly done by now; otherwise nothing is sent.
    let _ = rustix::net::send(&socket, bytes, SendFlags::NOSIGNAL);
    Ok(socket)
}
