//! Detours to agents whose ports this process cannot reach by TCP, such as through a login on their
//! node. Like the routes of a kernel they apply to all connections of the process.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpStream;
use garland_sys::sync::Mutex;
use garland_sys::tcp;

/// The detours of this process, by the agent's address.
static DETOURS: Mutex<BTreeMap<SocketAddr, Arc<dyn Detour>>> = Mutex::new(BTreeMap::new());

/// Opens connections to an agent.
pub trait Detour: Send + Sync {
    /// Opens a connection to the agent at `address`.
    ///
    /// # Errors
    /// When there is none. The error is [`io::ErrorKind::ConnectionRefused`] only if the agent's
    /// node says that nothing listens there.
    fn open(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// From now on opens connections to the agent at `address` by `detour`.
pub fn take(address: SocketAddr, detour: Arc<dyn Detour>) {
    let _ = DETOURS.lock().insert(address, detour);
}

/// From now on opens connections to the agent at `address` by TCP again. Returns the detour that it
/// had.
pub fn leave(address: &SocketAddr) -> Option<Arc<dyn Detour>> {
    DETOURS.lock().remove(address)
}

/// Returns whether connections to the agent at `address` take a detour.
#[must_use]
pub fn is_taken(address: &SocketAddr) -> bool {
    DETOURS.lock().contains_key(address)
}

/// Connects to the agent at `address`, by its detour or within `timeout` by TCP.
///
/// # Errors
/// When the connection fails.
pub fn connect(
    address: SocketAddr,
    timeout: Duration,
    transport: Transport,
) -> io::Result<TcpStream> {
    let detour = DETOURS.lock().get(&address).cloned();
    match detour {
        Some(detour) => detour.open(address),
        None => tcp::connect(address, timeout, transport),
    }
}
