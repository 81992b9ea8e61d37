//! The limit of unacknowledged writes to a node. Beyond it, replies to writers wait for acknowledgements.

use parking_lot::Mutex;
use std::collections::VecDeque;

use fuser::ReplyWrite;
use garland_sys::clock;

/// The maximum number of unacknowledged bytes of a node.
const BYTES: usize = 16 << 20;

/// The unacknowledged bytes of a node.
#[derive(Default)]
pub struct Window(Mutex<State>);

#[derive(Default)]
struct State {
    used: usize,
    parked: VecDeque<Parked>,
}

/// A writer whose reply waits.
struct Parked {
    reply: ReplyWrite,
    bytes: u32,
    since_ns: u64,
}

impl Window {
    /// Adds written bytes, and replies to their writer now or when there is space.
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

    /// Removes acknowledged bytes, and replies to writers for which there is space now. Calls `waited` for each
    /// with the time since when it has waited, and its number of bytes.
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

    /// The number of unacknowledged bytes.
    pub fn used(&self) -> usize {
        self.0.lock().used
    }
}
