//! The topology file, in TOML: nodes and the media between them. Scenario files contain the same
//! sections.
//!
//! ```
//! # use garland_topology::file::parse;
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
//! # Ok::<(), garland_topology::file::TopologyFileError>(())
//! ```
//!
//! `docs/topology.md` describes all keys; its examples are tests. The other sections of a scenario
//! (`[job]`, `[tolerance]`, `[[published]]`) are read by the experiment. Every topology is
//! [checked](super::Topology::check) before it is returned.

mod basis;
mod error;
mod explicit;
mod lookup;
mod overrides;
mod parse;
mod price;
mod print;
mod routes;
mod shape;
#[cfg(test)]
mod tests;
mod values;

pub use error::{TopologyFileError, TopologyFileProblem};
pub use parse::{TopologyFile, parse};
pub use print::Sketch;
