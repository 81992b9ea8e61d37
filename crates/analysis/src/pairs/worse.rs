//! Finds parts that got worse, from a matrix of ratios of present to earlier values.

use super::accusation::Accusation;
use super::accuse::{Tolerance, accuse};
use super::matrix::Matrix;
use super::robust::median;

/// Returns the parts that lost more relative to earlier values than their peers did, worst first.
///
/// In a fit, the effects of two nodes multiply; but a rate is limited by the slower end. If two
/// slow nodes recover, the rate between them grows by the same factor as their rates with others,
/// not by its square. In the fit that looks like a loss of the pair. So only parts whose own rate
/// fell are returned.
pub fn worse(relative: &Matrix, tolerance: &Tolerance) -> Vec<Accusation> {
    let mut accusations = accuse(relative, tolerance);
    accusations.retain(|accusation| {
        let carried =
            relative.measured().filter(|(from, to, _)| accusation.part.carries(*from, *to));
        let share = median(carried.map(|(.., share)| share).collect());
        share.is_some_and(|share| share < 1.0 - tolerance.loss)
    });
    accusations
}
