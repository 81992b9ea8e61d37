//! The agent's side of a control session, which may continue over another connection if one breaks.
//! An order is admitted by the role of the other side where it is read: see [`Grant::admit`].

mod removals;
mod unacknowledged;

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use garland_dataplane::tree::TreeSource;
use garland_protocol::copy::HEARTBEAT_NS;
use garland_protocol::wire::{Channel, Delivered, Delivery, Line, SessionOrder};
use garland_protocol::{Admitted, FromAgent, Grant, Message, ToAgent};
use garland_sys::channel::{Receiver, Sender, channel};
use garland_sys::clock;
use garland_sys::socket::TcpStream;
use garland_sys::sync::{Condvar, Mutex, MutexGuard};
use garland_sys::tcp;
use garland_sys::tcp_info::TcpInfo;
use garland_sys::threads;
use garland_transport::limits;

use self::removals::Removals;
use self::unacknowledged::{UNSETTLED_MAX, Unacknowledged};
use crate::audit::Caller;
use crate::conditions;
use crate::log::log;
use crate::threads_of_keys::KeyShare;

/// The interval at which a blocked write to the head checks whether the session is over. A head
/// that reads nothing may itself be blocked on its output (`garland exec .. | less`). If the head's
/// host is gone, the kernel breaks the connection, because bytes are not acknowledged.
const WRITE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// While the connection is broken, messages are kept up to this number of bytes; senders then wait.
const KEPT_MAX: usize = 1 << 20;

/// Why the session of a node ends that has left too much unacknowledged.
const ACKNOWLEDGES_LITTLE: &str = "it acknowledges fewer messages than it asks for";

/// The longest time that a head may have an agent wait for another connection, in milliseconds:
/// a dead head's copies keep their memory as long.
const AWAIT_MAX_MS: u32 = 60_000;

/// The interval between heartbeats unless the head says otherwise, and the longest that it can ask
/// for, in milliseconds.
const HEARTBEAT_MS: RangeInclusive<u64> = HEARTBEAT_NS / 1_000_000..=1000;

/// The maximum number of scanned trees of one head: each stays in memory as long as the session.
const TREES_MAX: usize = 16;

/// A session with a head. Threads share it: any may send, one receives.
pub struct Session {
    sending: Mutex<Outgoing>,
    /// Notified when the session continues or is over.
    continued: Condvar,
    receiving: Mutex<Incoming>,
    delivery: Mutex<Delivery>,
    /// Whether the present connection broke: messages are only kept, for the next one. The kernel
    /// tells a writer the error once, and the reader only of an end.
    is_broken: AtomicBool,
    /// The socket of the present connection, to be shut down by other threads.
    socket: Mutex<TcpStream>,
    /// Further connections, for the thread that receives.
    next: Sender<Next>,
    /// How long to wait for another connection, in milliseconds.
    patience_ms: AtomicU64,
    /// The interval between heartbeats, in milliseconds.
    heartbeat_ms: AtomicU64,
    /// Trees that were scanned for the head, which may copy them; a tree's number is its index.
    trees: Mutex<Vec<Arc<TreeSource>>>,
    /// What copies of trees have removed.
    pub removals: Removals,
    over: AtomicBool,
    grant: Grant,
    unacknowledged: Unacknowledged,
    /// What the other side's key may use. Each thread that works for it occupies a slot.
    pub of_key: KeyShare,
    /// Whose session this is, for the node's log.
    pub caller: Caller,
}

/// What the session of a peer may use, and shares with others.
pub struct SessionShare {
    /// Who the peer is, for the node's log.
    pub caller: Caller,
    /// What the peer may do.
    pub grant: Grant,
    /// What its key may use.
    pub of_key: KeyShare,
    /// The bytes that all members have not acknowledged.
    pub unacknowledged: Arc<AtomicUsize>,
}

/// The sending side of a connection.
struct Outgoing {
    stream: TcpStream,
    line: Line,
}

/// The receiving side of a session.
struct Incoming {
    stream: TcpStream,
    line: Line,
    /// The bytes that have arrived and do not form a complete frame yet.
    received: Vec<u8>,
    /// Whether the head may have given up this connection before it was used.
    is_unused: bool,
    next: Receiver<Next>,
}

/// Another connection of a session.
struct Next {
    stream: TcpStream,
    channel: Channel,
    /// The number of the agent's messages that have arrived at the head.
    arrived: u64,
}

