//! The cost of nodes and of their power.

use serde::Serialize;

/// Prices in any currency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prices {
    /// The price of each node, including everything that it needs.
    pub node: f64,
    /// The price of everything that does not depend on the number of nodes.
    pub fixed: f64,
}

/// The cost of a given number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The price of all nodes and of the fixed part.
    pub price: f64,
    /// The price per unit of power; one node has a power of 1.
    pub of_power: f64,
    /// The price per unit of the power that the last node added; `None` if it added none.
    pub of_more: Option<f64>,
}

impl Prices {
    /// Returns whether the prices are in a valid range.
    pub(super) fn are_sound(&self) -> bool {
        let sound = |price: f64| (0.0..1e15).contains(&price);
        sound(self.node) && sound(self.fixed)
    }

    /// Returns the cost of `nodes` nodes with `power`, where one node fewer has the power `before`.
    pub(super) fn cost(&self, nodes: u32, power: f64, before: f64) -> Cost {
        let price = self.fixed + self.node * f64::from(nodes);
        let gain = power - before;
        let of_more = (gain > 1e-9).then(|| self.node / gain);
        Cost { price, of_power: price / power.max(1e-9), of_more }
    }
}
