//! Uses libfabric for `garland ping`.
//!
//! The agent is a static executable and cannot load a library. Therefore it starts a helper, the
//! dynamic executable `garland-fabric`, and exchanges messages with the helper over the helper's
//! standard input and output (`words`). All unsafe code is in `abi`, `library`, `provider`,
//! `memory`, `port` and the exit of the helper; the rounds that use them are safe code.
//!
//! # Where to change what
//!
//! - What agent and helper say to each other: `words`, obeyed in `orders`.
//! - Which providers there are: `provider`; an endpoint: `port`; how many messages go to and fro:
//!   `rounds`.
//! - Another release of libfabric: `library` opens it, `abi` has its functions and structures.

#![allow(unsafe_code)]

mod error;
pub mod find;
pub mod words;

pub use error::FabricError;

#[cfg(feature = "helper")]
mod abi;
#[cfg(feature = "helper")]
mod engine;
#[cfg(feature = "helper")]
mod library;
#[cfg(feature = "helper")]
mod memory;
#[cfg(feature = "helper")]
mod orders;
#[cfg(feature = "helper")]
mod port;
#[cfg(feature = "helper")]
mod provider;
#[cfg(feature = "helper")]
mod rounds;
#[cfg(feature = "helper")]
pub use orders::run;
