//! What nodes cost, and what their power does.

use serde::Serialize;

/// Prices, in whatever currency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prices {
    /// Of each node, with all that it needs.
    pub node: f64,
    /// Of what is there however many nodes there are.
    pub fixed: f64,
}

/// What a node count costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// All of it.
    pub price: f64,
    /// A part of the price for each unit of power: one node's.
    pub of_power: f64,
    /// What the power costs that the last node brought; none where it brought nothing.
    pub of_more: Option<f64>,
}

impl Prices {
    /// Whether they are amounts at all.
    pub(super) fn are_sound(&self) -> bool {
        let sound = |price: f64| (0.0..1e15).contains(&price);
        sound(self.node) && sound(self.fixed)
    }

    /// The cost of a number of nodes with `power`, where one node fewer has `before`.
    pub(super) fn cost(&self, nodes: u32, power: f64, before: f64) -> Cost {
        let price = self.fixed + self.node * f64::from(nodes);
        let gain = power - before;
        let of_more = (gain > 1e-9).then(|| self.node / gain);
        Cost { price, of_power: price / power.max(1e-9), of_more }
    }
}