impl Session {
    /// Creates the session of a peer whose greeting succeeded.
    ///
    /// # Errors
    /// When the connection is broken already.
    pub fn new(stream: TcpStream, channel: Channel, share: SessionShare) -> io::Result<Self> {
        prepare(&stream)?;
        let (next, further) = self::channel();
        let Channel { sending: line, receiving } = channel;
        let sending = Outgoing { stream: stream.try_clone()?, line };
        let socket = Mutex::new(stream.try_clone()?);
        let incoming = Incoming {
            stream,
            line: receiving,
            received: Vec::new(),
            is_unused: false,
            next: further,
        };
        let patience_ms = u64::try_from(limits::RESUME.as_millis()).unwrap_or(u64::MAX);
        let SessionShare { caller, grant, of_key, unacknowledged } = share;
        let unacknowledged = Unacknowledged::new(grant.role, unacknowledged);
        Ok(Self {
            sending: Mutex::new(sending),
            continued: Condvar::default(),
            receiving: Mutex::new(incoming),
            delivery: Mutex::default(),
            is_broken: AtomicBool::new(false),
            socket,
            next,
            patience_ms: AtomicU64::new(patience_ms),
            heartbeat_ms: AtomicU64::new(*HEARTBEAT_MS.start()),
            trees: Mutex::default(),
            removals: Removals::default(),
            over: AtomicBool::new(false),
            grant,
            unacknowledged,
            of_key,
            caller,
        })
    }

    /// Returns what the other side may do.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Continues the session over another connection. `arrived` is the number of this side's
    /// messages that have arrived at the head.
    pub fn resume(&self, stream: TcpStream, channel: Channel, arrived: u64) {
        // Locked first: the thread that receives must not store the new socket before the old one
        // is shut down, which makes it take the new connection.
        let socket = self.socket.lock();
        let _ = self.next.send(Next { stream, channel, arrived });
        let _ = socket.shutdown(Shutdown::Both);
    }

    /// Tells the head, before anything else over this connection, how many of its messages have
    /// arrived.
    pub fn confirm(&self, received: u64) {
        self.write(&mut self.sending.lock(), &FromAgent::Resumed(received).to_bytes());
    }

    /// Returns the conditions of this node, and of its route to the head, that may affect
    /// measurements.
    pub fn conditions(&self) -> Vec<(String, String)> {
        conditions::of(&self.sending.lock().stream)
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
        self.continued.notify_all();
    }

    /// Ends the session, and its connection, although the other side is there.
    pub fn close(&self) {
        self.end();
        let _ = self.socket.lock().shutdown(Shutdown::Both);
    }

    /// Tells the other side why the session ends, and ends it.
    pub fn refuse(&self, why: &str) {
        if self.condemn() {
            self.dismiss(why);
        }
    }

    /// Marks the session as over, which makes threads that wait for the other side to read give up.
    /// Returns whether it was not over before: whoever marks it dismisses it.
    #[must_use]
    pub fn condemn(&self) -> bool {
        !self.over.swap(true, Ordering::Relaxed)
    }

    /// Ends a session that is marked as over, and tells the other side why.
    pub fn dismiss(&self, why: &str) {
        log(&format!("ended the session of a {}: {why}", self.grant.role.words()));
        self.send_now(&mut self.sending.lock(), &FromAgent::Refused(why.to_owned()));
        self.close();
    }

