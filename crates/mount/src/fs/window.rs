//! How much may be written ahead of a node: beyond it a writer gets its answer only when there is
//! room again.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use fuser::ReplyWrite;

/// Bytes that may be written to a node and not yet acknowledged by it.
const BYTES: usize = 16 << 20;

/// A node's.
#[derive(Default)]
pub struct Window(Mutex<State>);

#[derive(Default)]
struct State {
    used: usize,
    parked: VecDeque<(ReplyWrite, u32)>,
}

impl Window {
    /// Bytes have been taken: their writer is told so, now or when there is room.
    pub fn take(&self, bytes: u32, reply: ReplyWrite) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.used += bytes as usize;
        if state.used > BYTES {
            return state.parked.push_back((reply, bytes));
        }
        drop(state);
        reply.written(bytes);
    }

    /// So many bytes have been acknowledged.
    pub fn give_back(&self, bytes: usize) {
        let mut told = Vec::new();
        {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.used = state.used.saturating_sub(bytes);
            // Whoever is parked has its bytes counted already.
            while state.used <= BYTES
                && let Some(parked) = state.parked.pop_front()
            {
                told.push(parked);
            }
        }
        told.into_iter().for_each(|(reply, bytes)| reply.written(bytes));
    }

    /// Bytes that aren't acknowledged.
    pub fn used(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).used
    }
}
