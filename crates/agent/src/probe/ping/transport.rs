//! The interface of a network for gets, puts and messages.

use super::round::Order;
use super::tally::Tally;

/// A connection between an initiator and a target.
pub trait ProbeTransport {
    /// The number of operations that are timed together, if one is shorter than the clock's
    /// resolution.
    fn timed_together(&self, order: &Order) -> u32;

    /// Does the initiator's operations of a round and adds them to `tally`. Returns the time in
    /// nanoseconds.
    ///
    /// # Errors
    /// Why the round failed, in words.
    fn run(&mut self, order: &Order, tally: &mut Tally) -> Result<u64, String>;

    /// Serves a round as the target. Returns the time at work in nanoseconds.
    ///
    /// # Errors
    /// Why the round failed, in words.
    fn serve(&mut self, order: &Order) -> Result<u64, String>;
}
