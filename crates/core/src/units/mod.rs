//! Quantities with their units: times in nanoseconds, rates, amounts of bytes.
//!
//! They are parsed and printed here and nowhere else, so that a rate means the same in an option, a
//! cluster file and a report.

pub mod bytes;
mod decimal;
mod error;
mod nanos;
mod rate;

pub use error::UnitError;
pub use nanos::Nanos;
pub use rate::Rate;
