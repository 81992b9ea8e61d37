//! Sends the agent's own program to nodes that do not have it. The head issues tickets, each valid
//! for one node and one use; without a ticket nothing is sent.
//!
//! The program is not secret, and the node compares it with the digest that the head sent over ssh.
//! Tickets only prevent strangers from causing traffic.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use garland_protocol::wire::Secret;
use garland_sys::clock;
use garland_sys::clock::after;
use garland_sys::event::Wake;
use garland_sys::socket::TcpStream;
use garland_sys::sync::Mutex;
use garland_transport::TICKET_LEN;

use crate::session::Session;

/// The number of nodes that are served at a time; further ones are refused.
const AT_ONCE: usize = 8;

/// The number of tickets that are kept; the oldest are removed first.
const TICKETS_MAX: usize = 1024;

/// Opens the program as it travels to nodes.
pub type OpenProgram = fn() -> io::Result<Box<dyn Read>>;

/// Timeout for sending the whole program.
const SENDING_TIMEOUT: Duration = Duration::from_secs(120);

/// The tickets that have been issued and not redeemed.
pub struct GivingRights {
    open: Mutex<Vec<Ticket>>,
    /// Raised when tickets are added.
    added: Arc<Wake>,
    giving: AtomicUsize,
}

struct Ticket {
    secret: Secret,
    /// The session of the controller that issued the ticket; when it ends, the ticket is no longer
    /// valid.
    session: Weak<Session>,
    until_ns: u64,
}

/// The permission to send the program once, to the node that redeemed a ticket. Dropping this lets
/// another node be served.
pub struct Leave<'a>(&'a AtomicUsize);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl GivingRights {
    /// Creates an empty set, which raises `added` when tickets are added.
    pub fn new(added: Arc<Wake>) -> Self {
        Self { open: Mutex::default(), added, giving: AtomicUsize::new(0) }
    }

    /// Adds tickets of a controller, valid for `seconds`.
    pub fn add(&self, session: &Arc<Session>, secrets: Vec<Secret>, seconds: u16) {
        let until_ns = clock::now_ns() + u64::from(seconds) * 1_000_000_000;
        let mut open = self.open.lock();
        let session = Arc::downgrade(session);
        let ticket = |secret| Ticket { secret, session: Weak::clone(&session), until_ns };
        open.extend(secrets.into_iter().map(ticket));
        let surplus = open.len().saturating_sub(TICKETS_MAX);
        open.drain(..surplus);
        self.added.raise();
    }

    /// Whether a ticket in hexadecimal can be redeemed.
    pub fn knows(&self, said: &[u8; TICKET_LEN]) -> bool {
        let open = self.open.lock();
        parse(said).is_some_and(|said| open.iter().any(|ticket| ticket.is(&said)))
    }

    /// Redeems a ticket in hexadecimal, which is valid once. Returns `None` if the ticket is not
    /// valid, or if too many nodes are being served.
    pub fn redeem(&self, said: &[u8; TICKET_LEN]) -> Option<Leave<'_>> {
        let said = parse(said)?;
        let now = clock::now_ns();
        let mut open = self.open.lock();
        let at = open.iter().position(|ticket| ticket.is(&said))?;
        let ticket = open.swap_remove(at);
        open.retain(|ticket| ticket.is_good(now));
        drop(open);
        self.giving.fetch_add(1, Ordering::AcqRel);
        let leave = Leave(&self.giving);
        let free = self.giving.load(Ordering::Acquire) <= AT_ONCE;
        (free && ticket.is_good(now)).then_some(leave)
    }
}

impl Ticket {
    fn is(&self, said: &[u8; 32]) -> bool {
        verify_slices_are_equal(&self.secret.0, said).is_ok()
    }

    fn is_good(&self, now_ns: u64) -> bool {
        now_ns < self.until_ns && self.session.strong_count() > 0
    }
}

/// Sends what `open` opens, the program for nodes, and waits until the peer has received it.
///
/// # Errors
/// When the program cannot be opened, or the peer is gone or too slow.
pub fn give(stream: &mut TcpStream, open: OpenProgram, _leave: &Leave<'_>) -> io::Result<()> {
    let deadline = after(SENDING_TIMEOUT);
    let mut image = open()?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = image.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        if clock::now_ns() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.write_all(&buffer[..read])?;
    }
    stream.shutdown(Shutdown::Write)?;
    // Closing a connection with unread input would reset it, and could discard the last bytes.
    let _ = stream.read(&mut [0])?;
    Ok(())
}

fn parse(hex: &[u8; TICKET_LEN]) -> Option<[u8; 32]> {
    let mut secret = [0; 32];
    for (byte, pair) in secret.iter_mut().zip(hex.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = u8::try_from(digit(0)? << 4 | digit(1)?).ok()?;
    }
    Some(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_read_from_hexadecimal_only() {
        let mut said = [b'0'; TICKET_LEN];
        said[..4].copy_from_slice(b"0aFf");
        let secret = parse(&said).expect("all of it is hexadecimal");
        assert_eq!(secret[..3], [0x0a, 0xff, 0]);
        said[63] = b'\n';
        assert_eq!(parse(&said), None);
    }

    #[test]
    fn a_ticket_that_was_not_issued_is_refused() {
        let rights = GivingRights::new(Arc::new(Wake::new().expect("a descriptor is left")));
        assert!(!rights.knows(&[b'0'; TICKET_LEN]));
        assert!(rights.redeem(&[b'0'; TICKET_LEN]).is_none());
    }
}
