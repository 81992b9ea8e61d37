//! The topology file, which is the scenario file as well: nodes and what joins them, in TOML.
//!
//! Ten lines are a topology:
//!
//! ```
//! # use garland_core::cluster::topology::file::parse;
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
//! # Ok::<(), garland_core::cluster::topology::file::TopologyFileError>(())
//! ```
//!
//! All there is, apart from what belongs to one shape:
//!
//! ```
//! # use garland_core::cluster::topology::file::parse;
//! # let text = r#"
//! version = 1                # of this format; needed
//! name = "den"               # the file's name without .toml by default
//! question = "What for?"     # these three are for scenarios
//! source = "Where from?"
//! answer = "And?"
//!
//! [topology]
//! shape = "switch"           # the others are below
//! nodes = "n[0-3]"           # a node list, the head first; 3 stands for n0 to n3
//! rate = "1gbit"             # of every port, wire or hub; as fast as the machine by default
//! subnet = "10.88.0.0/16"    # where addresses are taken from; this by default
//! mtu = 1500                 # bytes
//! latency = "50us"           # from end to end of every medium
//! buffer = "256KiB"          # waiting at each port; by rate by default
//! cable = "cat6"             # the type of all cables
//! backplane = "3gbit"        # of this shape: what all ports pass on together
//!
//! [topology.price]           # of one each, in the currency you think in
//! node = 300
//! nic = 15
//! cable = 2.50
//! switch = 20                # without ports; `hub` likewise
//! port = 5                   # of a switch or hub, for each that is used
//!
//! [[topology.node]]          # some nodes differ
//! names = "n[2-3]"
//! cpu = 0.5                  # of one processor
//! disk = "12MB/s"
//! price = 150
//!
//! [[topology.medium]]        # some media differ; their names are the shape's
//! name = "switch"
//! rate = "100mbit"           # and `latency`, `buffer`, `collisions`, `price`, `cable`
//! # "#;
//! # let file = parse(text, "den.toml")?;
//! # assert_eq!(file.topology.nodes[2].cpu, Some(500));
//! # Ok::<(), garland_core::cluster::topology::file::TopologyFileError>(())
//! ```
//!
//! | shape | its own keys |
//! |---|---|
//! | `hub` | none; it needs a `rate`. Here and wherever there are hubs, `collisions = true` lets stations lose time to them |
//! | `switch` | `backplane` |
//! | `star` | `between` = `forwarded` (by the head) or `isolated` |
//! | `bonded` | `nets` (2), `segments` = `switch` or `hub`, `selector` = `packet`, `flow` or `subflow` |
//! | `mesh` | `rows`, `columns`, `segments` = `hub` or `switch`, `joined` = `routed` or `switched`, `routes` (1) or 2 with `selector` = `packet` or `flow` |
//! | `joined` | `first` (nodes of the first star, half by default), `trunk` (a rate), `wires` (1), `selector` |
//! | `ring` | none |
//! | `full-mesh` | none |
//! | `leaf-spine` | `leaves`, `spines`, `uplink` (a rate) |
//! | `rail` | `rails` |
//! | `explicit` | everything is written out, as [below](#explicit) |
//!
//! # Explicit
//!
//! ```
//! # use garland_core::cluster::topology::file::parse;
//! # let text = r#"
//! version = 1
//!
//! [topology]
//! shape = "explicit"
//! nodes = "a,b,c"
//! rate = "100mbit"           # of media that have none
//!
//! [[topology.medium]]
//! name = "lan"
//! kind = "switch"            # or "hub", "wire"
//!
//! [[topology.medium]]
//! name = "lab"
//! kind = "hub"
//! rate = "10mbit"
//!
//! [[topology.medium]]
//! name = "link"
//! kind = "wire"
//!
//! [[topology.uplink]]        # a port of a switch at a hub or switch
//! from = "lan"
//! to = "lab"
//!
//! [[topology.nic]]
//! nodes = "a,b"              # a NIC each
//! medium = "lan"
//! address = "10.0.0.[1-2]/24" # in step with the nodes; their first is the node's own
//!
//! [[topology.nic]]
//! nodes = "b"
//! medium = "link"
//! address = "10.0.1.1"
//! peer = "10.0.1.2"
//! name = "eth7"              # eth0 and up by default
//!
//! [[topology.nic]]
//! nodes = "c"
//! medium = "link"
//! address = "10.0.1.2"
//! peer = "10.0.1.1"
//!
//! [[topology.node]]
//! names = "b"
//! forwards = true
//!
//! [[topology.route]]
//! nodes = "a"
//! to = "10.0.1.0/24"
//! via = "10.0.0.2"           # or several: ["10.0.0.2", "10.0.0.3"] with `selector`
//!
//! [[topology.route]]
//! nodes = "c"
//! to = "10.0.0.0/24"
//! via = "10.0.1.1"
//! # "#;
//! # parse(text, "x.toml")?;
//! # Ok::<(), garland_core::cluster::topology::file::TopologyFileError>(())
//! ```
//!
//! A NIC without an address is for `[[topology.bond]]`, with `nodes`, `nics = ["eth0", "eth1"]`,
//! `address` and `selector`; for `subflow` its NICs have theirs, and it takes that of the first.
//!
//! What a scenario says besides (`[job]`, `[tolerance]`, `[[published]]`) belongs to the experiment
//! and is read by it. Every topology is [checked](super::Topology::check) before it is given.

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
