//! Results of commands as values that are written as JSON and can be read back, and the directory of a run,
//! which keeps them.
//!
//! - values: [`copy`], [`tree`], [`checksums`], [`explain`], [`standing`]; every one begins with [`head`],
//! - where they are kept: [`places`] (the state directory), [`run`], [`traces`], [`lock`],
//! - reading them back: [`kept`], [`wires_baseline`].

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
