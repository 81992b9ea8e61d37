//! A node as a mount sees it: connected to when it is asked something, lost when its agent is, and
//! asked again later. Nobody ever waits here: whoever asks says what is to be done with the answer.

mod dial;
mod link;
mod watch;
mod wire;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garland_control::Agent;
use garland_core::trace::Stage;
use garland_protocol::{Answer, Ask};
use garland_sys::{clock, threads};
use rustix::io::Errno;

use self::wire::Wire;
use crate::recording::Recording;

/// After an attempt that failed nobody tries for so long.
const PAUSE_NS: u64 = 1_000_000_000;

/// How many questions may wait for a connection.
const WAITING: usize = 4096;

/// How the agent of the node with this place in the list is found and spoken to, or why it can't be.
pub type Reach = Arc<dyn Fn(usize) -> Result<Agent, String> + Send + Sync>;

/// What becomes of an answer. It is called on a thread that brings in further answers, so it must not
/// wait for one.
pub type Then = Box<dyn FnOnce(Result<Reply, Errno>) + Send>;

/// An answer, and the payload that came with it.
#[derive(Debug)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// The connection that it came by, which its handles are of.
    pub epoch: u64,
    body: Vec<u8>,
    payload: usize,
}

impl Reply {
    /// The bytes that came with it.
    pub fn payload(&self) -> &[u8] {
        &self.body[..self.payload]
    }
}

/// What has crossed the wires to and from a node.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Questions.
    pub asked: AtomicU64,
    /// Bytes of payload that came.
    pub read: AtomicU64,
    /// Bytes of payload that went.
    pub written: AtomicU64,
    /// How often its agent was lost.
    pub lost: AtomicU64,
}

/// A node.
pub struct Peer {
    /// Its name in the node list.
    pub name: String,
    /// What went to it and came from it.
    pub traffic: Traffic,
    recording: Arc<Recording>,
    place: usize,
    reach: Reach,
    sealed: bool,
    state: Mutex<State>,
    epochs: AtomicU64,
}

enum State {
    /// There is no connection; why, and when to try again.
    Down(Option<String>, u64),
    /// One is being made; these wait for it.
    Dialling(Vec<Waiting>),
    /// There is one.
    Up(Arc<Wire>),
}

struct Waiting {
    ask: Ask,
    payload: Vec<u8>,
    then: Then,
}

impl Peer {
    /// The node `name` at `place` in the list.
    pub fn new(
        name: String,
        place: usize,
        reach: Reach,
        sealed: bool,
        recording: Arc<Recording>,
    ) -> Arc<Self> {
        Arc::new(Self {
            name,
            traffic: Traffic::default(),
            recording,
            place,
            reach,
            sealed,
            state: Mutex::new(State::Down(None, 0)),
            epochs: AtomicU64::new(0),
        })
    }

    /// Asks, after connecting if need be. `payload` must have [`room`] before it.
    pub fn ask(self: &Arc<Self>, ask: Ask, payload: Vec<u8>, then: Then) {
        let mut state = self.lock();
        let refused = match &mut *state {
            State::Up(wire) => {
                let wire = Arc::clone(wire);
                drop(state);
                return wire.ask(ask, payload, then);
            }
            State::Dialling(waiting) if waiting.len() < WAITING => {
                waiting.push(Waiting { ask, payload, then });
                return;
            }
            State::Dialling(_) => then,
            State::Down(_, until) if clock::now_ns() < *until => then,
            State::Down(..) => {
                *state = State::Dialling(vec![Waiting { ask, payload, then }]);
                drop(state);
                let peer = Arc::clone(self);
                if let Err(error) = threads::spawn("dial", move || peer.dial()) {
                    self.dialled(Err(error.to_string()));
                }
                return;
            }
        };
        drop(state);
        refused(Err(Errno::HOSTDOWN));
    }

    /// Asks by the connection of `epoch`, which handles belong to.
    pub fn ask_in(&self, epoch: u64, ask: Ask, payload: Vec<u8>, then: Then) {
        let state = self.lock();
        match &*state {
            State::Up(wire) if wire.epoch == epoch => {
                let wire = Arc::clone(wire);
                drop(state);
                wire.ask(ask, payload, then);
            }
            _ => {
                drop(state);
                then(Err(Errno::IO));
            }
        }
    }

    /// The connection that there is, by the number that its handles belong to.
    pub fn epoch(&self) -> Option<u64> {
        match &*self.lock() {
            State::Up(wire) => Some(wire.epoch),
            State::Down(..) | State::Dialling(_) => None,
        }
    }

    /// Whether there is a connection; otherwise why not, if it was tried.
    pub fn standing(&self) -> (bool, Option<String>) {
        match &*self.lock() {
            State::Up(_) => (true, None),
            State::Dialling(_) => (false, None),
            State::Down(why, _) => (false, why.clone()),
        }
    }

    /// Connects, and asks what has waited for it.
    fn dial(self: Arc<Self>) {
        let epoch = self.epochs.fetch_add(1, Ordering::Relaxed) + 1;
        let began_ns = clock::now_ns();
        let dialled = dial::dial(&self, epoch);
        self.recording.note(Stage::Dial, self.place, began_ns, 0);
        self.dialled(dialled);
    }

    /// A connection was made, or why it couldn't be.
    fn dialled(&self, dialled: Result<Arc<Wire>, String>) {
        let mut state = self.lock();
        let waiting = match std::mem::replace(&mut *state, State::Down(None, 0)) {
            State::Dialling(waiting) => waiting,
            State::Down(..) | State::Up(_) => Vec::new(),
        };
        match dialled {
            Ok(wire) => {
                *state = State::Up(Arc::clone(&wire));
                drop(state);
                for Waiting { ask, payload, then } in waiting {
                    wire.ask(ask, payload, then);
                }
            }
            Err(why) => {
                *state = State::Down(Some(why), clock::now_ns() + PAUSE_NS);
                drop(state);
                waiting.into_iter().for_each(|waiting| (waiting.then)(Err(Errno::HOSTDOWN)));
            }
        }
    }

    /// A question of `stage` was asked at `asked_ns`, and has been answered now, or never will be.
    fn note(&self, stage: Stage, asked_ns: u64, bytes: u64) {
        self.recording.note(stage, self.place, asked_ns, bytes);
    }

    /// The connection of `epoch` is no good any more.
    fn lose(&self, epoch: u64, why: String) {
        let mut state = self.lock();
        if matches!(&*state, State::Up(wire) if wire.epoch == epoch) {
            *state = State::Down(Some(why), clock::now_ns());
            self.traffic.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A buffer for a payload of so many bytes, with the room that its frame's head takes.
pub fn room(bytes: usize) -> Vec<u8> {
    let mut frame = Vec::with_capacity(garland_protocol::FRAME_HEAD + bytes + 128);
    frame.resize(garland_protocol::FRAME_HEAD, 0);
    frame
}
