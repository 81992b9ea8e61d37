//! Grades of published statements: what repeated runs in a lab say about a figure, an order or a
//! peak.
//!
//! A statement is *reproduced* if the interval of the repeated runs, widened by the stated error of
//! the emulation, has it; *explained* if it is not, but is with a named condition of its time put
//! into the lab; *open* otherwise. Nothing is judged by fewer than [`RUNS`] runs, and nothing by an
//! interval that is wider than [`WIDEST`] on each side: such a statement is open.

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
pub use limits::{RUNS, WIDEST};
pub use published::{NotAFigure, Published};
pub use runs::{Runs, Sample, lead};
pub use statement::Statement;
pub use verdict::{Grade, Why};
