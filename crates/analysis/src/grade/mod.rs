//! Grades of published statements: what repeated runs in a lab say about a figure, an order or a
//! claim.
//!
//! A figure has half a unit of its last digit on both sides. It is *reproduced* if the interval of
//! the median of repeated runs, widened by the stated error of the emulation, meets it; *explained*
//! if it does so only with a named condition of its time, whose size has a source; it *follows* if
//! it does so with declared constants, which were fitted on other figures. It *differs* if the
//! interval excludes it. What an interval neither excludes nor is narrow enough to find is *too
//! noisy*. A figure of *other hardware* is shown beside its measurement; the rest is *not
//! measured*. Nothing is judged by fewer than [`RUNS`] runs.

mod condition;
mod error;
mod limits;
mod published;
mod runs;
mod statement;
mod verdict;

#[cfg(test)]
mod tests;

pub use condition::Condition;
pub use error::EmulationError;
pub use limits::{LAW_ERROR, MANY_RUNS, RUNS, SHORT_S, WIDEST};
pub use published::{NotAFigure, Published};
pub use runs::{Runs, Sample, lead};
pub use statement::{Figure, Statement};
pub use verdict::{Grade, Noise, Why};
