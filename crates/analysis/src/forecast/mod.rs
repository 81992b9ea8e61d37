//! Forecasts of the time at other node counts: from measured times at some node counts and known limits
//! to a curve with intervals, the knee, and the resource that saturates there.
//!
//! The curve is mechanistic. Every job needs the node for itself for a while, and then shared resources,
//! one after another; `n` nodes can't do more than `n / (D + Z)` jobs a second, nor more than
//! `1 / Dmax` (Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978). The knee is
//! where both meet, `(D + Z) / Dmax`. What lies between the bounds depends on how jobs fall together,
//! so several [`laws`](Law) are fitted, and those that explain the points about as well as the best one
//! all count. Amdahl's law and the Universal Scalability Law ([`Fit`]) stand beside it as a check.
//!
//! What the points don't support is refused with a reason ([`Refusal`]); no result is NaN.

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
