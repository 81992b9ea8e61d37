//! Computes how many nodes a point-to-point star, or two joined stars, can have with the cards that
//! fit into a server.

use garland_core::command_error::CommandError;
use serde::Serialize;

use super::Price;

/// The slots and ports of a server, the machine at the centre of a star.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Server {
    /// The number of slots for cards.
    pub slots: u32,
    /// The number of ports per card, at least one.
    pub ports: u32,
    /// The number of ports on the main board; the main board of a node has as many.
    pub onboard: u32,
}

/// The prices of the parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Prices {
    /// The price of a card of the server.
    pub card: Price,
    /// The price of a NIC for a node; needed if its main board has no port.
    pub nic: Price,
    /// The price of a cable.
    pub cable: Price,
    /// The price of a faster card that connects two servers.
    pub faster: Price,
}

/// How two stars are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Join {
    /// A number of ordinary ports of each server, bonded if there are several.
    Ports(u32),
    /// A faster card with one port in a slot of each server.
    Faster,
}

/// The parts of a cluster of one or two stars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Size {
    /// The number of machines, including the servers.
    pub nodes: u64,
    /// The number of servers: one, or two that are connected.
    pub servers: u64,
    /// The number of ordinary cards in the servers.
    pub cards: u64,
    /// The number of ports that cables use at both ends: 2(N - 1) for a star of N machines.
    pub nics: u64,
    /// The number of crossover cables; with two stars, including those between the servers.
    pub cables: u64,
    /// Nodes of a star per ordinary wire between the stars; 0 for one star, and with a faster card.
    pub nodes_per_join: f64,
    /// The total price without the machines.
    pub price: Price,
}

/// The reason why a cluster of the requested size is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// More nodes than ports.
    #[error(
        "{nodes} nodes need {needed} ports in the server, but it has {ports}; with such cards it \
         needs {slots} slots"
    )]
    TooMany {
        /// The requested number of machines, including the server.
        nodes: u64,
        /// The ports that these machines need.
        needed: u64,
        /// The ports of the server.
        ports: u64,
        /// The number of slots that would be enough.
        slots: u64,
    },
    /// The connection of the servers leaves no ports for nodes.
    #[error(
        "the connection between the two stars takes all {ports} ports of each server, so none is left for nodes; use fewer ports for it"
    )]
    OnlyJoined {
        /// The ports of each server.
        ports: u64,
    },
    /// There is no slot for a faster card.
    #[error("a faster card needs a slot, but the server has none")]
    NoSlot,
}

impl CommandError for SizeError {}

impl Server {
    /// Returns the number of ports of the server, on the main board and on cards.
    pub fn all_ports(&self) -> u64 {
        u64::from(self.slots) * u64::from(self.ports) + u64::from(self.onboard)
    }

    /// Returns the number of cards that are needed for `ports` ports in addition to those on the
    /// main board.
    fn cards_for(&self, ports: u64) -> u64 {
        ports.saturating_sub(u64::from(self.onboard)).div_ceil(u64::from(self.ports.max(1)))
    }

    /// Computes a star of `nodes` machines; the largest possible star if `nodes` is `None`.
    ///
    /// # Errors
    /// [`SizeError::TooMany`] when the server has too few ports.
    pub fn star(&self, nodes: Option<u64>, prices: &Prices) -> Result<Size, SizeError> {
        let ports = self.all_ports();
        let nodes = nodes.unwrap_or(ports + 1).max(1);
        let needed = nodes - 1;
        if needed > ports {
            let slots = self.cards_for(needed);
            return Err(SizeError::TooMany { nodes, needed, ports, slots });
        }
        let cards = self.cards_for(needed);
        Ok(self.priced(prices, needed, Size { nodes, servers: 1, cards, ..Size::wires(needed) }))
    }

