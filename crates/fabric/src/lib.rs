//! libfabric for `garland ping`. The agent is static and cannot load a library, so a helper does:
//! `garland-fabric`, a dynamic executable that the agent starts and speaks to over its standard
//! input and output (`words`). All that is unsafe about libfabric lives in `abi`, `library`,
//! `provider`, `memory` and `port`; the rounds on top are safe code.

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
