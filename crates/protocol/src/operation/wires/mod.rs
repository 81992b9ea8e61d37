//! The measurement of all pairs of nodes: what is measured of a pair, and what is known of a rail.

mod findings;
mod rail;
mod task;

pub use findings::{MetPair, PairFindings};
pub use rail::{AtOnce, DirectionRates, GRACE_NS, LoadRates, Rail};
pub use task::{meeting, packets, ping, streams};
