//! A number for each ordered pair of nodes.

/// What was measured from each node to each other one; larger is better. A pair that wasn't measured
/// has none, and neither has a node with itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    nodes: usize,
    cells: Vec<Option<f64>>,
}

impl Matrix {
    /// Nothing measured yet between `nodes` nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { nodes, cells: vec![None; nodes * nodes] }
    }

    /// A value for each ordered pair that has one.
    #[must_use]
    pub fn by(nodes: usize, mut value: impl FnMut(usize, usize) -> Option<f64>) -> Self {
        let mut matrix = Self::new(nodes);
        for from in 0..nodes {
            for to in (0..nodes).filter(|&to| to != from) {
                if let Some(value) = value(from, to) {
                    matrix.set(from, to, value);
                }
            }
        }
        matrix
    }

    /// How many nodes it is of.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// What was measured from `from` to `to`.
    ///
    /// # Panics
    /// When either isn't a node of it.
    #[must_use]
    pub fn get(&self, from: usize, to: usize) -> Option<f64> {
        assert!(from < self.nodes && to < self.nodes, "{from} to {to} of {} nodes", self.nodes);
        self.cells[from * self.nodes + to]
    }

    /// Notes what was measured from `from` to `to`. What isn't a finite number above zero counts as
    /// not measured: it has no logarithm.
    ///
    /// # Panics
    /// When either isn't a node of it, or both are the same.
    pub fn set(&mut self, from: usize, to: usize, value: f64) {
        assert!(from < self.nodes && to < self.nodes, "{from} to {to} of {} nodes", self.nodes);
        assert_ne!(from, to, "a node isn't measured with itself");
        self.cells[from * self.nodes + to] = (value.is_finite() && value > 0.0).then_some(value);
    }

    /// Every ordered pair that was measured, and its value.
    pub fn measured(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let place = |at: usize| (at / self.nodes, at % self.nodes);
        let cells = self.cells.iter().enumerate();
        cells.filter_map(move |(at, cell)| cell.map(|value| (place(at).0, place(at).1, value)))
    }

    /// Cell by cell, how many times `before` this is, where both were measured.
    #[must_use]
    pub fn relative_to(&self, before: &Self) -> Self {
        Self::by(self.nodes, |from, to| {
            let known = from < before.nodes && to < before.nodes;
            Some(self.get(from, to)? / before.get(from, to).filter(|_| known)?)
        })
    }
}
