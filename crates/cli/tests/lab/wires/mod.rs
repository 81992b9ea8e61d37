//! `garland wires` in a lab of twelve nodes where something is slow, or nothing is.

mod delay;
mod endings;
mod faults;
mod healthy;
mod order;
mod rails;
mod stage;
mod sweep;
