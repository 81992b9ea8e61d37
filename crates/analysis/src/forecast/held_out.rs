//! The test of a forecast: the largest node count that was measured is forgotten, and predicted from
//! the others.

use serde::Serialize;

use super::candidates::Candidates;
use super::points::Points;
use super::{Law, Work};

/// How a prediction of the known came out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BackTest {
    /// The node count that was held out.
    pub nodes: u32,
    /// What was measured there, in seconds.
    pub measured: f64,
    /// What the others predict, in seconds.
    pub predicted: f64,
    /// How far that is off, as a share of what was measured; below 0 where it is too short.
    pub error: f64,
    /// The law that explained the others best.
    pub law: Law,
}

/// Holds out the largest node count; none where the others are too few.
pub(super) fn back_test(work: &Work<'_>, points: &Points) -> Option<BackTest> {
    let (rest, held) = points.without_largest();
    let known = match work {
        Work::Fixed { demands, .. } => rest.counts() >= if demands.is_empty() { 3 } else { 2 },
        Work::Growing { .. } => rest.counts() >= 2,
    };
    if !known {
        return None;
    }
    let best = *Candidates::of(work, &rest).ok()?.best();
    let nodes = held.first()?.nodes;
    let measured = held.iter().map(|point| point.seconds).sum::<f64>() / held.len() as f64;
    let predicted = best.times(work, &[nodes])[0];
    Some(BackTest { nodes, measured, predicted, error: predicted / measured - 1.0, law: best.law })
}
