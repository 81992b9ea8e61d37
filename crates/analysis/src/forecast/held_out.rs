//! The back test of a forecast: the points at the largest node count are held out, and predicted
//! from the others.

use serde::Serialize;

use super::candidates::Candidates;
use super::points::Points;
use super::{Law, Work};

/// The result of a back test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BackTest {
    /// The node count that was held out.
    pub nodes: u32,
    /// The mean of the measured times, in seconds.
    pub measured: f64,
    /// The time that the law predicts from the other points, in seconds.
    pub predicted: f64,
    /// The relative error of the prediction; negative if the predicted time is too short.
    pub error: f64,
    /// The law that fits the other points best.
    pub law: Law,
}

/// Runs the back test; `None` if the remaining points are too few, or no law fits them.
pub(super) fn run_back_test(work: &Work<'_>, points: &Points) -> Option<BackTest> {
    let (rest, held) = points.without_largest();
    let known = match work {
        Work::Fixed { demands, .. } => rest.counts() >= if demands.is_empty() { 3 } else { 2 },
        Work::Growing { .. } => rest.counts() >= 2,
    };
    if !known {
        return None;
    }
    let best = *Candidates::select(work, &rest).ok()?.best();
    let nodes = held.first()?.nodes;
    let measured = held.iter().map(|point| point.seconds).sum::<f64>() / held.len() as f64;
    let predicted = best.times(work, &[nodes])[0];
    Some(BackTest { nodes, measured, predicted, error: predicted / measured - 1.0, law: best.law })
}
