//! The interface of a network for gets, puts and messages.

use super::round::Order;
use super::tally::Tally;
use crate::probe::error::ProbeError;

/// A connection between an initiator and a target.
pub trait ProbeTransport {
    /// Returns the number of operations that are timed together because a single one is shorter
    /// than the clock's resolution; otherwise 1.
    fn timed_together(&self, order: &Order) -> u32;

    /// Runs the initiator's operations of a round and adds them to `tally`. Returns the elapsed
    /// time in nanoseconds.
    ///
    /// # Errors
    /// When the round fails.
    fn run(&mut self, order: &Order, tally: &mut Tally) -> Result<u64, ProbeError>;

    /// Serves a round as the target. Returns the time at work in nanoseconds.
    ///
    /// # Errors
    /// When the round fails.
    fn serve(&mut self, order: &Order) -> Result<u64, ProbeError>;
}
