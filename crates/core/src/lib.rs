//! Garland's plain values: clusters (`cluster`), plans of copies (`plan`), traces (`trace`), the
//! stream format of file trees (`tree`), jobs (`farm`), and sets of numbers (`index_set`). This
//! crate does no I/O, starts no threads, and reads neither clocks nor the environment.
//!
//! # Where to change what
//!
//! - What a user writes of nodes: `cluster/nodelist` (`n[1-3]`), `cluster/target` (`NODES:PATH`),
//!   `cluster/file` (the cluster file), `form` (all files of TOML, and messages about their
//!   places).
//! - A plan: `plan/layout` (blocks), `plan/lane` and `plan/route` (who sends what to whom),
//!   `plan/stripes`; `plan/broadcast` makes the usual one.
//! - What a timeline has: `trace/stage`, `trace/record`; its form in files: `trace/file`, on wires:
//!   `trace/wire`.
//! - The stream of a tree: `tree/record`, `tree/parser`; patterns of `--exclude`: `tree/pattern`.
//! - Which nodes did not reach each other lately: `unreached`.
//! - Numbers with units, as they are read and shown: `units`; text of others: `printable`.

#![forbid(unsafe_code)]

pub mod cluster;
pub mod command_error;
pub mod farm;
pub mod form;
pub mod histogram;
pub mod index_set;
pub mod malformed;
pub mod nearest;
pub mod nic_facts;
pub mod plan;
pub mod printable;
pub mod splitmix;
pub mod trace;
pub mod tree;
pub mod units;
pub mod unreached;
