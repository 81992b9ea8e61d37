//! Results of commands. They are written as JSON to the directory of a run, and can be read back.
//!
//! - kinds: [`copy`], [`tree`], [`checksums`], [`explain`], [`standing`], with fields of [`head`],
//! - where they are stored: [`places`] (the state directory), [`run`], [`traces`], [`lock`], and of what runs in the [`background`],
//! - reading them back: [`kept`], [`wires_baseline`].

#![forbid(unsafe_code)]

pub mod background;
pub mod checksums;
pub mod copied;
pub mod copy;
pub mod copy_outcome;
pub mod explain;
pub mod head;
pub mod kept;
pub mod left_out;
pub mod limit;
pub mod lock;
pub mod names;
pub mod path;
pub mod places;
pub mod run;
pub mod spool;
pub mod standing;
pub mod tcp_account;
pub mod traces;
pub mod tree;
pub mod wires_baseline;