    /// Computes the two largest stars that `join` can connect.
    ///
    /// # Errors
    /// [`SizeError::OnlyJoined`] and [`SizeError::NoSlot`] when no node is left.
    pub fn joined(&self, join: Join, prices: &Prices) -> Result<Size, SizeError> {
        let all = self.all_ports();
        let (ports, between) = match join {
            Join::Ports(by) => (all.saturating_sub(u64::from(by)), u64::from(by)),
            Join::Faster if self.slots == 0 => return Err(SizeError::NoSlot),
            Join::Faster => (all - u64::from(self.ports), 1),
        };
        if ports == 0 {
            return Err(SizeError::OnlyJoined { ports: all });
        }
        let (cards, nodes_per_join) = match join {
            Join::Ports(by) => (self.cards_for(all), ports as f64 / f64::from(by.max(1))),
            Join::Faster => (self.cards_for(ports), 0.0),
        };
        let cables = Size::wires(2 * ports + between);
        let size = Size { nodes: 2 * ports + 2, servers: 2, cards: 2 * cards, ..cables };
        let mut size = self.priced(prices, 2 * ports, Size { nodes_per_join, ..size });
        if join == Join::Faster {
            size.price.0 = size.price.0.saturating_add(prices.faster.0.saturating_mul(2));
        }
        Ok(size)
    }

    /// Sets the price: that of all cards and cables, and of a NIC for each of `nodes` nodes if the
    /// main boards have no port.
    fn priced(&self, prices: &Prices, nodes: u64, size: Size) -> Size {
        let nics = if self.onboard == 0 { nodes } else { 0 };
        let parts = [(size.cards, prices.card), (nics, prices.nic), (size.cables, prices.cable)];
        let costs = parts.iter().map(|(count, price)| count.saturating_mul(price.0));
        Size { price: Price(costs.fold(0, u64::saturating_add)), ..size }
    }
}

impl Size {
    /// Returns a size with this number of wires and nothing else.
    fn wires(wires: u64) -> Self {
        Self { nics: 2 * wires, cables: wires, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seven slots, cards with two ports, one port on the main board.
    const OF_2004: Server = Server { slots: 7, ports: 2, onboard: 1 };
    const PRICES: Prices =
        Prices { card: Price(4000), nic: Price(1500), cable: Price(300), faster: Price(10_000) };

    #[test]
    fn the_star_of_2004_ends_at_16_nodes() {
        let most = OF_2004.star(None, &PRICES).unwrap();
        assert_eq!((most.nodes, most.nics, most.cables, most.cards), (16, 30, 15, 7));
        assert_eq!(most.price, Price(7 * 4000 + 15 * 300));
        let four = OF_2004.star(Some(4), &PRICES).unwrap();
        assert_eq!((four.nics, four.cables, four.cards), (6, 3, 1));
        // One port per card and none on the main board: the published seven nodes, with a NIC each.
        let plain = Server { slots: 7, ports: 1, onboard: 0 };
        let most = plain.star(None, &PRICES).unwrap();
        assert_eq!((most.nodes, most.price), (8, Price(7 * 4000 + 7 * 1500 + 7 * 300)));
    }

    #[test]
    fn too_many_nodes_say_what_they_need() {
        let error = OF_2004.star(Some(24), &PRICES).unwrap_err();
        assert_eq!(
            error.to_string(),
            "24 nodes need 23 ports in the server, but it has 15; with such cards it needs 11 slots"
        );
    }

    #[test]
    fn two_stars_lose_what_joins_them() {
        let by_one = OF_2004.joined(Join::Ports(1), &PRICES).unwrap();
        assert_eq!((by_one.nodes, by_one.cables, by_one.nics), (30, 29, 58));
        assert_eq!(by_one.nodes_per_join, 14.0);
        let by_two = OF_2004.joined(Join::Ports(2), &PRICES).unwrap();
        assert_eq!((by_two.nodes, by_two.cables, by_two.cards), (28, 28, 14));
        assert_eq!(by_two.nodes_per_join, 6.5);
        let faster = OF_2004.joined(Join::Faster, &PRICES).unwrap();
        assert_eq!((faster.nodes, faster.cables, faster.cards), (28, 27, 12));
        assert_eq!(faster.price, Price(12 * 4000 + 27 * 300 + 2 * 10_000));
    }

    #[test]
    fn what_leaves_no_node_says_so() {
        let small = Server { slots: 0, ports: 1, onboard: 1 };
        assert_eq!(small.joined(Join::Ports(1), &PRICES), Err(SizeError::OnlyJoined { ports: 1 }));
        assert_eq!(small.joined(Join::Faster, &PRICES), Err(SizeError::NoSlot));
        assert_eq!(small.star(Some(0), &PRICES).unwrap().nodes, 1);
        let one_card = Server { slots: 1, ports: 2, onboard: 0 };
        assert!(one_card.joined(Join::Faster, &PRICES).is_err());
    }
}
