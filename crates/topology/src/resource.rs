//! What packets compete for: the wire time of a hub, of each direction of a port, of a backplane.

use serde::Serialize;

use super::{MediumId, MediumKind, NicId, Topology};

/// A part of the network with a limited rate, which all flows through it share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// All of a hub: both directions and all stations share it.
    Hub(MediumId),
    /// What a NIC sends into its switch or wire. On a wire it is also what the other end receives.
    Out(NicId),
    /// What a switch sends to a NIC.
    In(NicId),
    /// An uplink, from its `from` to its `to`: its place in [`Topology::uplinks`].
    Up(usize),
    /// An uplink, from its `to` to its `from`.
    Down(usize),
    /// What all ports of a switch together pass on.
    Backplane(MediumId),
}

impl Resource {
    /// Bits per second on the wire; infinite where nothing limits but the machine.
    pub fn capacity(self, topology: &Topology) -> f64 {
        let of = |medium: MediumId| topology.media[medium].rate;
        let rate = match self {
            Self::Hub(medium) => of(medium),
            Self::Out(nic) | Self::In(nic) => of(topology.nics[nic].medium),
            Self::Up(uplink) | Self::Down(uplink) => {
                let uplink = &topology.uplinks[uplink];
                // Without rates at all it is as fast as the machine.
                uplink.rate.or_else(|| of(uplink.from).into_iter().chain(of(uplink.to)).min())
            }
            Self::Backplane(medium) => match topology.media[medium].kind {
                MediumKind::Switch { backplane } => backplane,
                MediumKind::Hub { .. } | MediumKind::Wire => None,
            },
        };
        rate.map_or(f64::INFINITY, |rate| rate.bits_per_second() as f64)
    }

    /// For people: `hub bus`, `n1 eth0 out`, `leaf0 to spine0`, `backplane of switch`.
    pub fn describe(self, topology: &Topology) -> String {
        let medium = |id: MediumId| topology.media[id].name.as_str();
        let nic = |id: NicId| {
            let nic = &topology.nics[id];
            format!("{} {}", topology.nodes[nic.node].name, nic.name)
        };
        match self {
            Self::Hub(id) => format!("hub {}", medium(id)),
            Self::Out(id) => format!("{} out", nic(id)),
            Self::In(id) => format!("{} in", nic(id)),
            Self::Up(id) => {
                let uplink = &topology.uplinks[id];
                format!("{} to {}", medium(uplink.from), medium(uplink.to))
            }
            Self::Down(id) => {
                let uplink = &topology.uplinks[id];
                format!("{} to {}", medium(uplink.to), medium(uplink.from))
            }
            Self::Backplane(id) => format!("backplane of {}", medium(id)),
        }
    }
}
