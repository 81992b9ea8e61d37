//! What there is between a mount and an agent while it lasts: two connections, and the questions that
//! aren't answered yet.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use garland_core::trace::Stage;
use garland_protocol::{
    Ask, BULK_LINK, FILES_LINKS, FRAME_HEAD, FileReply, FileRequest, SMALL_MAX,
};
use garland_sys::clock;
use rustix::io::Errno;

use super::link::{Ends, Link};
use super::{Peer, Reply, Then, room};
use crate::recording;

/// The connections of an epoch.
pub struct Wire {
    /// Its number.
    pub epoch: u64,
    links: Vec<Link>,
    /// Nothing once they are lost.
    unanswered: Mutex<Option<HashMap<u64, Pending>>>,
    last: AtomicU64,
    peer: Weak<Peer>,
}

/// A question that isn't answered yet.
struct Pending {
    then: Then,
    stage: Stage,
    asked_ns: u64,
    /// The bytes that went with it.
    bytes: u64,
}

impl Wire {
    /// Takes over connections that have been greeted.
    ///
    /// # Errors
    /// When the system makes no threads for them.
    pub fn start(peer: &Arc<Peer>, epoch: u64, ends: Vec<Ends>) -> io::Result<Arc<Self>> {
        let wire = Arc::new(Self {
            epoch,
            links: ends.into_iter().map(Link::new).collect(),
            unanswered: Mutex::new(Some(HashMap::new())),
            last: AtomicU64::new(0),
            peer: Arc::downgrade(peer),
        });
        for (number, link) in wire.links.iter().enumerate() {
            debug_assert!(number < usize::from(FILES_LINKS));
            if let Err(error) = link.start(&wire) {
                wire.fail(&error.to_string());
                return Err(error);
            }
        }
        Ok(wire)
    }

    /// Asks; `payload` has the room of a frame's head before it, or nothing at all.
    pub fn ask(&self, ask: Ask, payload: Vec<u8>, then: Then) {
        let frame = if payload.is_empty() { room(0) } else { payload };
        let length = frame.len() - FRAME_HEAD;
        if let Some(peer) = self.peer.upgrade() {
            peer.traffic.asked.fetch_add(1, Ordering::Relaxed);
            peer.traffic.written.fetch_add(length as u64, Ordering::Relaxed);
        }
        if !ask.is_sound(length) {
            return then(Err(match ask {
                Ask::Read(..) | Ask::Write(..) | Ask::Allocate(..) | Ask::Seek(..) => Errno::FBIG,
                _ => Errno::NAMETOOLONG,
            }));
        }
        let is_bulk = match &ask {
            Ask::Read(_, _, length) => *length > SMALL_MAX,
            _ => length > SMALL_MAX as usize,
        };
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (stage, asked_ns, bytes) = (recording::stage(&ask), clock::now_ns(), length as u64);
        let pending = Pending { then, stage, asked_ns, bytes };
        match &mut *self.lock() {
            Some(unanswered) => drop(unanswered.insert(number, pending)),
            None => return (pending.then)(Err(Errno::IO)),
        }
        let link = usize::from(if is_bulk { BULK_LINK } else { 0 });
        if let Err(error) = self.links[link].send(frame, &FileRequest { number, ask }) {
            self.fail(&format!("sending: {error}"));
        }
    }

    /// An answer has come.
    pub fn answered(&self, answered: FileReply, body: Vec<u8>, payload: usize) {
        let pending = self.lock().as_mut().and_then(|all| all.remove(&answered.number));
        // An answer to nothing is the agent's mistake, and harms nobody.
        let Some(Pending { then, stage, asked_ns, bytes }) = pending else { return };
        if let Some(peer) = self.peer.upgrade() {
            peer.traffic.read.fetch_add(payload as u64, Ordering::Relaxed);
            peer.note(stage, asked_ns, bytes + payload as u64);
        }
        then(match answered.outcome {
            Ok(answer) => Ok(Reply { answer, epoch: self.epoch, body, payload }),
            Err(number) => Err(Errno::from_raw_os_error(i32::from(number.clamp(1, 4095)))),
        });
    }

    /// Gives everything up: whatever isn't answered fails.
    pub fn fail(&self, why: &str) {
        let Some(unanswered) = self.lock().take() else { return };
        let peer = self.peer.upgrade();
        if let Some(peer) = &peer {
            peer.lose(self.epoch, why.to_owned());
        }
        self.links.iter().for_each(Link::shut);
        for Pending { then, stage, asked_ns, .. } in unanswered.into_values() {
            if let Some(peer) = &peer {
                // How long was waited in vain.
                peer.note(stage, asked_ns, 0);
            }
            then(Err(Errno::IO));
        }
    }

    /// Whether it was given up.
    pub fn is_over(&self) -> bool {
        self.lock().is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, Pending>>> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
