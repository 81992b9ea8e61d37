//! Garland's plain values: clusters (`cluster`), plans of copies (`plan`), traces (`trace`), the
//! stream format of file trees (`tree`), jobs (`farm`), and sets of numbers (`index_set`). This crate
//! does no I/O, starts no threads, and reads neither clocks nor the environment.

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
