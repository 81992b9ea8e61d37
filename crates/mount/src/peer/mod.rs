//! A node of a mount. The first request opens the connections to its agent, and so does the first
//! request after they were lost. Nothing here blocks: requests have continuations.

mod dial;
#[cfg(test)]
mod hand_agent;
mod link;
mod reply;
mod traffic;
mod unanswered;
mod watch;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_core::trace::Stage;
use garland_protocol::files::Ask;
use garland_sys::sync::{Mutex, MutexGuard};
use garland_sys::{clock, threads};
use rustix::io::Errno;

use self::dial::Dialer;
use self::traffic::Traffic;
use self::wire::Wire;
use crate::recording::Recording;

pub use self::dial::Reach;
#[cfg(test)]
pub use self::hand_agent::HandAgent;
pub use self::reply::{Reply, Then, room};

/// The pause in nanoseconds after a failed attempt to connect. Requests fail during the pause.
const PAUSE_NS: u64 = 1_000_000_000;

/// A node of a mount, with the connections to its agent.
pub struct Peer {
    /// The node's name in the node list.
    pub name: String,
    /// The counters of the node's traffic.
    pub traffic: Arc<Traffic>,
    dialer: Dialer,
    state: Mutex<State>,
    epochs: AtomicU64,
}

enum State {
    /// Not connected: the reason, if known, and the monotonic time before which no attempt to
    /// connect is made.
    Down(Option<String>, u64),
    /// An attempt to connect is in progress; these requests wait for it.
    Dialling(Vec<Waiting>),
    /// Connected.
    Up(Arc<Wire>),
}

struct Waiting {
    ask: Ask,
    payload: Vec<u8>,
    then: Then,
}

impl Peer {
    /// Creates the node `name` at the index `node` of the node list, not yet connected.
    pub fn new(
        name: String,
        node: usize,
        reach: Reach,
        sealed: bool,
        recording: Arc<Recording>,
    ) -> Arc<Self> {
        let traffic = Arc::new(Traffic::new(recording, node));
        let dialer = Dialer { node, reach, sealed, traffic: Arc::clone(&traffic) };
        let state = Mutex::new(State::Down(None, 0));
        let epochs = AtomicU64::new(0);
        Arc::new(Self { name, traffic, dialer, state, epochs })
    }

    /// Creates a node that is connected by these ends, in place of those of a dialer.
    #[cfg(test)]
    pub fn connected(name: &str, node: usize, ends: Vec<link::Ends>) -> Arc<Self> {
        let reach: Reach = Arc::new(|_| Err("it is lost".to_owned()));
        let recording = Arc::new(Recording::begin(node + 1, false));
        let peer = Self::new(name.to_owned(), node, reach, true, recording);
        let wire = Wire::start(Arc::clone(&peer.traffic), 1, ends).expect("threads can be started");
        *peer.state.lock() = State::Up(wire);
        peer
    }

    /// Closes the connections, as if they were lost.
    #[cfg(test)]
    pub fn lose(&self) {
        let wire = match &*self.state.lock() {
            State::Up(wire) => Arc::clone(wire),
            State::Down(..) | State::Dialling(_) => return,
        };
        wire.fail("it is lost");
    }

    /// Sends a request; connects first if necessary. `payload` is empty or was made by [`room`]. If
    /// the node cannot be reached, the request fails with EHOSTDOWN.
    pub fn ask(self: &Arc<Self>, ask: Ask, payload: Vec<u8>, then: Then) {
        let mut state = self.lock();
        let refused = match &mut *state {
            State::Up(wire) => {
                let wire = Arc::clone(wire);
                drop(state);
                return wire.ask(ask, payload, then);
            }
            // As many as threads of this machine wait for: no less would be refused for nothing.
            State::Dialling(waiting) => {
                waiting.push(Waiting { ask, payload, then });
                return;
            }
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

    /// Sends a request that contains a handle, on the connection of `epoch`, to which the handle
    /// belongs. If that connection is lost, the request fails with EIO.
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

    /// Returns the epoch of the connection; `None` if there is none.
    pub fn epoch(&self) -> Option<u64> {
        match &*self.lock() {
            State::Up(wire) => Some(wire.epoch),
            State::Down(..) | State::Dialling(_) => None,
        }
    }

    /// Returns whether the node is connected, and the reason, if known, why it is not.
    pub fn standing(&self) -> (bool, Option<String>) {
        match &*self.lock() {
            State::Up(_) => (true, None),
            State::Dialling(_) => (false, None),
            State::Down(why, _) => (false, why.clone()),
        }
    }

    /// Connects, and sends the requests that have waited for it.
    fn dial(self: Arc<Self>) {
        let epoch = self.epochs.fetch_add(1, Ordering::Relaxed) + 1;
        let began_ns = clock::now_ns();
        let dialled = self.dialer.dial(epoch);
        self.traffic.note(Stage::Dial, began_ns, 0);
        self.dialled(dialled);
    }

    /// Handles the result of an attempt to connect: sends the waiting requests, or fails them.
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

    /// Locks the state. If the connection has failed, the state is changed to `Down` first.
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

#[cfg(test)]
mod tests {
    use garland_protocol::files::FileRef;
    use garland_sys::channel::channel;

    use super::*;

    /// More than the threads that a machine usually runs.
    const CALLS: usize = 10_000;

    #[test]
    fn any_number_of_calls_may_wait_for_the_first_connection() {
        let (release, released) = channel::<()>();
        let released = Mutex::new(released);
        let reach: Reach = Arc::new(move |_| {
            let _ = released.lock().recv();
            Err("it is down".to_owned())
        });
        let recording = Arc::new(Recording::begin(1, false));
        let peer = Peer::new("n1".to_owned(), 0, reach, true, recording);
        let (tell, told) = channel();
        for _ in 0..CALLS {
            let tell = tell.clone();
            let then = move |outcome: Result<Reply, Errno>| {
                let _ = tell.send(outcome.err());
            };
            peer.ask(Ask::Stat(FileRef::Path(Vec::new())), Vec::new(), Box::new(then));
        }
        assert!(told.try_recv().is_err(), "all of them wait");
        drop(release);
        for _ in 0..CALLS {
            assert_eq!(told.recv(), Ok(Some(Errno::HOSTDOWN)));
        }
    }
}
