//! What the nodes of a farm reach on the head, for the process there that serves them.

use garland_core::farm::Text;
use serde::{Deserialize, Serialize};

use crate::wire::PublicKey;

/// The nodes of one run of a farm, and the files of its jobs. It has no secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarmAccess {
    /// The nodes.
    pub nodes: Vec<FarmNode>,
    /// The directories of the jobs' files: absolute paths. Nodes reach what is in them and below,
    /// and do not change their own names.
    pub folders: Vec<Text>,
}

/// A node of a farm, which reads and writes the files of its jobs on the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarmNode {
    /// The node's name.
    pub name: String,
    /// The public key of the node, made for one run of the farm.
    pub key: PublicKey,
}

impl FarmAccess {
    /// Returns the bytes of the value, which [`parse`](Self::parse) reads.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("every value can be serialised")
    }

    /// Parses a value; `None` if the bytes are none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}
