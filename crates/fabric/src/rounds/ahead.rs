//! Posts receives ahead of the messages: one per slot, never more than messages are expected.

use super::super::error::FabricError;
use super::super::port::Port;
use super::super::words::Round;

/// The slots for which a receive must be posted.
pub struct Ahead {
    idle: Vec<usize>,
    left: u64,
    size: u32,
}

impl Ahead {
    /// Creates the receives for all messages of a round; the first `depth` have a slot each.
    pub fn new(round: &Round) -> Self {
        Self {
            idle: (0..round.depth as usize).rev().collect(),
            left: round.count,
            size: round.size,
        }
    }

    /// Frees a slot whose message was received and handled.
    pub fn give_back(&mut self, slot: usize) {
        self.idle.push(slot);
    }

    /// Posts receives while the queue has space; returns whether all needed ones are posted.
    pub fn arm(&mut self, port: &mut Port<'_>) -> Result<bool, FabricError> {
        while self.left > 0
            && let Some(&slot) = self.idle.last()
        {
            if !port.receive(slot, self.size)? {
                return Ok(false);
            }
            self.idle.pop();
            self.left -= 1;
        }
        Ok(true)
    }
}
