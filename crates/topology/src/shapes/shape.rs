use serde::{Deserialize, Serialize};

use super::super::{Selector, Topology};
use super::*;

/// Any of the shapes with its measures: what a `[topology]` section says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// One hub.
    Hub,
    /// One switch.
    Switch {
        /// What all ports together can pass on.
        backplane: Option<Rate>,
    },
    /// Wires from the head to all others.
    Star(Between),
    /// Several nets used as one.
    Bonded(Bonded),
    /// A grid with a medium for each row and column.
    Mesh(Mesh),
    /// Two stars whose servers are joined.
    Joined(JoinedStars),
    /// A ring of wires.
    Ring,
    /// A wire for each pair.
    FullMesh,
    /// Two layers of switches.
    LeafSpine(LeafSpine),
    /// Several switches, a NIC of every node on each.
    Rail {
        /// How many.
        rails: u32,
    },
}

impl Shape {
    /// The topology of this shape.
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

    /// Its name in a file.
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

/// The measures of bonded nets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bonded {
    /// How many nets, and NICs a node.
    pub nets: u32,
    /// What each net is.
    pub segment: Segment,
    /// What chooses among the NICs.
    pub selector: Selector,
}
