//! How many nodes a point-to-point star can have, and two of them joined, by what fits into a
//! server.

use serde::Serialize;

use super::Price;

/// What fits into a machine that is the centre of a star.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Server {
    /// Slots for cards.
    pub slots: u32,
    /// Ports of a card, one at least.
    pub ports: u32,
    /// Ports on the main board; nodes have as many.
    pub onboard: u32,
}

/// What the parts cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Prices {
    /// A server's card.
    pub card: Price,
    /// A node's NIC, needed where nothing is on board.
    pub nic: Price,
    /// A cable.
    pub cable: Price,
    /// A faster card that joins two servers.
    pub faster: Price,
}

/// How two stars are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Join {
    /// A number of ordinary ports of each server, bonded if there are several.
    Ports(u32),
    /// By a faster card with one port in a slot of each server.
    Faster,
}

/// What a cluster of stars takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Size {
    /// Machines, servers among them.
    pub nodes: u64,
    /// Servers: one, or two that are joined.
    pub servers: u64,
    /// Ordinary cards in the servers.
    pub cards: u64,
    /// NICs in use, each port counted, at both ends: 2(N - 1) for a star of N.
    pub nics: u64,
    /// Cables: crossed ones, with two stars also those between the servers.
    pub cables: u64,
    /// Nodes of one star for each ordinary wire between the stars; 0 for one star, and for a
    /// faster card.
    pub nodes_per_join: f64,
    /// All of it, without the machines.
    pub price: Price,
}

/// Why a size can't be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// More nodes than ports.
    #[error(
        "{nodes} nodes need {needed} ports in the server, which has {ports}: that is {slots} slots \
         with such cards"
    )]
    TooMany {
        /// Machines asked for, the server among them.
        nodes: u64,
        /// Ports they need.
        needed: u64,
        /// Ports there are.
        ports: u64,
        /// Slots that would do.
        slots: u64,
    },
    /// Nothing is left for nodes.
    #[error("joining two stars takes all {ports} ports of each server: no node is left")]
    OnlyJoined {
        /// Ports there are.
        ports: u64,
    },
    /// A faster card has no slot.
    #[error("a faster card needs a slot, and the server has none")]
    NoSlot,
}

impl Server {
    /// All its ports.
    pub fn all_ports(&self) -> u64 {
        u64::from(self.slots) * u64::from(self.ports) + u64::from(self.onboard)
    }

    /// The cards that give this number of ports in addition to those on board.
    fn cards_for(&self, ports: u64) -> u64 {
        ports.saturating_sub(u64::from(self.onboard)).div_ceil(u64::from(self.ports.max(1)))
    }

    /// A star of this number of machines, or the largest one.
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

    /// The two largest stars that are joined so.
    ///
    /// # Errors
    /// [`SizeError::OnlyJoined`] and [`SizeError::NoSlot`] when the joint leaves no node.
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
        let wires = Size::wires(2 * ports + between);
        let size = Size { nodes: 2 * ports + 2, servers: 2, cards: 2 * cards, ..wires };
        let mut size = self.priced(prices, 2 * ports, Size { nodes_per_join, ..size });
        if join == Join::Faster {
            size.price.0 = size.price.0.saturating_add(prices.faster.0.saturating_mul(2));
        }
        Ok(size)
    }

    /// With the price of cards, cables, and a NIC for each of `nodes` without one on board.
    fn priced(&self, prices: &Prices, nodes: u64, size: Size) -> Size {
        let nics = if self.onboard == 0 { nodes } else { 0 };
        let parts = [(size.cards, prices.card), (nics, prices.nic), (size.cables, prices.cable)];
        let costs = parts.iter().map(|(count, price)| count.saturating_mul(price.0));
        Size { price: Price(costs.fold(0, u64::saturating_add)), ..size }
    }
}

impl Size {
    /// A number of wires and nothing else.
    fn wires(wires: u64) -> Self {
        let (nics, cables) = (2 * wires, wires);
        let none = Price::default();
        Self { nodes: 0, servers: 0, cards: 0, nics, cables, nodes_per_join: 0.0, price: none }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seven slots, cards with two ports, one port on board.
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
        // One port a card and none on board: the published seven, and a NIC for each node.
        let plain = Server { slots: 7, ports: 1, onboard: 0 };
        let most = plain.star(None, &PRICES).unwrap();
        assert_eq!((most.nodes, most.price), (8, Price(7 * 4000 + 7 * 1500 + 7 * 300)));
    }

    #[test]
    fn too_many_nodes_say_what_they_need() {
        let error = OF_2004.star(Some(24), &PRICES).unwrap_err();
        assert_eq!(
            error.to_string(),
            "24 nodes need 23 ports in the server, which has 15: that is 11 slots with such cards"
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
