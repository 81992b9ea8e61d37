//! Measurements of all pairs of nodes: in which rounds they are made, what in them is a node's
//! doing, a NIC's or a pair's, and who of these is at fault.

mod accuse;
mod effects;
mod groups;
mod matrix;
mod robust;
#[cfg(test)]
mod tests;
mod tournament;

pub use accuse::{Accusation, Part, Tolerance, accuse};
pub use effects::Effects;
pub use matrix::Matrix;
pub use tournament::{MatchUp, rounds};
