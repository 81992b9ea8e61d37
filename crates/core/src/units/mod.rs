//! Quantities with units: times in nanoseconds, rates, numbers of bytes.
//!
//! All parsing and formatting is here, so that a rate means the same in an option, a cluster file
//! and a report.

pub mod bytes;
mod decimal;
mod error;
mod nanos;
mod rate;

pub use error::UnitError;
pub use nanos::Nanos;
pub use rate::Rate;
