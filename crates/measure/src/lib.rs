//! The commands that measure: [`wires`], [`ping`], [`disk`], [`balance`], [`doctor`]. Each command parses its arguments
//! into a request, drives one operation of `garland-control`, and prints a result object or a table.

#![forbid(unsafe_code)]

pub mod args;
pub mod balance;
pub mod disk;
pub mod doctor;
pub mod gather;
pub mod ping;
pub mod wires;
