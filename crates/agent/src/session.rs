//! The agent's side of a control channel.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_protocol::{Channel, ChannelError, FromAgent, Line, Message, ToAgent};
use garland_sys::socket::TcpStream;
use garland_sys::sync::Mutex;
use garland_sys::tcp;
use garland_sys::threads::{self, Slots};

use crate::conditions;
use garland_dataplane::tree::TreeSource;
use garland_transport::LinkError;

/// The interval at which a blocked write to the head checks whether the session is over. A head
/// that reads nothing may itself be blocked on its output (`garland exec .. | less`). If the head's
/// host is gone, the kernel breaks the connection, because bytes are not acknowledged.
const PATIENCE: Duration = Duration::from_secs(1);

/// The maximum number of scanned trees of one head: each stays in memory as long as the session.
const TREES_MAX: usize = 16;

/// The maximum number of threads that work for one head at a time.
pub const SLOTS: usize = 128;

/// An open control channel to a head. Threads share it: any may send, one receives.
pub struct Session {
    sending: Mutex<(TcpStream, Line)>,
    receiving: Mutex<Incoming>,
    /// Trees that were scanned for the head, which may copy them; a tree's number is its index.
    trees: Mutex<Vec<Arc<TreeSource>>>,
    over: AtomicBool,
    /// The slots for threads that work for the head; each thread occupies one.
    pub slots: Arc<Slots>,
}

/// The receiving side of a session.
struct Incoming {
    stream: TcpStream,
    line: Line,
    /// The bytes that have arrived and do not form a complete message yet.
    received: Vec<u8>,
}

impl Session {
    /// Creates the session of a controller whose greeting succeeded. Fails unless `first`, the
    /// controller's first message, is a ping.
    pub fn new(stream: TcpStream, channel: Channel, first: &[u8]) -> Result<Self, LinkError> {
        if !matches!(ToAgent::parse(first), Some(ToAgent::Ping)) {
            return Err(ChannelError::Garbage.into());
        }
        stream.set_write_timeout(Some(PATIENCE))?;
        tcp::keep_alive(&stream)?;
        let Channel { sending, receiving: line } = channel;
        let sending = Mutex::new((stream.try_clone()?, sending));
        let receiving = Mutex::new(Incoming { stream, line, received: Vec::new() });
        Ok(Self {
            sending,
            receiving,
            trees: Mutex::default(),
            over: AtomicBool::new(false),
            slots: Slots::new(SLOTS),
        })
    }

    /// Returns the conditions of this node, and of its route to the head, that may affect
    /// measurements.
    pub fn conditions(&self) -> Vec<(String, String)> {
        conditions::of(&self.sending.lock().0)
    }

    /// Keeps a scanned tree. Returns the tree's number, or `None` if there are too many trees.
    pub fn keep(&self, tree: TreeSource) -> Option<u32> {
        let mut trees = self.trees.lock();
        let number = u32::try_from(trees.len()).ok().filter(|_| trees.len() < TREES_MAX)?;
        trees.push(Arc::new(tree));
        Some(number)
    }

    /// Returns the scanned tree with this number, if there is one.
    pub fn tree(&self, number: u32) -> Option<Arc<TreeSource>> {
        let trees = self.trees.lock();
        trees.get(usize::try_from(number).ok()?).cloned()
    }

    /// Marks the session as over, because the head is gone. This stops the session's scans and
    /// blocked writes.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Returns whether the session was marked as over.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Sends a message. Reports no error: if the head is gone, `receive` fails.
    pub fn send(&self, message: &FromAgent) {
        let mut sending = self.sending.lock();
        let (stream, line) = &mut *sending;
        let mut bytes = Vec::new();
        let sealed = line.seal(&message.to_bytes(), &mut bytes);
        if sealed.is_err() || write_whole(&mut *stream, &bytes, || self.is_over()).is_err() {
            // A partial message cannot be completed: close the channel.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Sends a message after a delay, in a separate thread; without a delay, sends it directly.
    pub fn send_after(self: &Arc<Self>, late: Duration, message: FromAgent) {
        if late.is_zero() {
            return self.send(&message);
        }
        let (session, message) = (Arc::clone(self), Arc::new(message));
        let later = Arc::clone(&message);
        let begun = threads::spawn("late", move || {
            threads::sleep(late);
            session.send(&later);
        });
        if begun.is_err() {
            self.send(&message);
        }
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// When the head is gone, or the message is not authentic or not valid.
    pub fn receive(&self) -> io::Result<ToAgent> {
        let mut incoming = self.receiving.lock();
        let Incoming { stream, line, received } = &mut *incoming;
        let mut buffer = [0; 16 << 10];
        loop {
            if let Some(bytes) = line.open(received).map_err(|_| io::ErrorKind::InvalidData)? {
                return ToAgent::parse(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into());
            }
            match stream.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => received.extend(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Writes all of `bytes`, however long the reader pauses; fails when `is_over` returns true.
fn write_whole(
    mut stream: impl Write,
    mut bytes: &[u8],
    is_over: impl Fn() -> bool,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !is_over() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_reader_receives_everything_and_blocks_no_ended_session() {
        const BYTES: usize = 16 << 20;
        let (near, mut far) = garland_sys::socket::pair().unwrap();
        near.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let its = Arc::clone(&over);
        let writing = std::thread::spawn(move || {
            let is_over = || its.load(Ordering::Relaxed);
            let first = write_whole(&near, &vec![7; BYTES], is_over);
            (first, write_whole(&near, &vec![8; BYTES], is_over))
        });
        // Longer than many timeouts.
        std::thread::sleep(Duration::from_millis(400));
        let mut read = vec![0; BYTES];
        far.read_exact(&mut read).unwrap();
        assert!(read.iter().all(|&byte| byte == 7));
        std::thread::sleep(Duration::from_millis(100));
        over.store(true, Ordering::Relaxed);
        let (first, second) = writing.join().unwrap();
        assert!(first.is_ok(), "{first:?}");
        assert_eq!(second.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
