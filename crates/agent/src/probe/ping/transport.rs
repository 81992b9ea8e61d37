//! What gets, puts and messages go by: the one thing that a further kind of network (a fabric) has
//! to bring along.

use super::round::Order;
use super::tally::Tally;

/// A way between an initiator and a target.
pub trait ProbeTransport {
    /// How many operations to time at a time, where one is shorter than the clock can tell.
    fn timed_together(&self, order: &Order) -> u32;

    /// The initiator's side of a round: does its operations and adds them to `tally`; the
    /// nanoseconds that they took.
    ///
    /// # Errors
    /// Why not, in words.
    fn run(&mut self, order: &Order, tally: &mut Tally) -> Result<u64, String>;

    /// The target's side; the nanoseconds that it was at work.
    ///
    /// # Errors
    /// Why not, in words.
    fn serve(&mut self, order: &Order) -> Result<u64, String>;
}
