//! `garland farm`: many jobs on many nodes. Engines run them, an account makes figures of their records, and
//! runs can be compared.

#![forbid(unsafe_code)]

pub mod args;
pub mod compare;
pub mod result;
pub mod run;
