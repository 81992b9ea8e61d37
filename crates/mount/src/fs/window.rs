//! The limit of unacknowledged writes to a node. When it is reached, replies to writers are delayed
//! until the node acknowledges enough bytes.

use parking_lot::Mutex;
use std::collections::VecDeque;

use fuser::ReplyWrite;
use garland_sys::clock;

/// The maximum number of unacknowledged bytes for one node.
const BYTES: usize = 16 << 20;

/// The unacknowledged bytes of one node, and the writers that wait for space.
#[derive(Default)]
pub struct Window(Mutex<State>);

#[derive(Default)]
struct State {
    used: usize,
    parked: VecDeque<Parked>,
}

/// A writer whose reply is delayed.
struct Parked {
    reply: ReplyWrite,
    bytes: u32,
    since_ns: u64,
}

impl Window {
    /// Adds written bytes. Replies to their writer at once if there is space, otherwise when there
    /// is.
    pub fn take(&self, bytes: u32, reply: ReplyWrite) {
        let mut state = self.0.lock();
        state.used += bytes as usize;
        if state.used > BYTES {
            let since_ns = clock::now_ns();
            return state.parked.push_back(Parked { reply, bytes, since_ns });
        }
        drop(state);
        reply.written(bytes);
    }

    /// Subtracts acknowledged bytes, and replies to the writers for which there is space now. For
    /// each of them, calls `waited` with the time at which it began to wait, in monotonic
    /// nanoseconds, and its number of bytes.
    pub fn give_back(&self, bytes: usize, waited: impl Fn(u64, u64)) {
        let mut told = Vec::new();
        {
            let mut state = self.0.lock();
            state.used = state.used.saturating_sub(bytes);
            // The bytes of a parked writer are counted already.
            while state.used <= BYTES
                && let Some(parked) = state.parked.pop_front()
            {
                told.push(parked);
            }
        }
        for Parked { reply, bytes, since_ns } in told {
            waited(since_ns, bytes.into());
            reply.written(bytes);
        }
    }

    /// Returns the number of unacknowledged bytes.
    pub fn used(&self) -> usize {
        self.0.lock().used
    }
}
