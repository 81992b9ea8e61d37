//! Parts a matrix of rates into what sending nodes do, what receiving nodes do, and the rest.

use super::matrix::Matrix;
use super::robust::median;

/// A matrix as `base * send[from] * receive[to] * rest(from, to)`, in logarithms: an effect of 0 is
/// a healthy one, of -0.36 a part that gives 70 % of what the others give.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// The logarithm of what healthy nodes get of each other.
    pub base: f64,
    /// What a node as the sender does to it.
    pub send: Vec<f64>,
    /// What a node as the receiver does to it.
    pub receive: Vec<f64>,
}

impl Effects {
    /// Fits a matrix by median polish (Tukey 1977): medians of rows and of columns are taken out by
    /// turns, so that one bad pair doesn't spoil its nodes, nor one bad node its partners. `None`
    /// when nothing was measured.
    #[must_use]
    pub fn of(matrix: &Matrix) -> Option<Self> {
        // It settles within a few turns; it may also swing by a hair for ever.
        const TURNS: usize = 12;
        let nodes = matrix.nodes();
        let cells: Vec<_> = matrix.measured().map(|(i, j, value)| (i, j, value.ln())).collect();
        let base = median(cells.iter().map(|cell| cell.2).collect())?;
        let mut fit = Self { base, send: vec![0.0; nodes], receive: vec![0.0; nodes] };
        let mut rows = vec![Vec::new(); nodes];
        let mut columns = vec![Vec::new(); nodes];
        for &(from, to, value) in &cells {
            rows[from].push((to, value - base));
            columns[to].push((from, value - base));
        }
        for _ in 0..TURNS {
            fit.send = polished(&rows, &fit.receive);
            fit.receive = polished(&columns, &fit.send);
        }
        fit.settle();
        Some(fit)
    }

    /// What neither the sender nor the receiver explains of a measured value.
    #[must_use]
    pub fn rest(&self, from: usize, to: usize, value: f64) -> f64 {
        value.ln() - self.base - self.send[from] - self.receive[to]
    }

    /// Moves what all have in common into the base: the middle node has no effect.
    fn settle(&mut self) {
        for effects in [&mut self.send, &mut self.receive] {
            let common = median(effects.clone()).unwrap_or(0.0);
            effects.iter_mut().for_each(|effect| *effect -= common);
            self.base += common;
        }
    }
}

/// The median of each line once what its `others` do is taken out; 0 for a line without cells.
fn polished(lines: &[Vec<(usize, f64)>], others: &[f64]) -> Vec<f64> {
    let of_line = |line: &Vec<(usize, f64)>| {
        median(line.iter().map(|&(other, value)| value - others[other]).collect()).unwrap_or(0.0)
    };
    lines.iter().map(of_line).collect()
}
