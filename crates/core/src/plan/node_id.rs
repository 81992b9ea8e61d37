//! Node indices of plans.

use serde::{Deserialize, Serialize};

/// The index of a node in a plan; 0 is the head.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct NodeId(pub u32);

/// The index of the head, which reads the source of a broadcast.
pub const HEAD: NodeId = NodeId(0);

impl NodeId {
    /// Returns the index into the plan's nodes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
