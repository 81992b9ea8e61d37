//! The accepting side of a meeting: its connections come from the listener, in any order.

use std::io;
use std::time::Duration;

use garland_protocol::wire::Secret;
use garland_sys::socket::TcpStream;
use garland_sys::sync::{Condvar, Mutex};

/// The connections that the other agent of a meeting is expected to open.
pub struct Invitation {
    /// The secret that the other agent, the guest, must know.
    pub secret: Secret,
    /// The connections that have arrived, by number; `None` for missing ones.
    streams: Mutex<Vec<Option<TcpStream>>>,
    arrived: Condvar,
}

impl Invitation {
    /// Creates an invitation for `streams` connections of a guest that knows `secret`.
    pub fn new(secret: Secret, streams: u16) -> Self {
        let streams = (0..streams).map(|_| None).collect();
        Self { secret, streams: Mutex::new(streams), arrived: Condvar::new() }
    }

    /// Adds the guest's connection `number`; closes one that is not expected.
    pub fn add(&self, number: u16, stream: TcpStream) {
        let mut streams = self.streams.lock();
        if let Some(slot) = streams.get_mut(usize::from(number)).filter(|slot| slot.is_none()) {
            *slot = Some(stream);
            self.arrived.notify_all();
        }
    }

    /// Waits for all connections and returns them in the order of their numbers.
    ///
    /// # Errors
    /// When some are missing after `patience`.
    pub fn all(&self, patience: Duration) -> io::Result<Vec<TcpStream>> {
        let mut streams = self.streams.lock();
        let absent = |streams: &mut Vec<Option<TcpStream>>| streams.iter().any(Option::is_none);
        let _ = self.arrived.wait_while_for(&mut streams, absent, patience);
        let all: Option<Vec<TcpStream>> = std::mem::take(&mut *streams).into_iter().collect();
        all.ok_or_else(|| io::ErrorKind::TimedOut.into())
    }
}
