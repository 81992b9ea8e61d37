//! How much may be written ahead of a node: beyond it a writer gets its answer only when there is
//! room again.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use fuser::ReplyWrite;
use garland_sys::clock;

/// Bytes that may be written to a node and not yet acknowledged by it.
const BYTES: usize = 16 << 20;

/// A node's.
#[derive(Default)]
pub struct Window(Mutex<State>);

#[derive(Default)]
struct State {
    used: usize,
    parked: VecDeque<Parked>,
}

/// A writer that waits for room.
struct Parked {
    reply: ReplyWrite,
    bytes: u32,
    since_ns: u64,
}

impl Window {
    /// Bytes have been taken: their writer is told so, now or when there is room.
    pub fn take(&self, bytes: u32, reply: ReplyWrite) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.used += bytes as usize;
        if state.used > BYTES {
            let since_ns = clock::now_ns();
            return state.parked.push_back(Parked { reply, bytes, since_ns });
        }
        drop(state);
        reply.written(bytes);
    }

    /// So many bytes have been acknowledged. `waited` is told since when each writer that has room now
    /// has waited, and with how many bytes.
    pub fn give_back(&self, bytes: usize, waited: impl Fn(u64, u64)) {
        let mut told = Vec::new();
        {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Bytes that aren't acknowledged.
    pub fn used(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).used
    }
}
