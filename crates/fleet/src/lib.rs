//! From what a user wrote to agents that answer: the inventory, the launchers, and the fleet that a
//! command works with.

#![forbid(unsafe_code)]

pub mod args;
pub mod at_once;
pub mod builder;
pub mod context;
pub mod destination;
pub mod here;
pub mod inventory;
pub mod join_listener;
pub mod launch;
pub mod reach;
pub mod standing;
