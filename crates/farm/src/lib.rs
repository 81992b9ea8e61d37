//! `garland farm`: runs many jobs on many nodes with one of several engines, computes a result from the
//! records of the jobs, and compares runs.

#![forbid(unsafe_code)]

pub mod args;
pub mod compare;
pub mod result;
pub mod run;
