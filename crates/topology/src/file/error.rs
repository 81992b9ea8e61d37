use std::ops::Range;

use thiserror::Error;

use crate::TopologyFault;
use garland_core::form::{FileError, FormProblem, Placed};
use garland_core::nearest::hint;

/// An error in a topology file, printed as `file:line:column: reason`.
pub type TopologyFileError = FileError<TopologyFileProblem>;

/// The reason of an error in a topology file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyFileProblem {
    /// A reason that is common to all files.
    #[error(transparent)]
    Form(#[from] FormProblem),
    /// The topology has a fault.
    #[error(transparent)]
    Fault(#[from] TopologyFault),
    /// More nodes than the shape allows.
    #[error("{found} nodes: a {shape} has at most {most}, since {reason}")]
    TooMany {
        /// The shape.
        shape: &'static str,
        /// The number of nodes.
        found: usize,
        /// The maximum number of nodes.
        most: usize,
        /// The reason of the maximum.
        reason: &'static str,
    },
    /// The number of nodes is not rows times columns.
    #[error(
        "{rows} rows x {columns} columns are {} nodes, but `nodes` gives {nodes} nodes with the head; write {} if it is a number",
        rows * columns,
        (rows * columns).saturating_sub(1)
    )]
    Grid {
        /// The rows.
        rows: u32,
        /// The columns.
        columns: u32,
        /// The number of nodes.
        nodes: usize,
    },
    /// A key that is allowed only with another one.
    #[error("`{key}` is not allowed here: {reason}")]
    OutOfPlace {
        /// The key.
        key: &'static str,
        /// Where it is allowed, and what to do.
        reason: &'static str,
    },
    /// The subnet is too small.
    #[error(
        "{subnet} has addresses for {room} nodes, but the topology has {nodes}: use a shorter prefix"
    )]
    Narrow {
        /// The subnet.
        subnet: String,
        /// The number of its addresses for nodes.
        room: u32,
        /// The number of nodes.
        nodes: usize,
    },
    /// An unknown name.
    #[error("{name} is not the name of a {what}{}", hint(near.as_deref()))]
    Unknown {
        /// The kind of the named object: `node of this topology`, `NIC of n1`.
        what: String,
        /// The name.
        name: String,
        /// A similar known name.
        near: Option<String>,
    },
    /// The numbers of addresses and nodes differ.
    #[error(
        "`{key}` gives {found} addresses, but `nodes` gives {nodes} nodes: write one address per node"
    )]
    Count {
        /// The key.
        key: &'static str,
        /// The number of addresses.
        found: usize,
        /// The number of nodes.
        nodes: usize,
    },
    /// A node without an address.
    #[error(
        "node {0} has no address: add a NIC or a bond with an address, or set `address` in a section `[[topology.node]]`"
    )]
    NoAddress(String),
    /// A next hop that is not a neighbour of the node.
    #[error(
        "{hop} is not a neighbour of {node}: none of its NICs is in the network of this address, or has it as its peer"
    )]
    NoNeighbour {
        /// The address of the next hop.
        hop: String,
        /// The node.
        node: String,
    },
}

/// A problem and its position in the file.
pub(super) struct Fault(Placed<TopologyFileProblem>);

impl Fault {
    /// Creates a fault at the bytes `span`.
    pub(super) fn new(span: Range<usize>, problem: TopologyFileProblem) -> Self {
        Self(Placed::new(span, problem))
    }

    /// Converts it to an error for the user, with line and column in `text`.
    pub(super) fn in_file(self, text: &str, file: &str) -> TopologyFileError {
        self.0.in_file(text, file)
    }
}

impl From<Placed<FormProblem>> for Fault {
    fn from(fault: Placed<FormProblem>) -> Self {
        Self::new(fault.span, TopologyFileProblem::Form(*fault.problem))
    }
}
