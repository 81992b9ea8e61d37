use serde::{Deserialize, Serialize};

use super::super::{Selector, Topology};
use super::*;

/// A shape with its parameters, as in a `[topology]` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// One hub for all nodes.
    Hub,
    /// One switch for all nodes.
    Switch {
        /// The total rate of all ports together; `None` for no limit.
        backplane: Option<Rate>,
    },
    /// Wires from the head to all other nodes.
    Star(Between),
    /// Several nets that are used as one.
    Bonded(Bonded),
    /// A grid with a medium for each row and column.
    Mesh(Mesh),
    /// Two stars whose servers are connected.
    Joined(JoinedStars),
    /// A ring of wires.
    Ring,
    /// A wire for each pair of nodes.
    FullMesh,
    /// Leaves with nodes, and spines that join all leaves.
    LeafSpine(LeafSpine),
    /// Several switches, with a NIC of every node on each.
    Rail {
        /// The number of switches, and of NICs per node.
        rails: u32,
    },
}

impl Shape {
    /// Returns the topology of this shape.
    pub fn draw(&self, basis: &Basis) -> Topology {
        match self {
            Self::Hub => hub(basis),
            Self::Switch { backplane } => switch(basis, *backplane),
            Self::Star(between) => star(basis, *between),
            Self::Bonded(Bonded { nets, segment, selector }) => {
                bonded(basis, *nets, *segment, *selector)
            }
            Self::Mesh(measures) => mesh(basis, measures),
            Self::Joined(measures) => joined_stars(basis, measures),
            Self::Ring => ring(basis),
            Self::FullMesh => full_mesh(basis),
            Self::LeafSpine(measures) => leaf_spine(basis, measures),
            Self::Rail { rails } => rail(basis, *rails),
        }
    }

    /// Returns the shape's name in a topology file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hub => "hub",
            Self::Switch { .. } => "switch",
            Self::Star(_) => "star",
            Self::Bonded(_) => "bonded",
            Self::Mesh(_) => "mesh",
            Self::Joined(_) => "joined",
            Self::Ring => "ring",
            Self::FullMesh => "full-mesh",
            Self::LeafSpine(_) => "leaf-spine",
            Self::Rail { .. } => "rail",
        }
    }
}

/// The parameters of bonded nets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bonded {
    /// The number of nets, and of NICs per node.
    pub nets: u32,
    /// The kind of medium of each net.
    pub segment: Segment,
    /// How the NIC for a packet or a connection is selected.
    pub selector: Selector,
}
