use thiserror::Error;

use crate::cluster::nodelist::MOST_NAMES;
use crate::form::{FileError, FormProblem, Placed};
use crate::nearest::hint;

/// A cluster file that can't be used: what is wrong and where, as `file:line:column: reason`.
pub type ClusterFileError = FileError<ClusterFileProblem>;

/// What can be wrong with a cluster file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClusterFileProblem {
    /// What can be wrong with any file.
    #[error(transparent)]
    Form(#[from] FormProblem),
    /// A text that can't be handed to ssh.
    #[error(
        "`{key}` can't be {found:?}: it mustn't begin with `-` nor hold blanks or control characters"
    )]
    Unsafe {
        /// The key.
        key: &'static str,
        /// The text.
        found: String,
    },
    /// Addresses and names don't go in step.
    #[error(
        "`{key}` stands for {found} addresses, but `names` for {nodes} nodes: every node needs one"
    )]
    Count {
        /// The key.
        key: String,
        /// How many addresses.
        found: usize,
        /// How many nodes.
        nodes: usize,
    },
    /// A user in an address.
    #[error(
        "`{key}` holds addresses, not users: drop `{user}@` and write `user = {user:?}` below `[ssh]`"
    )]
    UserInAddress {
        /// The key.
        key: String,
        /// The user.
        user: String,
    },
    /// A value is no SHA-256 digest.
    #[error("`sha256` has 64 digits of 0-9 and a-f, as sha256sum prints them, not {found:?}")]
    NoDigest {
        /// What is there instead.
        found: String,
    },
    /// More rails than machines have NICs.
    #[error("{0} rails: the most is {MOST_RAILS}")]
    TooManyRails(usize),
    /// A node is described twice.
    #[error("node {name} is described already, on line {line}")]
    DuplicateNode {
        /// The node.
        name: String,
        /// The line where it is described first.
        line: usize,
    },
    /// Two nodes, or two rails of a node, have one address and one port.
    #[error("address {address} is given to {second}, but {first} has it already")]
    DuplicateAddress {
        /// The address.
        address: String,
        /// Whose it is.
        first: String,
        /// The other node that has it.
        second: String,
    },
    /// More nodes than any cluster has.
    #[error("more than {MOST_NAMES} nodes")]
    TooManyNodes,
    /// A group's name can't be written in a node list.
    #[error("{0:?} can't name a group: allowed are letters, digits and . _ -")]
    GroupName(String),
    /// A group's name is taken.
    #[error("`@{0}` is built in, so no group can be called that")]
    GroupReserved(String),
    /// A group holds what isn't a node.
    #[error("group {group} holds {name}, which is no node of this file{}", hint(near.as_deref()))]
    UnknownMember {
        /// The group.
        group: String,
        /// The unknown node.
        name: String,
        /// The node that was perhaps meant.
        near: Option<String>,
    },
}

/// The most rails of a node: more than any machine has NICs.
pub(super) const MOST_RAILS: usize = 64;

/// A problem and the bytes of the file it is about.
pub(super) type Fault = Placed<ClusterFileProblem>;

impl From<Placed<FormProblem>> for Fault {
    fn from(fault: Placed<FormProblem>) -> Self {
        Self::new(fault.span, ClusterFileProblem::Form(*fault.problem))
    }
}
