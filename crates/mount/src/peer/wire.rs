//! The connections to an agent: sends requests, and passes the replies on.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use garland_protocol::files::{Answer, Ask, BULK_LINK, FileReply, FileRequest, SMALL_MAX};
use garland_protocol::wire::FRAME_HEAD;
use garland_sys::sync::{Mutex, MutexGuard};
use garland_sys::threads;
use rustix::io::Errno;

use super::link::{Ends, Link, Receiver};
use super::reply::{Reply, Then, room};
use super::traffic::Traffic;
use super::unanswered::{Late, Pending, Unanswered};

/// The first of the error numbers that the kernel uses for itself. FUSE takes none of them, so that
/// whoever called would wait forever.
const KERNEL_ERRNO: u16 = 512;

/// The connections to an agent that were established together.
pub struct Wire {
    /// The number that distinguishes these connections from earlier and later ones to the node.
    pub epoch: u64,
    links: Vec<Arc<Link>>,
    /// The requests that are not answered yet; once the connections are closed, the reason.
    unanswered: Mutex<Result<Unanswered, String>>,
    last: AtomicU64,
    traffic: Arc<Traffic>,
}

impl Wire {
    /// Takes over connections after their handshakes, and starts the threads that serve them.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(traffic: Arc<Traffic>, epoch: u64, ends: Vec<Ends>) -> io::Result<Arc<Self>> {
        let (links, receivers): (Vec<_>, Vec<_>) = ends.into_iter().map(Link::new).unzip();
        let unanswered = Mutex::new(Ok(Unanswered::default()));
        let last = AtomicU64::new(0);
        let wire = Arc::new(Self { epoch, links, unanswered, last, traffic });
        for (link, receiver) in wire.links.iter().zip(receivers) {
            wire.serve(link, receiver).inspect_err(|error| wire.fail(&error.to_string()))?;
        }
        Ok(wire)
    }

    /// Starts the sending and the receiving thread of a connection.
    fn serve(self: &Arc<Self>, link: &Arc<Link>, mut receiver: Receiver) -> io::Result<()> {
        let link = Arc::clone(link);
        let moving = Arc::clone(&link);
        let its = Arc::downgrade(self);
        threads::spawn("send", move || {
            if let Err(error) = link.send_all()
                && let Some(wire) = its.upgrade()
            {
                wire.fail(&format!("cannot send: {error}"));
            }
        })?;
        let wire = Arc::clone(self);
        threads::spawn("receive", move || {
            loop {
                match receiver.receive(|| moving.note_moved()) {
                    Ok((answered, body, payload)) => wire.answered(answered, body, payload),
                    Err(error) => return wire.fail(&format!("cannot receive: {error}")),
                }
            }
        })?;
        Ok(())
    }

    /// Sends a request and calls `then` with the result; never if the request has no reply.
    /// `payload` is empty or was made by [`room`].
    pub fn ask(&self, ask: Ask, payload: Vec<u8>, then: Then) {
        let frame = if payload.is_empty() { room(0) } else { payload };
        let length = frame.len() - FRAME_HEAD;
        self.traffic.asked.fetch_add(1, Ordering::Relaxed);
        self.traffic.written.fetch_add(length as u64, Ordering::Relaxed);
        if !ask.is_sound(length) {
            return then(Err(match ask {
                Ask::Read(..)
                | Ask::Write(..)
                | Ask::WriteChange(..)
                | Ask::Allocate(..)
                | Ask::Seek(..) => Errno::FBIG,
                _ => Errno::NAMETOOLONG,
            }));
        }
        let is_bulk = match &ask {
            Ask::Read(_, _, length) => *length > SMALL_MAX,
            Ask::Block { .. } => true,
            _ => length > SMALL_MAX as usize,
        };
        let link = if is_bulk { BULK_LINK } else { 0 };
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let pending = Pending::new(&ask, link, length as u64, then);
        let refused = match &mut *self.lock() {
            Ok(unanswered) if ask.has_reply() => {
                unanswered.insert(number, pending);
                None
            }
            Ok(_) => None,
            Err(_) => pending.then,
        };
        // Not before the requests are unlocked: it may look at them, or make another one.
        if let Some(then) = refused {
            return then(Err(Errno::IO));
        }
        if let Err(error) = self.links[usize::from(link)].send(frame, &FileRequest { number, ask })
        {
            self.fail(&format!("cannot send: {error}"));
        }
    }

    /// Passes a reply to the continuation of its request.
    fn answered(&self, answered: FileReply, body: Vec<u8>, payload: usize) {
        if self.links.iter().any(|link| link.is_queued(answered.number)) {
            // It would take requests from us without end, and read none.
            return self.fail("its agent answered a request that it did not have");
        }
        let pending = self.lock().as_mut().ok().and_then(|all| all.remove(answered.number));
        // Ignore a reply without a request: it is a fault of the agent.
        let Some(Pending { then, stage, asked_ns, bytes, .. }) = pending else { return };
        self.traffic.read.fetch_add(payload as u64, Ordering::Relaxed);
        self.traffic.note(stage, asked_ns, bytes + payload as u64);
        let Some(then) = then else { return self.close_unwanted(answered.outcome.ok()) };
        then(match answered.outcome {
            Ok(answer) => Ok(Reply::new(answer, self.epoch, body, payload)),
            Err(number) if (1..KERNEL_ERRNO).contains(&number) => {
                Err(Errno::from_raw_os_error(number.into()))
            }
            Err(_) => Err(Errno::IO),
        });
    }

    /// Closes what the agent has opened for a request that was given up before.
    fn close_unwanted(&self, answer: Option<Answer>) {
        if let Some(Answer::Opened { handle, .. } | Answer::Listed { more: Some(handle), .. }) =
            answer
        {
            self.ask(Ask::Close(handle), Vec::new(), Box::new(|_| ()));
        }
    }

    /// Notes that the time `passed` has passed. Requests that the agent should have answered by
    /// now fail with EIO; if it answers none, the connections are closed.
    pub fn pass(&self, passed: Duration) {
        let has_moved: Vec<_> = self.links.iter().map(|link| link.take_moved()).collect();
        let late = match &mut *self.lock() {
            Ok(unanswered) => unanswered.pass(passed, &has_moved),
            Err(_) => return,
        };
        match late {
            Late::Alone(given_up) => given_up.into_iter().for_each(|then| then(Err(Errno::IO))),
            Late::All(executed) => {
                let seconds = executed.as_secs();
                self.fail(&format!("its agent did not answer a request for {seconds} s"));
            }
            // Whatever the disk of the data does: it looks into the agent's state only.
            Late::Doubtful => {
                let probe = Ask::Holds { root: [0; 32], file: 0 };
                self.ask(probe, Vec::new(), Box::new(|_| ()));
            }
        }
    }

    /// Closes the connections for the reason `why`. All unanswered requests fail with EIO.
    pub fn fail(&self, why: &str) {
        let unanswered = {
            let mut state = self.lock();
            if state.is_err() {
                return;
            }
            std::mem::replace(&mut *state, Err(why.to_owned())).unwrap_or_default()
        };
        self.links.iter().for_each(|link| link.shut());
        for Pending { then, stage, asked_ns, .. } in unanswered.into_requests() {
            self.traffic.note(stage, asked_ns, 0);
            if let Some(then) = then {
                then(Err(Errno::IO));
            }
        }
    }

    /// Returns why the connections were closed; `None` while they are open.
    pub fn failure(&self) -> Option<String> {
        self.lock().as_ref().err().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Result<Unanswered, String>> {
        self.unanswered.lock()
    }
}

#[cfg(test)]
mod tests;
