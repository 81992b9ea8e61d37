//! Forwarding: the next hops from a node to an address, and the NIC that has the address.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

use super::subnet::mask;
use super::{Bond, MediumId, NextHop, NicId, NodeId, Reach, Route, Selector, Topology};

/// The forwarding tables of all nodes. Lookups work as in the kernel: the longest prefix wins, and
/// direct neighbours precede routes.
///
/// All indices of the topology must be valid, as [`Topology::check`] ensures.
pub struct Forwarding<'t> {
    topology: &'t Topology,
    tables: Vec<Table<'t>>,
    answers: HashMap<Ipv4Addr, Vec<Answer>>,
    segments: Vec<MediumId>,
}

/// The routes of a node by prefix length, the longest first, and by network address.
type Table<'t> = BTreeMap<Reverse<u8>, HashMap<u32, Entry<'t>>>;

#[derive(Clone, Copy)]
enum Entry<'t> {
    Nic(NicId),
    Bond(&'t Bond),
    Route(&'t Route),
}

/// A NIC that answers for an address. Candidates are ranked: a NIC that has the address itself, a
/// NIC whose bond has it, a NIC whose node has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Answer {
    rank: u8,
    nic: NicId,
}

impl<'t> Forwarding<'t> {
    /// Builds the tables of a topology.
    pub fn new(topology: &'t Topology) -> Self {
        Self {
            topology,
            tables: tables(topology),
            answers: answers(topology),
            segments: topology.segments(),
        }
    }

    /// Returns the next hops from `node` to the address `to`, and how one of them is selected.
    /// There are no hops if the node has no route.
    pub fn hops(&self, node: NodeId, to: Ipv4Addr) -> (Selector, Vec<NextHop>) {
        let found = self.tables[node]
            .iter()
            .find_map(|(Reverse(prefix), networks)| networks.get(&(to.to_bits() & mask(*prefix))));
        match found {
            None => (Selector::default(), Vec::new()),
            Some(Entry::Nic(nic)) => (Selector::default(), direct(&[*nic])),
            Some(Entry::Bond(bond)) => (bond.selector, direct(&bond.nics)),
            Some(Entry::Route(route)) => self.routed(route),
        }
    }

    /// Returns the NIC that answers for `address` on the segment of `nic`: one that has the
    /// address, or whose bond or node has it.
    pub fn station(&self, nic: NicId, address: Ipv4Addr) -> Option<NicId> {
        let nics = &self.topology.nics;
        let sender = &nics[nic];
        let segment = self.segments[sender.medium];
        let near = self.answers.get(&address)?.iter().filter(|answer| {
            let station = &nics[answer.nic];
            station.node != sender.node && self.segments[station.medium] == segment
        });
        // If a bond has several NICs on a segment, each sends to the NIC with the same name.
        let best = near.min_by_key(|answer| {
            let station = &nics[answer.nic];
            let unlike = station.name != sender.name;
            (answer.rank, station.medium != sender.medium, unlike, answer.nic)
        });
        best.map(|answer| answer.nic)
    }

    /// Returns the hops of a route. If its only hop is a NIC of a bond that works below IP, all
    /// NICs of the bond are hops.
    fn routed(&self, route: &Route) -> (Selector, Vec<NextHop>) {
        if let [hop] = route.hops[..] {
            let bond = self.topology.bonds.iter().find(|bond| bond.nics.contains(&hop.nic));
            if let Some(bond) = bond.filter(|bond| bond.selector != Selector::Subflow) {
                let all = bond.nics.iter().map(|&nic| NextHop { nic, via: hop.via });
                return (bond.selector, all.collect());
            }
        }
        (route.selector, route.hops.clone())
    }
}

fn direct(nics: &[NicId]) -> Vec<NextHop> {
    nics.iter().map(|&nic| NextHop { nic, via: None }).collect()
}

fn tables(topology: &Topology) -> Vec<Table<'_>> {
    let mut tables: Vec<Table<'_>> = vec![Table::new(); topology.nodes.len()];
    let mut add = |node: NodeId, network: Ipv4Addr, prefix: u8, entry| {
        let networks = tables[node].entry(Reverse(prefix)).or_default();
        networks.entry(network.to_bits() & mask(prefix)).or_insert(entry);
    };
    for (id, nic) in topology.nics.iter().enumerate() {
        match (nic.reach, nic.address) {
            (Reach::Subnet(prefix), Some(address)) => {
                add(nic.node, address, prefix, Entry::Nic(id));
            }
            (Reach::Peer(peer), _) => add(nic.node, peer, 32, Entry::Nic(id)),
            (Reach::Subnet(_), None) | (Reach::Nobody, _) => {}
        }
    }
    for bond in topology.bonds.iter().filter(|bond| bond.selector != Selector::Subflow) {
        add(bond.node, bond.address, bond.prefix, Entry::Bond(bond));
    }
    for route in &topology.routes {
        add(route.node, route.to, route.prefix, Entry::Route(route));
    }
    tables
}

fn answers(topology: &Topology) -> HashMap<Ipv4Addr, Vec<Answer>> {
    let mut answers: HashMap<Ipv4Addr, Vec<Answer>> = HashMap::new();
    let mut add =
        |rank, nic, address| answers.entry(address).or_default().push(Answer { rank, nic });
    for (id, nic) in topology.nics.iter().enumerate() {
        if let Some(address) = nic.address {
            add(0, id, address);
        }
        let own = topology.nodes[nic.node].address;
        if nic.address != Some(own) {
            add(2, id, own);
        }
    }
    for bond in &topology.bonds {
        for nic in &bond.nics {
            add(1, *nic, bond.address);
        }
    }
    answers
}
