//! What commands come to: results that can be read back, and failures whose kind gives the exit code.

#![forbid(unsafe_code)]

pub mod failure;
