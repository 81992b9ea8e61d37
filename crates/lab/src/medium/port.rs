use garland_core::nic_facts::Ethernet;
use garland_topology::{MediumId, NicId, Topology};

use crate::{bond, device};

/// The device that is plugged into a port of a medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Station {
    /// A node's NIC.
    Nic(NicId),
    /// Another medium, given by the index of the uplink that leads to it.
    Uplink(usize),
}

/// A port of a medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// The device name in the namespace of the media.
    pub device: String,
    /// The device at the other end of its cable.
    pub station: Station,
    /// The maximum rate at which the medium sends to the station, in bits per second; `None` for no
    /// limit.
    pub rate: Option<u64>,
}

/// Returns the ports of a medium: those of NICs first, then those of uplinks.
pub fn ports(topology: &Topology, medium: MediumId) -> Vec<Port> {
    let rate = |medium: MediumId| topology.media[medium].rate.map(|rate| rate.bits_per_second());
    let nics = topology.stations(medium).map(|(nic, _)| Port {
        device: device::port(nic),
        station: Station::Nic(nic),
        rate: rate(medium),
    });
    let uplinks = topology.uplinks.iter().enumerate().flat_map(|(place, uplink)| {
        let slower = [rate(uplink.from), rate(uplink.to)].into_iter().flatten().min();
        let own = uplink.rate.map(|rate| rate.bits_per_second()).or(slower);
        let ends = [uplink.from, uplink.to].into_iter().zip(device::uplink(place));
        ends.filter(move |(end, _)| *end == medium).map(move |(_, device)| Port {
            device,
            station: Station::Uplink(place),
            rate: own,
        })
    });
    nics.chain(uplinks).collect()
}

/// Returns the source addresses of the frames that can arrive at a port: that of the NIC that is
/// plugged in, or those of all NICs on the other side of an uplink.
pub(super) fn senders(topology: &Topology, medium: MediumId, port: &Port) -> Vec<Ethernet> {
    match port.station {
        Station::Nic(nic) => vec![sends_from(topology, nic)],
        Station::Uplink(place) => {
            let uplink = &topology.uplinks[place];
            let far = if uplink.from == medium { uplink.to } else { uplink.from };
            let mut media = vec![medium, far];
            let mut at = 1;
            while let Some(&here) = media.get(at) {
                for (_, next) in topology.uplinks_at(here) {
                    if !media.contains(&next) {
                        media.push(next);
                    }
                }
                at += 1;
            }
            let beyond = |medium: &MediumId| media[1..].contains(medium);
            let nics = topology.nics.iter().enumerate().filter(|(_, nic)| beyond(&nic.medium));
            nics.map(|(nic, _)| sends_from(topology, nic)).collect()
        }
    }
}

/// Returns the source address of a NIC's frames. In a bond that works below IP, this is the address
/// of the bond's first NIC.
pub(crate) fn sends_from(topology: &Topology, nic: NicId) -> Ethernet {
    let first = bond::above(topology, nic).and_then(|bond| bond.nics.first());
    topology.nics[first.copied().unwrap_or(nic)].ethernet
}
