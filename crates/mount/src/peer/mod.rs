//! A node of a mount. It is connected on the first request, and again after its agent was lost. Nothing
//! blocks here: requests carry continuations.

mod dial;
mod link;
mod reply;
mod traffic;
mod watch;
mod wire;

use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_core::trace::Stage;
use garland_protocol::Ask;
use garland_sys::{clock, threads};
use rustix::io::Errno;

use self::dial::Dialer;
use self::traffic::Traffic;
use self::wire::Wire;
use crate::recording::Recording;

pub use self::dial::Reach;
pub use self::reply::{Reply, Then, room};

/// The pause after a failed attempt to connect, in nanoseconds.
const PAUSE_NS: u64 = 1_000_000_000;

/// The maximum number of requests that wait for a connection.
const WAITING: usize = 4096;

/// A node.
pub struct Peer {
    /// Its name in the node list.
    pub name: String,
    /// Its counters.
    pub traffic: Arc<Traffic>,
    dialer: Dialer,
    state: Mutex<State>,
    epochs: AtomicU64,
}

enum State {
    /// There is no connection: the reason, and when to try again.
    Down(Option<String>, u64),
    /// A connection is being made, for which these requests wait.
    Dialling(Vec<Waiting>),
    /// There is a connection.
    Up(Arc<Wire>),
}

struct Waiting {
    ask: Ask,
    payload: Vec<u8>,
    then: Then,
}

impl Peer {
    /// The node `name` at index `node` of the list.
    pub fn new(
        name: String,
        node: usize,
        reach: Reach,
        sealed: bool,
        recording: Arc<Recording>,
    ) -> Arc<Self> {
        let traffic = Arc::new(Traffic::new(recording, node));
        let dialer = Dialer { node, reach, sealed, traffic: Arc::clone(&traffic) };
        let (state, epochs) = (Mutex::new(State::Down(None, 0)), AtomicU64::new(0));
        Arc::new(Self { name, traffic, dialer, state, epochs })
    }

    /// Sends a request, and connects first if necessary. `payload` is from [`room`] or empty.
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

    /// Sends a request about a handle, on the connection of `epoch` that the handle belongs to.
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

    /// The epoch of the connection, if there is one.
    pub fn epoch(&self) -> Option<u64> {
        match &*self.lock() {
            State::Up(wire) => Some(wire.epoch),
            State::Down(..) | State::Dialling(_) => None,
        }
    }

    /// Whether there is a connection, and if not the reason, if known.
    pub fn standing(&self) -> (bool, Option<String>) {
        match &*self.lock() {
            State::Up(_) => (true, None),
            State::Dialling(_) => (false, None),
            State::Down(why, _) => (false, why.clone()),
        }
    }

    /// Connects, and sends the waiting requests.
    fn dial(self: Arc<Self>) {
        let epoch = self.epochs.fetch_add(1, Ordering::Relaxed) + 1;
        let began_ns = clock::now_ns();
        let dialled = self.dialer.dial(epoch);
        self.traffic.note(Stage::Dial, began_ns, 0);
        self.dialled(dialled);
    }

    /// Takes the result of an attempt to connect.
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

    /// Locks the state, in which a connection that has failed is no longer up.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        if let State::Up(wire) = &*state
            && let Some(why) = wire.failure()
        {
            *state = State::Down(Some(why), clock::now_ns());
            self.traffic.lost.fetch_add(1, Ordering::Relaxed);
        }
        state
    }
}
