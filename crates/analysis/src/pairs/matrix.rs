//! Matrices with a value for each ordered pair of nodes.

/// The measured values from each node to each other one; larger is better. There is no value for a
/// pair that was not measured, or for a node and itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    nodes: usize,
    cells: Vec<Option<f64>>,
}

impl Matrix {
    /// Returns an empty matrix of `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self { nodes, cells: vec![None; nodes * nodes] }
    }

    /// Returns a matrix of `nodes` nodes with the values that `value` returns for ordered pairs
    /// (from, to); `None` for pairs that were not measured.
    pub fn by(nodes: usize, mut value: impl FnMut(usize, usize) -> Option<f64>) -> Self {
        let mut matrix = Self::new(nodes);
        for from in 0..nodes {
            for to in (0..nodes).filter(|&to| to != from) {
                if let Some(measured) = value(from, to) {
                    matrix.set(from, to, measured);
                }
            }
        }
        matrix
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns the value from `from` to `to`; `None` if it was not measured.
    ///
    /// # Panics
    /// If a node is out of range.
    pub fn get(&self, from: usize, to: usize) -> Option<f64> {
        assert!(from < self.nodes && to < self.nodes, "{from} to {to} of {} nodes", self.nodes);
        self.cells[from * self.nodes + to]
    }

    /// Sets the value from `from` to `to`. Values that are not finite numbers above zero count as
    /// not measured, since they have no logarithm.
    ///
    /// # Panics
    /// If a node is out of range, or both are the same.
    pub fn set(&mut self, from: usize, to: usize, value: f64) {
        assert!(from < self.nodes && to < self.nodes, "{from} to {to} of {} nodes", self.nodes);
        assert_ne!(from, to, "a node is not measured with itself");
        self.cells[from * self.nodes + to] = (value.is_finite() && value > 0.0).then_some(value);
    }

    /// Iterates over the measured ordered pairs with their values.
    pub fn measured(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let place = |at: usize| (at / self.nodes, at % self.nodes);
        let cells = self.cells.iter().enumerate();
        cells.filter_map(move |(at, cell)| cell.map(|value| (place(at).0, place(at).1, value)))
    }

    /// Returns a matrix of the ratios of this matrix to `before`, for pairs that were measured in
    /// both.
    pub fn relative_to(&self, before: &Self) -> Self {
        Self::by(self.nodes, |from, to| {
            let known = from < before.nodes && to < before.nodes;
            Some(self.get(from, to)? / before.get(from, to).filter(|_| known)?)
        })
    }
}
