//! The side of a meeting that waits: the connections come in by the listener, in any order.

use std::io;
use std::net::TcpStream;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use garland_protocol::Secret;

/// What the other agent of a meeting is let in for.
pub struct Invitation {
    secret: Secret,
    seats: Mutex<Vec<Option<TcpStream>>>,
    taken: Condvar,
}

impl Invitation {
    /// For a guest that holds `secret` and comes with so many connections.
    pub fn new(secret: Secret, streams: u16) -> Self {
        let seats = (0..streams).map(|_| None).collect();
        Self { secret, seats: Mutex::new(seats), taken: Condvar::new() }
    }

    /// What the guest must hold.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// The guest's connection `number` has come; one that wasn't invited is closed.
    pub fn seat(&self, number: u16, stream: TcpStream) {
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seat) = seats.get_mut(usize::from(number)).filter(|seat| seat.is_none()) {
            *seat = Some(stream);
            self.taken.notify_all();
        }
    }

    /// All connections, in the order of their numbers.
    ///
    /// # Errors
    /// When they haven't all come in time.
    pub fn all(&self, patience: Duration) -> io::Result<Vec<TcpStream>> {
        let seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        let absent = |seats: &mut Vec<Option<TcpStream>>| seats.iter().any(Option::is_none);
        let (mut seats, _) = self
            .taken
            .wait_timeout_while(seats, patience, absent)
            .unwrap_or_else(PoisonError::into_inner);
        let late = seats.iter().any(Option::is_none);
        let streams: Vec<TcpStream> = std::mem::take(&mut *seats).into_iter().flatten().collect();
        if late { Err(io::ErrorKind::TimedOut.into()) } else { Ok(streams) }
    }
}
