//! Posts receives ahead of the messages: one per slot, and never more than the messages that are
//! still expected.

use super::super::error::FabricError;
use super::super::port::Port;
use super::super::words::Round;

/// The receives of a round that have yet to be posted, and the slots that are free for them.
pub struct Ahead {
    idle: Vec<usize>,
    left: u64,
    size: u32,
}

impl Ahead {
    /// Returns the receives for all messages of a round. There are `depth` slots, so that many
    /// receives can be posted at a time.
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

    /// Posts receives while there are free slots and the queue has space. Returns false if the
    /// queue was full.
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
