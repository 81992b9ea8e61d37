//! Measurements of all pairs of nodes: the rounds in which they are made, how much of a value is
//! due to a node, a NIC or a pair, and which of these is at fault.

mod accusation;
mod accuse;
mod apart;
mod division;
mod effects;
mod groups;
mod matrix;
mod rails;
mod robust;
#[cfg(test)]
mod tests;
mod tournament;
mod worse;

pub use accusation::{Accusation, Component};
pub use accuse::{Tolerance, accuse};
pub use apart::apart;
pub use division::Expected;
pub use effects::Effects;
pub use matrix::Matrix;
pub use rails::{NodeEffects, OnRails, node_effects, over_rails};
pub use robust::median;
pub use tournament::{MatchUp, rounds};
pub use worse::worse;
