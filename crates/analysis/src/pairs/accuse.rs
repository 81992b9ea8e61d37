//! Who is at fault: a node, one direction of its NIC, a pair, or what joins two groups.

use std::collections::BTreeSet;

use super::effects::Effects;
use super::groups::gathered;
use super::matrix::Matrix;
use super::robust::spread;

/// A part of the cluster, by the places of its nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A node both ways, with all partners: its cable, its NIC or the host.
    Node(usize),
    /// What a node sends, to all partners.
    Sending(usize),
    /// What a node receives, from all partners.
    Receiving(usize),
    /// Two nodes both ways: the cable or the route between them.
    Pair(usize, usize),
    /// From the first node to the second, and not back.
    OneWay(usize, usize),
    /// Everything between two groups: the cable or the route that joins them.
    Between(Vec<usize>, Vec<usize>),
}

/// A part that is worse than its peers by more than chance explains.
#[derive(Clone, Debug, PartialEq)]
pub struct Accusation {
    /// Which part.
    pub part: Part,
    /// What it gives of what a healthy one would, from 0 to 1.
    pub share: f64,
    /// A part that gave more than this share wouldn't have been named.
    pub bound: f64,
}

/// How far a part may fall behind before it is named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// What a part must lose at least, as a share from 0 to 1, however quiet the measurement is.
    pub loss: f64,
    /// How often a whole healthy cluster may be accused, from 0 to 1.
    pub risk: f64,
}

impl Tolerance {
    /// For rates: 10 % at least, and one healthy cluster in a thousand.
    pub const RATES: Self = Self { loss: 0.1, risk: 1e-3 };
    /// For latencies, whose noise is larger: three times the others' at least.
    pub const LATENCIES: Self = Self { loss: 2.0 / 3.0, risk: 1e-3 };

    /// The lowest logarithm that is tolerated of `tests` ones with the standard deviation `sigma`,
    /// which `parts` values told: a normal variable is below -z with at most the probability
    /// exp(-z²/2)/2, and a few values tell a deviation badly.
    fn lowest(&self, sigma: f64, tests: usize, parts: usize) -> f64 {
        let deviations = (2.0 * (tests as f64 / (2.0 * self.risk)).ln()).sqrt();
        let unsure = 1.1 + 10.0 / parts.max(1) as f64;
        (1.0 - self.loss).ln().min(-deviations * sigma * unsure)
    }
}

/// The fewest nodes that can be told apart: with three, each has only two witnesses.
const FEWEST: usize = 4;

/// Names the parts of a cluster that are worse than their peers; the worst first. The values of the
/// matrix are such that larger is better. Fewer than four nodes are never accused, and a part is
/// only compared with the others of this matrix: that all are slow is for others to say.
#[must_use]
pub fn accuse(matrix: &Matrix, tolerance: &Tolerance) -> Vec<Accusation> {
    let Some(mut fit) = Effects::of(matrix).filter(|_| matrix.nodes() >= FEWEST) else {
        return Vec::new();
    };
    let cells: Vec<_> = matrix.measured().collect();
    let tests = 2 * matrix.nodes() + cells.len();
    let rests: Vec<f64> = cells.iter().map(|&(i, j, value)| fit.rest(i, j, value)).collect();
    // The fit follows the noise in as many values as it has effects, so the rests are too small.
    let free = (cells.len() + 1).saturating_sub(2 * matrix.nodes()).max(1);
    let noise = spread(&rests) * cells.len() as f64 / free as f64;
    let lowest = tolerance.lowest(noise, tests, cells.len());
    let of_node = |effects: &[f64]| {
        // Even equal nodes differ by what the noise does to a median of their cells.
        let chance = 1.2533 * noise / ((matrix.nodes() - 1) as f64).sqrt();
        tolerance.lowest(spread(effects).max(chance), tests, matrix.nodes())
    };
    let bounds = (of_node(&fit.send), of_node(&fit.receive));
    let slow = |line: bool, node: usize| is_with_all(&cells, &fit, line, node, tolerance);
    let named = |effects: &[f64], bound: f64, line: bool| -> BTreeSet<usize> {
        let low = (0..effects.len()).filter(|&node| effects[node] < bound);
        low.filter(|&node| slow(line, node)).collect()
    };
    let sending = named(&fit.send, bounds.0, true);
    let receiving = named(&fit.receive, bounds.1, false);
    let mut accusations = nodes(&fit, &sending, &receiving, bounds);
    // A node that is slow with some partners only isn't at fault itself: its pairs are looked at.
    for node in 0..matrix.nodes() {
        if !sending.contains(&node) && fit.send[node] < bounds.0 {
            fit.send[node] = 0.0;
        }
        if !receiving.contains(&node) && fit.receive[node] < bounds.1 {
            fit.receive[node] = 0.0;
        }
    }
    let low = cells.iter().map(|&(i, j, value)| (i, j, fit.rest(i, j, value)));
    let low: Vec<_> = low.filter(|&(.., rest)| rest < lowest).collect();
    accusations.extend(gathered(&low, lowest.exp()));
    accusations.sort_by(|a, b| a.share.total_cmp(&b.share).then_with(|| a.part.cmp(&b.part)));
    accusations
}

/// Whether a node's line of the matrix is low with nearly all of its partners: three of four.
fn is_with_all(
    cells: &[(usize, usize, f64)],
    fit: &Effects,
    sends: bool,
    node: usize,
    tolerance: &Tolerance,
) -> bool {
    let least = (1.0 - tolerance.loss / 2.0).ln();
    let of_line = cells.iter().filter(|&&(from, to, _)| node == if sends { from } else { to });
    let (mut low, mut all) = (0, 0);
    for &(from, to, value) in of_line {
        let own = if sends { fit.send[from] } else { fit.receive[to] };
        all += 1;
        low += usize::from(fit.rest(from, to, value) + own < least);
    }
    all >= 3 && 4 * low >= 3 * all
}

/// The nodes at fault: both ways, or one.
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
        accusation(Part::Node(node), effect, bounds.0.max(bounds.1))
    });
    let only_sending = sending
        .difference(receiving)
        .map(|&node| accusation(Part::Sending(node), fit.send[node], bounds.0));
    let only_receiving = receiving
        .difference(sending)
        .map(|&node| accusation(Part::Receiving(node), fit.receive[node], bounds.1));
    both.chain(only_sending).chain(only_receiving).collect()
}
