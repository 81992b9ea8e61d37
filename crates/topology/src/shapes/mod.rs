//! The usual shapes: functions from a few parameters to a resolved [`Topology`](super::Topology).
//!
//! They always return a topology, even an invalid one, such as a hub without a rate or two nodes
//! with the same name. Use [`Topology::check`](super::Topology::check) to find faults.
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

use garland_core::units::Rate;
use serde::{Deserialize, Serialize};

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

use super::{MediumKind, Subnet};

/// The parameters that all shapes have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// The name of the topology.
    pub name: String,
    /// The names of the nodes, the head first.
    pub nodes: Vec<String>,
    /// The rate of every medium; `None` for no limit.
    pub rate: Option<Rate>,
    /// The network of the nodes' addresses. Shapes that need several networks use those that follow
    /// it.
    pub subnet: Subnet,
}

impl Basis {
    /// Returns a basis with a head `n0` and `nodes` nodes from `n1` on, without a rate.
    pub fn numbered(name: &str, nodes: u32) -> Self {
        Self::named(name, (0..=nodes).map(|number| format!("n{number}")).collect())
    }

    /// Returns a basis with nodes of these names, without a rate.
    pub fn named(name: &str, nodes: Vec<String>) -> Self {
        Self { name: name.to_owned(), nodes, rate: None, subnet: Subnet::default() }
    }

    /// Returns the basis with this rate for every medium.
    #[must_use]
    pub fn at(self, rate: Rate) -> Self {
        Self { rate: Some(rate), ..self }
    }
}

/// The kind of the media of a shape that can have hubs or switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Segment {
    /// Hubs: shared half-duplex media.
    Hub,
    /// Switches: full-duplex ports.
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
