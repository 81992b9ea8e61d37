//! Finds parts that got worse, from a matrix of ratios of present to earlier values.

use super::accusation::{Accusation, Component};
use super::accuse::{Tolerance, accuse};
use super::matrix::Matrix;
use super::robust::median;

impl Component {
    /// Whether what goes from one node to another goes by this part.
    fn carries(&self, from: usize, to: usize) -> bool {
        match self {
            Self::Node(node) => from == *node || to == *node,
            Self::Sending(node) => from == *node,
            Self::Receiving(node) => to == *node,
            Self::Pair(a, b) => (from, to) == (*a, *b) || (from, to) == (*b, *a),
            Self::OneWay(a, b) => (from, to) == (*a, *b),
            Self::Between(one, other) => {
                one.contains(&from) && other.contains(&to)
                    || other.contains(&from) && one.contains(&to)
            }
        }
    }
}

/// Names the parts that give less of what they gave before than their peers do; the worst first.
///
/// Effects of nodes multiply in a fit, but a rate is that of the slower end: between two nodes that
/// were slow and are well now it grew as often as with all others, not as often times as often. So
/// nobody is named who gives as much as before.
#[must_use]
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
