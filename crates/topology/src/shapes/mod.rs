//! The usual shapes: a few numbers become a resolved [`Topology`](super::Topology).
//!
//! They always give one; whether it can be (a hub without a rate, one node, two nodes of one name)
//! is said by [`Topology::check`](super::Topology::check).
//!
//! ```
//! use garland_topology::shapes::{Basis, Between, star};
//! let basis = Basis::numbered("p2p", 3).at("100mbit".parse()?);
//! let topology = star(&basis, Between::Isolated);
//! assert_eq!(topology.nics_of(0).count(), 3);
//! # Ok::<(), garland_core::units::UnitError>(())
//! ```

mod bonded;
mod draft;
mod full_mesh;
mod joined;
mod leaf_spine;
mod mesh;
mod rail;
mod ring;
mod shape;
mod single;
mod star;
#[cfg(test)]
mod tests;

pub use bonded::bonded;
pub use full_mesh::full_mesh;
pub use joined::{JoinedStars, joined_stars};
pub use leaf_spine::{LeafSpine, leaf_spine};
pub use mesh::{Joined, Mesh, mesh};
pub use rail::rail;
pub use ring::ring;
pub use shape::{Bonded, Shape};
pub use single::{hub, switch};
pub use star::{Between, star};

use serde::{Deserialize, Serialize};

use super::{MediumKind, Subnet};
use garland_core::units::Rate;

/// What every shape starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// What the topology is called.
    pub name: String,
    /// The names of its nodes; the first is the head.
    pub nodes: Vec<String>,
    /// The rate of every medium; as fast as the machine goes when none is given.
    pub rate: Option<Rate>,
    /// Where the addresses are taken from. Shapes that need more networks take those that follow.
    pub subnet: Subnet,
}

impl Basis {
    /// A head `n0` and a number of nodes from `n1` on, without a rate.
    pub fn numbered(name: &str, nodes: u32) -> Self {
        Self::named(name, (0..=nodes).map(|number| format!("n{number}")).collect())
    }

    /// Nodes of these names, without a rate.
    pub fn named(name: &str, nodes: Vec<String>) -> Self {
        Self { name: name.to_owned(), nodes, rate: None, subnet: Subnet::default() }
    }

    /// Sets the rate.
    #[must_use]
    pub fn at(self, rate: Rate) -> Self {
        Self { rate: Some(rate), ..self }
    }
}

/// What a shape's segments are, where it may be either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Segment {
    /// One shared half-duplex medium.
    Hub,
    /// Full duplex ports.
    #[default]
    Switch,
}

impl Segment {
    fn kind(self) -> MediumKind {
        match self {
            Self::Hub => MediumKind::Hub { collisions: false },
            Self::Switch => MediumKind::Switch { backplane: None },
        }
    }
}
