//! The resources that packets compete for: the wire time of a hub, of a direction of a port, of a
//! backplane.

use serde::Serialize;

use super::{MediumId, NicId, Topology};

/// A part of the network with a limited rate that all flows through it share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// A hub; both directions and all stations share it.
    Hub(MediumId),
    /// The direction from a NIC to its switch or wire. On a wire this is also the direction to the
    /// other end.
    Out(NicId),
    /// The direction from a switch to a NIC.
    In(NicId),
    /// The direction of an uplink from its `from` to its `to`; an index into [`Topology::uplinks`].
    Up(usize),
    /// The direction of an uplink from its `to` to its `from`.
    Down(usize),
    /// The backplane of a switch, which all ports share.
    Backplane(MediumId),
}

impl Resource {
    /// Returns the resource's rate in bits per second on the wire; infinite if it is not limited.
    pub fn capacity(self, topology: &Topology) -> f64 {
        let of = |medium: MediumId| topology.media[medium].rate;
        let rate = match self {
            Self::Hub(medium) => of(medium),
            Self::Out(nic) | Self::In(nic) => of(topology.nics[nic].medium),
            Self::Up(uplink) | Self::Down(uplink) => {
                let uplink = &topology.uplinks[uplink];
                // Without any rate it is not limited.
                uplink.rate.or_else(|| of(uplink.from).into_iter().chain(of(uplink.to)).min())
            }
            Self::Backplane(medium) => topology.media[medium].kind.backplane(),
        };
        rate.map_or(f64::INFINITY, |rate| rate.bits_per_second() as f64)
    }

    /// Returns the resource's name in messages: `hub bus`, `n1 eth0 out`, `leaf0 to spine0`,
    /// `backplane of switch`.
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
