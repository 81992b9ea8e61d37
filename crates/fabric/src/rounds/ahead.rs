//! Receives that are made ready ahead of the messages, one slot each, no more than will come.

use super::super::port::Port;
use super::super::words::Round;

/// Which slots are to be made ready for a message.
pub struct Ahead {
    idle: Vec<usize>,
    left: u64,
    size: u32,
}

impl Ahead {
    /// For all messages of a round; the first `depth` of them have a slot each.
    pub fn new(round: &Round) -> Self {
        Self {
            idle: (0..round.depth as usize).rev().collect(),
            left: round.count,
            size: round.size,
        }
    }

    /// A slot's message has come, and its bytes are no longer needed.
    pub fn give_back(&mut self, slot: usize) {
        self.idle.push(slot);
    }

    /// Makes ready what can be; whether all that will be needed is.
    pub fn arm(&mut self, port: &mut Port<'_>) -> Result<bool, String> {
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
