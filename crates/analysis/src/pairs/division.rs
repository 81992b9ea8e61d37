//! Finds groups of nodes that reach each other only at a part of the rate that they have inside.

use super::accusation::{Accusation, Component};
use super::matrix::Matrix;
use super::robust::median;

/// What each value of a matrix could be: the best value of its sender or that of its receiver,
/// whichever is lower. Unlike in a fit, slow partners of a node count for nothing, even if they are
/// most of them.
pub struct Expected<'m> {
    matrix: &'m Matrix,
    sent: Vec<f64>,
    received: Vec<f64>,
}

impl<'m> Expected<'m> {
    /// Finds the best values of all nodes.
    pub fn from_matrix(matrix: &'m Matrix) -> Self {
        let mut sent = vec![0.0_f64; matrix.nodes()];
        let mut received = vec![0.0_f64; matrix.nodes()];
        for (from, to, value) in matrix.measured() {
            sent[from] = sent[from].max(value);
            received[to] = received[to].max(value);
        }
        Self { matrix, sent, received }
    }

    /// Returns the ratio of a value to the expected one, from 0 to 1; `None` if it was not
    /// measured.
    pub fn share(&self, from: usize, to: usize) -> Option<f64> {
        Some(self.matrix.get(from, to)? / self.sent[from].min(self.received[to]))
    }
}

/// The groups into which low values divide the nodes.
pub(super) struct Division {
    /// Groups of two nodes and more. A node that is in none is left to the fit.
    groups: Vec<Vec<usize>>,
    /// The shares of the expected values that are left from each group to a later one, and back; of
    /// more than two groups, the best ones. What all of those lose is how the network is built, not
    /// a fault.
    shares: [f64; 2],
}

impl Division {
    /// Divides the nodes. Two of them are in one group if a path joins them, of pairs that lose no
    /// more than `loss` in either direction: a few values that noise lowered divide nothing.
    pub(super) fn from_matrix(matrix: &Matrix, loss: f64) -> Self {
        let expected = Expected::from_matrix(matrix);
        let joined = |a: usize, b: usize| {
            let ways = [expected.share(a, b), expected.share(b, a)];
            let mut known = ways.into_iter().flatten().peekable();
            known.peek().is_some() && known.all(|share| share >= 1.0 - loss)
        };
        let mut number: Vec<usize> = (0..matrix.nodes()).collect();
        for a in 0..matrix.nodes() {
            for b in a + 1..matrix.nodes() {
                if number[a] != number[b] && joined(a, b) {
                    let kept = number[a];
                    let gone = number[b];
                    number.iter_mut().filter(|it| **it == gone).for_each(|it| *it = kept);
                }
            }
        }
        let group = |of: usize| (0..number.len()).filter(|&it| number[it] == of).collect();
        let groups: Vec<Vec<usize>> = (0..number.len()).map(group).collect();
        let groups: Vec<Vec<usize>> = groups.into_iter().filter(|group| group.len() > 1).collect();
        let measured = shares(&expected, &groups);
        Self { groups, shares: measured.map(|share| if share < 1.0 - loss { share } else { 1.0 }) }
    }

    /// Returns the matrix with the values that there would be if the groups were joined as well as
    /// each of them is inside.
    pub(super) fn healed(&self, matrix: &Matrix) -> Matrix {
        let group = |node| self.groups.iter().position(|group| group.contains(&node));
        Matrix::by(matrix.nodes(), |from, to| {
            let share = match group(from).zip(group(to)) {
                Some((one, other)) if one < other => self.shares[0],
                Some((one, other)) if one > other => self.shares[1],
                _ => 1.0,
            };
            Some(matrix.get(from, to)? / share)
        })
    }

    /// Returns the accusation of what joins two groups.
    pub(super) fn accusation(&self, loss: f64) -> Option<Accusation> {
        let [one, other] = self.groups.as_slice() else { return None };
        let one = one.clone();
        let other = other.clone();
        let accusation = |part, share| Some(Accusation { part, share, bound: 1.0 - loss });
        match self.shares {
            [there, back] if there < 1.0 && back < 1.0 => {
                accusation(Component::Between(one, other), f64::midpoint(there, back))
            }
            [there, _] if there < 1.0 => accusation(Component::Across(one, other), there),
            [_, back] if back < 1.0 => accusation(Component::Across(other, one), back),
            _ => None,
        }
    }
}

/// Returns the best of the median shares from any group to a later one, and back; 1 without any.
fn shares(expected: &Expected<'_>, groups: &[Vec<usize>]) -> [f64; 2] {
    let between = |from: &[usize], to: &[usize]| {
        let pairs = from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to)));
        median(pairs.filter_map(|(from, to)| expected.share(from, to)).collect())
    };
    let mut best = [None, None];
    for (at, one) in groups.iter().enumerate() {
        for other in &groups[at + 1..] {
            best[0] = between(one, other).into_iter().chain(best[0]).reduce(f64::max);
            best[1] = between(other, one).into_iter().chain(best[1]).reduce(f64::max);
        }
    }
    best.map(|share| share.unwrap_or(1.0))
}
