//! Decomposes a matrix of rates into effects of senders, effects of receivers, and residuals.

use super::matrix::Matrix;
use super::robust::median;

/// A fit of a matrix as `base * send[from] * receive[to] * rest(from, to)`. All parts are
/// logarithms: the effect of a healthy part is 0, that of a part with 70 % of the usual rate is
/// -0.36.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// The logarithm of the value between healthy nodes.
    pub base: f64,
    /// For each node, its effect as a sender.
    pub send: Vec<f64>,
    /// For each node, its effect as a receiver.
    pub receive: Vec<f64>,
}

impl Effects {
    /// Fits a matrix by median polish (Tukey 1977): medians of rows and columns are subtracted in
    /// turns, so that a bad pair does not affect its nodes, and a bad node does not affect its
    /// partners. `None` if nothing was measured.
    pub fn fit(matrix: &Matrix) -> Option<Self> {
        // It converges within a few turns, but can oscillate minimally for ever.
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

    /// Returns the residual of a measured value: its logarithm without base, sender and receiver.
    pub fn rest(&self, from: usize, to: usize, value: f64) -> f64 {
        value.ln() - self.base - self.send[from] - self.receive[to]
    }

    /// Moves the common part of all effects to the base; the median effect is then 0.
    fn settle(&mut self) {
        for effects in [&mut self.send, &mut self.receive] {
            let common = median(effects.clone()).unwrap_or(0.0);
            effects.iter_mut().for_each(|effect| *effect -= common);
            self.base += common;
        }
    }
}

/// Returns the median of each line after subtracting the effects of `others`; 0 for a line without
/// cells.
fn polished(lines: &[Vec<(usize, f64)>], others: &[f64]) -> Vec<f64> {
    let of_line = |line: &Vec<(usize, f64)>| {
        median(line.iter().map(|&(other, value)| value - others[other]).collect()).unwrap_or(0.0)
    };
    lines.iter().map(of_line).collect()
}
