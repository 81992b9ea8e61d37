//! What more nodes would buy: measured times at some node counts, and what is known of limits, become
//! a curve over node counts with an interval, the knee, and the name of what saturates there.
//!
//! The curve is mechanistic. Every job needs the node for itself for a while, and then shared resources,
//! one after another; `n` nodes can't do more than `n / (D + Z)` jobs a second, nor more than
//! `1 / Dmax` (Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978). The knee is
//! where both meet, `(D + Z) / Dmax`. What lies between the bounds depends on how jobs fall together,
//! so several [`laws`](Law) are fitted, and those that explain the points about as well as the best one
//! all count. Amdahl's law and the Universal Scalability Law ([`Fit`]) stand beside it as a check.
//!
//! What the points can't carry is refused in words ([`Refusal`]); nothing here is ever not a number.

mod calibrate;
mod candidates;
mod cost;
mod course;
mod curve;
mod held_out;
mod knee;
mod law;
mod least_squares;
mod points;
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
pub use points::Point;
pub use refusal::Refusal;

/// How work and nodes belong together, and what is known to limit it.
#[derive(Clone, Copy)]
pub enum Work<'a> {
    /// The work is given, and nodes share it: a farm of jobs.
    Fixed {
        /// How many jobs it consists of, each on one node; none where it can be cut at will.
        jobs: Option<u32>,
        /// The shared resources that are known.
        demands: &'a [Demand],
    },
    /// Each node brings its own: a copy to all of them.
    Growing {
        /// What is known to take time whoever measures it.
        floor: &'a dyn Fn(u32) -> Floor,
    },
}

/// What the whole work asks of a shared resource.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Demand {
    /// Its name, for people.
    pub name: String,
    /// Seconds in which the work keeps it busy, however many nodes there are.
    pub seconds: f64,
}

/// The least time that something takes to so many nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Floor {
    /// Seconds; 0 where nothing is known.
    pub seconds: f64,
    /// What takes them, for people.
    pub name: String,
}

/// What is asked.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// What was measured.
    pub points: &'a [Point],
    /// What it was.
    pub work: Work<'a>,
    /// The node counts that are asked for, in rising order.
    pub ahead: &'a [u32],
    /// What nodes cost.
    pub prices: Option<Prices>,
}
