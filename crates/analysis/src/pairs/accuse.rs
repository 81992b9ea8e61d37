//! Finds the parts at fault: a node, one direction of its NIC, a pair, or the link between two
//! groups.

use std::collections::BTreeSet;

use super::accusation::{Accusation, Component};
use super::division::Division;
use super::effects::Effects;
use super::groups::gathered;
use super::matrix::Matrix;
use super::robust::spread;

/// The tolerated difference of a part from its peers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The minimum loss for an accusation, as a fraction from 0 to 1. Noise raises it further, but
    /// never lowers it.
    pub loss: f64,
    /// The probability of a false accusation in a healthy cluster, from 0 to 1.
    pub risk: f64,
}

impl Tolerance {
    /// For rates: a loss of 10 %, and one false accusation in a thousand clusters.
    pub const RATES: Self = Self { loss: 0.1, risk: 1e-3 };
    /// For latencies, which are noisier: three times the latency of the peers.
    pub const LATENCIES: Self = Self { loss: 2.0 / 3.0, risk: 1e-3 };
    /// For lost segments: three times as many as the peers lose.
    pub const LOSSES: Self = Self::LATENCIES;

    /// Returns the lowest logarithm of a value that is tolerated in `tests` tests with the standard
    /// deviation `sigma`, which was estimated from `parts` values. A normal variable is below -z
    /// with a probability of at most exp(-z²/2)/2, and an estimate from few values is uncertain.
    fn lowest(&self, sigma: f64, tests: usize, parts: usize) -> f64 {
        let deviations = (2.0 * (tests as f64 / (2.0 * self.risk)).ln()).sqrt();
        let unsure = 1.1 + 10.0 / parts.max(1) as f64;
        (1.0 - self.loss).ln().min(-deviations * sigma * unsure)
    }
}

/// The minimum number of nodes for an accusation: with three, each has only two peers.
const FEWEST: usize = 4;

/// Returns the parts of a cluster that are worse than their peers, worst first. Larger values of
/// the matrix are better. Clusters of fewer than four nodes have no accusations. Parts are only
/// compared with each other: a cluster in which all parts are equally slow has none either.
pub fn accuse(matrix: &Matrix, tolerance: &Tolerance) -> Vec<Accusation> {
    // A fit takes the value of most pairs as healthy, which it is not if a bad trunk divides the
    // nodes.
    let division = Division::from_matrix(matrix, tolerance.loss);
    let matrix = &division.healed(matrix);
    let Some(mut fitted) = Effects::fit(matrix).filter(|_| matrix.nodes() >= FEWEST) else {
        return Vec::new();
    };
    let cells: Vec<_> = matrix.measured().collect();
    let tests = 2 * matrix.nodes() + cells.len();
    let rests: Vec<f64> = cells.iter().map(|&(i, j, value)| fitted.rest(i, j, value)).collect();
    // The fit absorbs the noise of as many values as it has effects, so residuals are too small.
    let free = (cells.len() + 1).saturating_sub(2 * matrix.nodes()).max(1);
    let noise = spread(&rests) * cells.len() as f64 / free as f64;
    let lowest = tolerance.lowest(noise, tests, cells.len());
    let of_node = |effects: &[f64]| {
        // Noise makes even the medians of equal nodes differ.
        let chance = 1.2533 * noise / ((matrix.nodes() - 1) as f64).sqrt();
        tolerance.lowest(spread(effects).max(chance), tests, matrix.nodes())
    };
    let bounds = (of_node(&fitted.send), of_node(&fitted.receive));
    let slow = |line: bool, node: usize| is_with_all(&cells, &fitted, line, node, tolerance);
    let named = |effects: &[f64], bound: f64, line: bool| -> BTreeSet<usize> {
        let low = (0..effects.len()).filter(|&node| effects[node] < bound);
        low.filter(|&node| slow(line, node)).collect()
    };
    let sending = named(&fitted.send, bounds.0, true);
    let receiving = named(&fitted.receive, bounds.1, false);
    let mut accusations = nodes(&fitted, &sending, &receiving, bounds);
    // A node that is slow with only some partners is not at fault itself: its pairs are tested
    // below.
    for node in 0..matrix.nodes() {
        if !sending.contains(&node) && fitted.send[node] < bounds.0 {
            fitted.send[node] = 0.0;
        }
        if !receiving.contains(&node) && fitted.receive[node] < bounds.1 {
            fitted.receive[node] = 0.0;
        }
    }
    let low = cells.iter().map(|&(i, j, value)| (i, j, fitted.rest(i, j, value)));
    let low: Vec<_> = low.filter(|&(.., rest)| rest < lowest).collect();
    accusations.extend(gathered(&low, lowest.exp()));
    accusations.extend(division.accusation(tolerance.loss));
    accusations.sort_by(|a, b| a.share.total_cmp(&b.share).then_with(|| a.part.cmp(&b.part)));
    accusations
}

/// Returns whether a node's row (`sends`) or column of the matrix is low with at least three
/// quarters of its partners, of which at least three must have been measured.
fn is_with_all(
    cells: &[(usize, usize, f64)],
    fit: &Effects,
    sends: bool,
    node: usize,
    tolerance: &Tolerance,
) -> bool {
    let least = (1.0 - tolerance.loss / 2.0).ln();
    let of_line = cells.iter().filter(|&&(from, to, _)| node == if sends { from } else { to });
    let mut low = 0;
    let mut all = 0;
    for &(from, to, value) in of_line {
        let own = if sends { fit.send[from] } else { fit.receive[to] };
        all += 1;
        low += usize::from(fit.rest(from, to, value) + own < least);
    }
    all >= 3 && 4 * low >= 3 * all
}

/// Returns the accusations of nodes, in both directions or in one.
fn nodes(
    fit: &Effects,
    sending: &BTreeSet<usize>,
    receiving: &BTreeSet<usize>,
    bounds: (f64, f64),
) -> Vec<Accusation> {
    let accusation = |part, effect: f64, bound: f64| Accusation {
        part,
        share: effect.exp(),
        bound: bound.exp(),
    };
    let both = sending.intersection(receiving).map(|&node| {
        let effect = f64::midpoint(fit.send[node], fit.receive[node]);
        accusation(Component::Node(node), effect, bounds.0.max(bounds.1))
    });
    let only_sending = sending
        .difference(receiving)
        .map(|&node| accusation(Component::Sending(node), fit.send[node], bounds.0));
    let only_receiving = receiving
        .difference(sending)
        .map(|&node| accusation(Component::Receiving(node), fit.receive[node], bounds.1));
    both.chain(only_sending).chain(only_receiving).collect()
}
