//! Many jobs on many nodes: engines that run them, the account of what came of it, comparisons.

#![forbid(unsafe_code)]

pub mod args;
pub mod compare;
pub mod result;
pub mod run;
