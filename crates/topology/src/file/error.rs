use std::ops::Range;

use thiserror::Error;

use crate::TopologyFault;
use garland_core::form::{FileError, FormProblem, Placed};
use garland_core::nearest::hint;

/// A topology file that can't be used: what is wrong and where, as `file:line:column: reason`.
pub type TopologyFileError = FileError<TopologyFileProblem>;

/// What can be wrong with a topology file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyFileProblem {
    /// What can be wrong with any file.
    #[error(transparent)]
    Form(#[from] FormProblem),
    /// The topology can't be.
    #[error(transparent)]
    Fault(#[from] TopologyFault),
    /// More nodes than the shape takes.
    #[error("{found} nodes: a {shape} has {most} at most, for {reason}")]
    TooMany {
        /// The shape.
        shape: &'static str,
        /// How many nodes.
        found: usize,
        /// How many there may be.
        most: usize,
        /// Why not more.
        reason: &'static str,
    },
    /// Rows and columns don't make the nodes.
    #[error(
        "{rows} rows x {columns} columns are {} nodes, but `nodes` stands for {nodes}; with n0 as the head, {} would",
        rows * columns,
        (rows * columns).saturating_sub(1)
    )]
    Grid {
        /// The rows.
        rows: u32,
        /// The columns.
        columns: u32,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A key that means something only with another one.
    #[error("`{key}` means nothing here: {reason}")]
    OutOfPlace {
        /// The key.
        key: &'static str,
        /// With what it would.
        reason: &'static str,
    },
    /// The subnet is too small.
    #[error("{subnet} has addresses for {room} nodes, not for {nodes}: take a shorter prefix")]
    Narrow {
        /// The subnet.
        subnet: String,
        /// How many nodes it has room for.
        room: u32,
        /// How many there are.
        nodes: usize,
    },
    /// A name that nothing has.
    #[error("{name} is no {what}{}", hint(near.as_deref()))]
    Unknown {
        /// What it should be: `node of this topology`, `NIC of n1`.
        what: String,
        /// The name.
        name: String,
        /// The one that was perhaps meant.
        near: Option<String>,
    },
    /// Addresses and nodes don't go in step.
    #[error(
        "`{key}` stands for {found} addresses, but `nodes` for {nodes} nodes: every node needs one"
    )]
    Count {
        /// The key.
        key: &'static str,
        /// How many addresses.
        found: usize,
        /// How many nodes.
        nodes: usize,
    },
    /// A node without any address.
    #[error(
        "node {0} has no address: give it a NIC or a bond with one, or `address` below `[[topology.node]]`"
    )]
    NoAddress(String),
    /// A route's hop that no NIC of the node leads to.
    #[error("{hop} is no neighbour of {node}: none of its NICs has a network or peer with it")]
    NoNeighbour {
        /// The hop.
        hop: String,
        /// The node.
        node: String,
    },
}

/// A problem and the bytes of the file it is about.
pub(super) struct Fault(Placed<TopologyFileProblem>);

impl Fault {
    /// `problem` at `span`.
    pub(super) fn new(span: Range<usize>, problem: TopologyFileProblem) -> Self {
        Self(Placed::new(span, problem))
    }

    /// The error for the user, with line and column of `text`.
    pub(super) fn in_file(self, text: &str, file: &str) -> TopologyFileError {
        self.0.in_file(text, file)
    }
}

impl From<Placed<FormProblem>> for Fault {
    fn from(fault: Placed<FormProblem>) -> Self {
        Self::new(fault.span, TopologyFileProblem::Form(*fault.problem))
    }
}
