//! The commands that measure: wires, ping, disk, balance.

#![forbid(unsafe_code)]

pub mod args;
pub mod balance;
pub mod disk;
pub mod gather;
pub mod ping;
pub mod wires;
