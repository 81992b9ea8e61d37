//! What commands come to: results that can be read back, and failures whose kind gives the exit code.

#![forbid(unsafe_code)]

pub mod checksums;
pub mod copied;
pub mod copy;
pub mod explain;
pub mod head;
pub mod kept;
pub mod limit;
pub mod lock;
pub mod places;
pub mod run;
pub mod standing;
pub mod tcp_account;
pub mod traces;
pub mod tree;
pub mod wires_baseline;