    /// Breaks the connection if nothing comes back from the head's host. Ends the session of a node
    /// that takes messages and acknowledges none.
    pub fn look_at_connection(&self) {
        if self.unacknowledged.is_too_old(self.kept_bytes()) {
            let seconds = UNSETTLED_MAX.as_secs();
            self.refuse(&format!("it has acknowledged no message for {seconds} s"));
        }
        // Locked until the end: another connection that replaces this one is not broken.
        let socket = self.socket.lock();
        if is_dead(&socket) {
            self.is_broken.store(true, Ordering::SeqCst);
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Returns the interval between heartbeats.
    pub fn heartbeat(&self) -> Duration {
        Duration::from_millis(self.heartbeat_ms.load(Ordering::Relaxed))
    }

    /// Returns whether the session was marked as over.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Sends a heartbeat. To a node it is left out while another thread sends: a node that reads
    /// nothing must not stop the thread that looks at the connection.
    pub fn beat(&self, message: &FromAgent) {
        if !self.unacknowledged.is_limited() {
            return self.send(message);
        }
        if !self.is_over_budget()
            && let Some(mut sending) = self.sending.try_lock()
        {
            self.send_now(&mut sending, message);
        }
    }

    /// Sends a message. Reports no error: if the head is gone, `receive` fails.
    pub fn send(&self, message: &FromAgent) {
        let mut sending = self.sending.lock();
        if self.unacknowledged.is_limited() {
            self.await_room(&mut sending);
            // Nobody will acknowledge it: threads that still answer would fill the memory.
            if self.is_over() {
                return;
            }
            if self.is_over_budget() {
                drop(sending);
                return self.refuse(ACKNOWLEDGES_LITTLE);
            }
        } else if self.is_broken.load(Ordering::SeqCst)
            && self.kept_bytes() > KEPT_MAX
            && !self.is_over()
        {
            // Once only: the thread that receives orders may wait for this one.
            let _ = self.continued.wait_for(&mut sending, WRITE_CHECK_INTERVAL);
        }
        self.send_now(&mut sending, message);
    }

    /// Waits until a node has acknowledged enough for another message, at most for
    /// [`WRITE_CHECK_INTERVAL`]: the thread that receives orders may wait for this one.
    fn await_room(&self, sending: &mut MutexGuard<'_, Outgoing>) {
        let until_ns = clock::after(WRITE_CHECK_INTERVAL);
        while self.is_over_budget() && !self.is_over() {
            let left = clock::until(until_ns);
            if left.is_zero() {
                return;
            }
            let _ = self.continued.wait_for(sending, left);
        }
    }

    /// Sends a short message from the thread that receives, which must not wait for the other side:
    /// only this thread hears of its acknowledgements.
    pub fn reply(&self, message: &FromAgent) {
        if self.unacknowledged.is_limited() && self.is_over() {
            return;
        }
        if self.is_over_budget() {
            return self.refuse(ACKNOWLEDGES_LITTLE);
        }
        self.send_now(&mut self.sending.lock(), message);
    }

    fn send_now(&self, sending: &mut Outgoing, message: &FromAgent) {
        let bytes = message.to_bytes();
        self.unacknowledged.sent(Delivery::kept_bytes_of(&bytes));
        let frame = self.delivery.lock().send(bytes);
        self.write(sending, &frame);
    }

    /// Returns whether a node has left more unacknowledged than it may.
    fn is_over_budget(&self) -> bool {
        self.unacknowledged.is_too_much(self.kept_bytes())
    }

    fn kept_bytes(&self) -> usize {
        self.delivery.lock().kept_bytes()
    }

    fn write(&self, sending: &mut Outgoing, frame: &[u8]) {
        if self.is_broken.load(Ordering::SeqCst) {
            return;
        }
        let mut bytes = Vec::new();
        let sealed = sending.line.seal(frame, &mut bytes);
        if sealed.is_err() {
            // No connection can carry it.
            self.end();
        }
        let is_over = || self.is_over() || is_dead(&self.socket.lock());
        if sealed.is_err() || write_whole(&mut sending.stream, &bytes, is_over).is_err() {
            // A partial frame cannot be completed: close the connection.
            self.is_broken.store(true, Ordering::SeqCst);
            let _ = sending.stream.shutdown(Shutdown::Both);
        }
    }

    /// Sends a message after a delay, in a separate thread; without a delay, sends it directly.
    pub fn send_after(self: &Arc<Self>, late: Duration, message: FromAgent) {
        if late.is_zero() {
            return self.send(&message);
        }
        let session = Arc::clone(self);
        let message = Arc::new(message);
        let later = Arc::clone(&message);
        let begun = threads::spawn("late", move || {
            threads::sleep(late);
            session.send(&later);
        });
        if begun.is_err() {
            self.send(&message);
        }
    }

    /// Waits for the next order that the role of the other side admits.
    ///
    /// # Errors
    /// When the other side is gone, its message is not valid, or its role does not admit the order.
    pub fn receive(&self) -> io::Result<Admitted> {
        let mut incoming = self.receiving.lock();
        let mut buffer = [0; 16 << 10];
        loop {
            let Incoming { stream, line, received, is_unused, .. } = &mut *incoming;
            let Ok(frame) = line.open(received) else {
                // It was changed in transit: the head sends it again over another connection.
                self.is_broken.store(true, Ordering::SeqCst);
                let _ = stream.shutdown(Shutdown::Both);
                self.renew(&mut incoming, Some(io::ErrorKind::InvalidData.into()))?;
                continue;
            };
            if let Some(frame) = frame {
                *is_unused = false;
                match self.take(&frame)? {
                    Some(ToAgent::Session(SessionOrder::Leave)) => {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    Some(ToAgent::Session(SessionOrder::Await(ms))) => {
                        let ms = ms.min(AWAIT_MAX_MS);
                        self.patience_ms.store(ms.into(), Ordering::Relaxed)
                    }
                    Some(ToAgent::Session(SessionOrder::Beat(ms))) => {
                        let ms = u64::from(ms).clamp(*HEARTBEAT_MS.start(), *HEARTBEAT_MS.end());
                        self.heartbeat_ms.store(ms, Ordering::Relaxed)
                    }
                    Some(order) => {
                        return self.grant.admit(order).map_err(|refused| {
                            self.refuse(&refused.to_string());
                            io::ErrorKind::PermissionDenied.into()
                        });
                    }
                    None => {}
                }
                continue;
            }
            match stream.read(&mut buffer) {
                Ok(0) => self.renew(&mut incoming, None)?,
                Ok(read) => received.extend(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.renew(&mut incoming, Some(error))?,
            }
        }
    }

    /// Returns the message of a frame; `None` if it has none, or one that has arrived before.
    fn take(&self, frame: &[u8]) -> io::Result<Option<ToAgent>> {
        let mut delivery = self.delivery.lock();
        let kept = delivery.kept_bytes();
        let delivered = delivery.receive(frame).map_err(|_| io::ErrorKind::InvalidData);
        self.settle(kept - delivery.kept_bytes());
        let delivered = delivered?;
        let Delivered::Message(bytes) = delivered else { return Ok(None) };
        ToAgent::parse(bytes).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Notes that `bytes` of messages were acknowledged.
    fn settle(&self, bytes: usize) {
        if bytes > 0 {
            self.unacknowledged.settled(bytes);
            self.continued.notify_all();
        }
    }

    /// Waits for another connection after one that ended, by an error or by the head's end.
    ///
    /// # Errors
    /// When the head is gone, or the session was ended here.
    fn renew(&self, incoming: &mut Incoming, broken_by: Option<io::Error>) -> io::Result<()> {
        if self.is_over() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        // A head whose kernel closed the connection has ended.
        let is_broken = self.is_broken.load(Ordering::SeqCst) || broken_by.is_some();
        let has_ended = TcpInfo::read(&incoming.stream).map_or(true, |info| info.peer_closed);
        let is_over = has_ended && !is_broken && !incoming.is_unused;
        let patience = if is_over { 0 } else { self.patience_ms.load(Ordering::Relaxed) };
        let next = incoming.next.recv_timeout(Duration::from_millis(patience));
        let next = next.map_err(|_| broken_by.unwrap_or(io::ErrorKind::UnexpectedEof.into()))?;
        let Next { stream, channel, arrived } = {
            let mut socket = self.socket.lock();
            // The last one counts, if the head has opened several.
            let next = incoming.next.try_iter().last().unwrap_or(next);
            prepare(&next.stream)?;
            *socket = next.stream.try_clone()?;
            next
        };
        let mut sending = self.sending.lock();
        let mut delivery = self.delivery.lock();
        let kept = delivery.kept_bytes();
        let frames = delivery.resume(arrived).map_err(|_| io::ErrorKind::InvalidData);
        self.settle(kept - delivery.kept_bytes());
        let received = delivery.received();
        drop(delivery);
        let frames = frames?;
        let Channel { sending: line, receiving } = channel;
        *sending = Outgoing { stream: stream.try_clone()?, line };
        self.is_broken.store(false, Ordering::SeqCst);
        self.write(&mut sending, &FromAgent::Resumed(received).to_bytes());
        frames.iter().for_each(|frame| self.write(&mut sending, frame));
        self.continued.notify_all();
        incoming.stream = stream;
        incoming.line = receiving;
        incoming.received.clear();
        incoming.is_unused = true;
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.settle(self.kept_bytes());
    }
}

/// Returns whether data is sent again in vain, and the head's kernel answers nothing. A head that
/// only reads nothing is not dead: its kernel answers.
fn is_dead(socket: &TcpStream) -> bool {
    let info = TcpInfo::read(socket);
    info.is_ok_and(|info| info.vain >= 2 && info.unheard >= limits::UNACKNOWLEDGED)
}

/// Prepares the socket of a control session.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_write_timeout(Some(WRITE_CHECK_INTERVAL))?;
    tcp::keep_alive(stream)
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
