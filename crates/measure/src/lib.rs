//! The commands that measure: [`wires`], [`ping`], [`disk`], [`balance`], [`doctor`]. Each command
//! parses its arguments into a request, drives one operation of `garland-control`, and prints a
//! result object or a table.
//!
//! # Where to change what
//!
//! - `wires`: which pairs meet, what is believed and who is left out is decided in
//!   `protocol/src/operation/wires`, which `wires/meetings` drives; series of meetings in
//!   `wires/sweep`.
//! - Of each command: arguments in `args` or its `request`, the JSON object in `result`, what is
//!   printed in `table` and `notes`. What a node does for it is in `agent` (`probe`, `disk`,
//!   `balance`).

#![forbid(unsafe_code)]

pub mod args;
pub mod balance;
pub mod disk;
pub mod doctor;
pub mod gather;
pub mod ping;
pub mod wires;
