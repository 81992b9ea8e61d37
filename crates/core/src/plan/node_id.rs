//! The node indices of a plan.

use serde::{Deserialize, Serialize};

/// A node of a copy: its index in the plan. 0 is the head.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct NodeId(pub u32);

/// The head, which reads the source.
pub const HEAD: NodeId = NodeId(0);

impl NodeId {
    /// The index into the plan's nodes.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
