//! The state directory: what commands keep between them.
//!
//! # Where to change what
//!
//! - [`places`] says where everything is, and keeps the controller's key,
//! - [`run`] is the directory of one command: its result, plan and [`traces`], under a [`lock`]
//!   while the command runs,
//! - [`failed_copy`] is why the last copy failed that has no result,
//! - [`unreached`] is which nodes did not reach each other lately,
//! - [`background`] has what goes on after its command has returned.

#![forbid(unsafe_code)]

pub mod background;
pub mod failed_copy;
pub mod lock;
pub mod places;
pub mod run;
pub mod traces;
pub mod unreached;
