//! Converts readings of nodes' clocks to the head's time, with error bounds.
//!
//! Offsets follow from one fact: nothing is received before it was sent. The request of a round trip bounds
//! the offset of the other clock from above, and the reply from below; blocks that went down the chain add
//! bounds. All lines (an offset and a rate) that keep the bounds form a convex region, and the least and the
//! largest offset in it at a moment are the interval. Slow round trips are loose bounds, which have no
//! effect, and the two directions are not assumed to take equally long. Where no line keeps all bounds, the
//! clock was stepped or slewed, and another piece begins.
//!
//! The method of bounds is that of Duda et al., "Estimating global time in distributed systems",
//! ICDCS 1987; the closing of loops is that of Geng et al. (Huygens), NSDI 2018.

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
