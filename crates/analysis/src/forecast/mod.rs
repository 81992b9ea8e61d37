//! Forecasts of the time at other node counts: from measured times and known limits to a curve with
//! intervals, the knee, and the resource that saturates there.
//!
//! The curve is mechanistic. Every job needs its node alone for a while, and then shared resources,
//! one after another. `n` nodes complete at most `n / (D + Z)` jobs per second, and at most `1 /
//! Dmax` (Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978). The knee
//! is where both bounds meet, `(D + Z) / Dmax`. The curve between the bounds depends on how often
//! jobs need a resource at the same time, so several [`laws`](Law) are fitted, and all that explain
//! the points about as well as the best one are used. Amdahl's law and the Universal Scalability
//! Law ([`Fit`]) are shown as a check.
//! Questions that the points cannot answer are refused with a reason ([`Refusal`]); no result is
//! NaN.

mod calibrate;
mod candidates;
mod cost;
mod course;
mod curve;
mod held_out;
mod knee;
mod law;
mod least_squares;
mod point;
mod points;
mod question;
mod refusal;
mod resample;
#[cfg(test)]
mod tests;

pub use cost::{Cost, Prices};
pub use course::{At, Forecast, forecast};
pub use curve::{Curve, Fit, Parameter};
pub use held_out::BackTest;
pub use knee::Knee;
pub use law::Law;
pub use point::Point;
pub use question::{Demand, Floor, Question, Work};
pub use refusal::Refusal;
