//! The shopping list of a topology: machines, NICs, media and cables, and their prices.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Medium, MediumKind, Price, Topology};

/// The parts of a topology, with counts and prices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inventory {
    /// The number of machines.
    pub nodes: usize,
    /// The number of NICs; each port counts.
    pub nics: usize,
    /// The number of hubs.
    pub hubs: usize,
    /// The number of switches.
    pub switches: usize,
    /// The number of used ports of all hubs and switches; an uplink uses one at each end.
    pub ports: usize,
    /// The number of cables by kind: one per NIC of a hub or switch, one per wire, one per uplink.
    pub cables: BTreeMap<String, usize>,
    /// The price of all machines without NICs.
    pub nodes_price: Price,
    /// The price of all NICs.
    pub nics_price: Price,
    /// The price of all hubs and switches.
    pub media_price: Price,
    /// The price of all cables.
    pub cables_price: Price,
}

impl Inventory {
    /// Counts the parts of a topology.
    pub fn count(topology: &Topology) -> Self {
        let mut inventory = Self {
            nodes: topology.nodes.len(),
            nics: topology.nics.len(),
            ports: 2 * topology.uplinks.len(),
            nodes_price: sum(topology.nodes.iter().map(|node| node.price)),
            nics_price: sum(topology.nics.iter().map(|nic| nic.price)),
            media_price: sum(topology.media.iter().map(|medium| medium.price)),
            ..Self::default()
        };
        for (id, medium) in topology.media.iter().enumerate() {
            let stations = topology.stations(id).count();
            let uplinks = topology.uplinks.iter().filter(|uplink| uplink.from == id).count();
            let devices = match medium.kind {
                MediumKind::Wire => {
                    inventory.add_cables(medium, 1);
                    continue;
                }
                MediumKind::Hub { .. } => &mut inventory.hubs,
                MediumKind::Switch { .. } => &mut inventory.switches,
            };
            *devices += 1;
            inventory.ports += stations;
            inventory.add_cables(medium, stations + uplinks);
        }
        inventory
    }

    /// Returns the total price.
    pub fn price(&self) -> Price {
        let parts = [self.nodes_price, self.nics_price, self.media_price, self.cables_price];
        sum(parts.into_iter())
    }

    fn add_cables(&mut self, medium: &Medium, count: usize) {
        if count > 0 {
            *self.cables.entry(medium.cable.kind.clone()).or_default() += count;
        }
        let all = medium.cable.price.0.saturating_mul(count as u64);
        self.cables_price.0 = self.cables_price.0.saturating_add(all);
    }
}

fn sum(prices: impl Iterator<Item = Price>) -> Price {
    Price(prices.fold(0, |sum, price| sum.saturating_add(price.0)))
}

#[cfg(test)]
mod tests {
    use super::super::shapes::{
        Basis, Between, Joined, Mesh, Segment, bonded, hub, mesh, star, switch,
    };
    use super::super::{Selector, Topology};
    use super::*;

    fn counts(topology: &Topology) -> (usize, usize, usize, usize) {
        let inventory = Inventory::count(topology);
        let cables = inventory.cables.values().sum();
        (inventory.nics, cables, inventory.ports, inventory.hubs + inventory.switches)
    }

    #[test]
    fn the_table_of_2004_has_these_cables_and_nics() {
        let three = Basis::numbered("try", 3);
        assert_eq!(counts(&hub(&three)), (4, 4, 4, 1));
        assert_eq!(counts(&switch(&three, None)), (4, 4, 4, 1));
        let p2p = star(&three, Between::Isolated);
        assert_eq!(counts(&p2p), (6, 3, 0, 0));
        assert_eq!(Inventory::count(&p2p).cables["crossed"], 3);
    }

    #[test]
    fn the_meshes_of_1996_have_16_nodes_with_two_nics() {
        let basis = Basis::numbered("try", 15);
        assert_eq!(counts(&bonded(&basis, 2, Segment::Hub, Selector::Packet)), (32, 32, 32, 2));
        let mesh_of =
            |joined| mesh(&basis, &Mesh { columns: 4, segment: Segment::Hub, joined, both: None });
        assert_eq!(counts(&mesh_of(Joined::Routed)), (32, 32, 32, 8));
        // Two switches with four ports, each of which is on a bus.
        assert_eq!(counts(&mesh_of(Joined::Switched)), (32, 40, 48, 10));
    }

    #[test]
    fn everything_has_its_price() {
        let mut topology = switch(&Basis::numbered("try", 3), None);
        topology.nodes.iter_mut().for_each(|node| node.price = Price(10_000));
        topology.nics.iter_mut().for_each(|nic| nic.price = Price(1500));
        topology.media[0].price = Price(6000);
        topology.media[0].cable.price = Price(250);
        let inventory = Inventory::count(&topology);
        assert_eq!(inventory.price(), Price(40_000 + 6000 + 6000 + 1000));
        assert_eq!(inventory.price().to_string(), "530.00");
    }
}
