//! Converts readings of nodes' clocks to the head's time, with error bounds.
//!
//! Offsets follow from one fact: nothing is received before it was sent. The request of a round
//! trip bounds the offset of the other clock from above, and the reply from below; blocks sent down
//! the chain add further bounds. The lines (an offset and a rate) that satisfy all bounds form a
//! convex region, and the minimum and maximum offset in it at a moment are the interval. Slow round
//! trips give loose bounds, which have no effect, and the two directions are not assumed to take
//! equally long. Where no line satisfies all bounds, the clock was stepped or slewed, and a new
//! piece begins.
//!
//! The method of bounds is from Duda et al., "Estimating global time in distributed systems", ICDCS
//! 1987; the check of loops is from Geng et al. (Huygens), NSDI 2018.

mod clocks;
mod closure;
mod evidence;
mod exchange;
mod offset;
mod piece;
mod region;
#[cfg(test)]
mod tests;

pub use clocks::Clocks;
pub use closure::Closure;
pub use evidence::{Evidence, reading};
pub use exchange::{Exchange, Message};
pub use offset::{Moment, Step};
