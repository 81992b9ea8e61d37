//! The topology file, which is the scenario file as well: nodes and what joins them, in TOML.
//!
//! ```
//! # use crate::file::parse;
//! let text = r#"
//! version = 1
//! name = "p2p-star"
//!
//! [topology]
//! shape = "star"
//! nodes = "srv,n[2-4]"
//! rate = "100mbit"
//! between = "isolated"
//! "#;
//! let file = parse(text, "p2p-star.toml")?;
//! assert_eq!(file.topology.nics_of(0).count(), 3);
//! # Ok::<(), crate::file::TopologyFileError>(())
//! ```
//!
//! All keys stand in `docs/topology.md`, whose examples are tests. What a scenario says besides
//! (`[job]`, `[tolerance]`, `[[published]]`) belongs to the experiment and is read by it. Every
//! topology is [checked](super::Topology::check) before it is given.

mod error;
mod explicit;
mod overrides;
mod parse;
mod price;
mod print;
#[cfg(test)]
mod properties;
mod routes;
mod shape;
#[cfg(test)]
mod tests;

pub use error::{TopologyFileError, TopologyFileProblem};
pub use parse::{TopologyFile, parse};
pub use print::Sketch;
