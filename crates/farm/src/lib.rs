//! `garland farm`: runs many jobs on many nodes with one of several engines, computes a result from
//! the records of the jobs, and compares runs.
//!
//! # Where to change what
//!
//! - An engine is a file beside `run/{agents,slurm}.rs`, chosen in `run/whole.rs`; `driver.rs` is
//!   the trait, `account.rs` describes it, `settings.rs` refuses combinations; its name is in
//!   `core/src/farm/record.rs` and `args/`.
//! - `run/window.rs` says which directories of the head the nodes of a run reach.

#![forbid(unsafe_code)]

pub mod args;
pub mod compare;
pub mod result;
pub mod run;
