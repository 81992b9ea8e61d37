//! The limit of unacknowledged writes to a node. When the limit is reached, replies to writers are
//! delayed until the node acknowledges enough bytes.

use std::collections::VecDeque;

use fuser::ReplyWrite;
use garland_sys::clock;
use garland_sys::sync::Mutex;

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
    /// Counts bytes as unacknowledged. Replies to their writer as soon as the window has space for
    /// them.
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
    /// each such writer, calls `waited` with the monotonic time in nanoseconds at which it began to
    /// wait, and the number of bytes that it wrote.
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

    /// Returns whether bytes may be held instead of sent. Not if many are unacknowledged already:
    /// there is always a write in flight that makes space for the parked writers.
    pub fn may_hold(&self) -> bool {
        self.used() < BYTES / 2
    }

    /// Returns the number of unacknowledged bytes.
    pub fn used(&self) -> usize {
        self.0.lock().used
    }
}
