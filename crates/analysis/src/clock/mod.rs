//! What time it was at the head when a node's clock showed a reading, and how sure that is.
//!
//! Clocks are told apart by what can't be otherwise: nothing is received before it was sent. A round
//! trip bounds the offset of the other clock from above (its way there) and from below (its way
//! back); a block that went down the chain bounds it once more. All lines (an offset and a rate) that
//! break no bound form a convex region, and the least and the largest offset in it at a moment are
//! the interval that is told. Slow round trips are loose bounds and fall away by themselves, and no
//! way is taken to be as long as the way back. Where no line keeps all bounds, the clock has stepped
//! or has been steered, and another piece begins.
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
