use thiserror::Error;

use crate::cluster::nodelist::MOST_NAMES;
use crate::form::{FileError, FormProblem, Placed};
use crate::nearest::hint;

/// Why a cluster file cannot be used; prints as `file:line:column: reason`.
pub type ClusterFileError = FileError<ClusterFileProblem>;

/// The problems that a cluster file can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClusterFileProblem {
    /// A problem that any configuration file can have.
    #[error(transparent)]
    Form(#[from] FormProblem),
    /// A value that cannot be passed to ssh safely.
    #[error(
        "`{key}` cannot be {found:?}: it must not begin with `-` or contain blanks or control characters"
    )]
    Unsafe {
        /// The key below `[ssh]` that has the value.
        key: &'static str,
        /// The value as written.
        found: String,
    },
    /// The number of addresses differs from the number of names.
    #[error(
        "`{key}` lists {found} addresses, but `names` lists {nodes} nodes: give one address for each node"
    )]
    Count {
        /// The key with the addresses: `address`, `listen`, or an element of `rails`.
        key: String,
        /// The number of addresses.
        found: usize,
        /// The number of names in `names`.
        nodes: usize,
    },
    /// An address with a user name in it.
    #[error(
        "`{key}` must not contain user names: remove `{user}@` and write `user = {user:?}` below `[ssh]`"
    )]
    UserInAddress {
        /// The key with the addresses: `address`, or an element of `rails`.
        key: String,
        /// The user name in the address.
        user: String,
    },
    /// A value that is not a SHA-256 digest.
    #[error("`sha256` must be 64 digits of 0-9 and a-f, as printed by sha256sum, not {0:?}")]
    NoDigest(String),
    /// A node has this many rails, which is more than [`MOST_RAILS`].
    #[error("a node has {0} rails: the maximum is {MOST_RAILS}")]
    TooManyRails(usize),
    /// A node is described twice.
    #[error("node {name} is described twice; the first description is on line {line}")]
    DuplicateNode {
        /// The node's name.
        name: String,
        /// The line of the node's first description.
        line: usize,
    },
    /// Two nodes, or two rails of a node, have the same address and port.
    #[error(
        "address {address} of {second} is already used by {first}: every node and rail needs its own"
    )]
    DuplicateAddress {
        /// The address that occurs twice.
        address: String,
        /// The node that already has the address.
        first: String,
        /// The node whose address is refused; equals `first` if two rails of a node have the
        /// address.
        second: String,
    },
    /// The file has more than [`MOST_NAMES`] nodes.
    #[error("the file has more than {MOST_NAMES} nodes")]
    TooManyNodes,
    /// A group's name contains characters that node lists do not allow.
    #[error("{0:?} cannot be the name of a group: use only letters, digits and . _ -")]
    GroupName(String),
    /// A group has the name of a built-in group.
    #[error("`@{0}` is built in: choose another name for the group")]
    GroupReserved(String),
    /// A group contains a name that is not a node of the file.
    #[error("group {group} contains {name}, which is not a node of this file{}", hint(near.as_deref()))]
    UnknownMember {
        /// The group's name.
        group: String,
        /// The name that is not a node.
        name: String,
        /// The most similar node name; `None` if no name is similar.
        near: Option<String>,
    },
}

/// The maximum number of rails of a node; no machine has more NICs.
pub(super) const MOST_RAILS: usize = 64;

/// A problem and its byte range in the file.
pub(super) type Fault = Placed<ClusterFileProblem>;

impl From<Placed<FormProblem>> for Fault {
    fn from(fault: Placed<FormProblem>) -> Self {
        Self::new(fault.span, ClusterFileProblem::Form(*fault.problem))
    }
}
