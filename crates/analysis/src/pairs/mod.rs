//! Measurements of all pairs of nodes: in which rounds they are made, what in them is a node's
//! doing, a NIC's or a pair's, and who of these is at fault.

mod accuse;
mod apart;
mod effects;
mod groups;
mod matrix;
mod rails;
mod robust;
#[cfg(test)]
mod tests;
mod tournament;
mod worse;

pub use accuse::{Accusation, Part, Tolerance, accuse};
pub use apart::apart;
pub use effects::Effects;
pub use matrix::Matrix;
pub use rails::{NodeEffects, OnRails, node_effects, over_rails};
pub use tournament::{MatchUp, rounds};
pub use worse::worse;
