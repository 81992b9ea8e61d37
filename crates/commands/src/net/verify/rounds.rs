//! Groups links into rounds. Links of a round are measured at the same time; no two share a sender,
//! a receiver or a hub.

use std::collections::BTreeSet;

use garland_topology::verify::Link;
use garland_topology::{MediumKind, NodeId, Topology};

/// The maximum number of links in a round: with more, the head, or the machine that emulates the
/// links, may be the bottleneck.
const MAX_LINKS: usize = 8;

/// Returns the rounds, each as the indices of its links.
pub fn rounds(topology: &Topology, links: &[Link]) -> Vec<Vec<usize>> {
    let mut left: Vec<usize> = (0..links.len()).collect();
    let mut rounds = Vec::new();
    while !left.is_empty() {
        let mut busy: BTreeSet<Busy> = BTreeSet::new();
        let mut round = Vec::new();
        left.retain(|&place| {
            let taken = busy_of(topology, &links[place]);
            if round.len() == MAX_LINKS || taken.iter().any(|one| busy.contains(one)) {
                return true;
            }
            busy.extend(taken);
            round.push(place);
            false
        });
        rounds.push(round);
    }
    rounds
}

/// A resource that a link occupies while it is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Busy {
    Sender(NodeId),
    Receiver(NodeId),
    Segment(usize),
}

fn busy_of(topology: &Topology, link: &Link) -> Vec<Busy> {
    let from = &topology.nics[link.from];
    let to = &topology.nics[link.to];
    let mut taken = vec![Busy::Sender(from.node), Busy::Receiver(to.node)];
    // An uplink is shared itself, and may lead to a hub.
    let segments = topology.segments();
    let segment = segments[from.medium];
    let alone = |medium: usize| {
        let kind = topology.media[medium].kind;
        segments[medium] != segment || !matches!(kind, MediumKind::Hub { .. })
    };
    let joined = topology.uplinks.iter().any(|uplink| segments[uplink.from] == segment);
    if joined || !(0..topology.media.len()).all(alone) {
        taken.push(Busy::Segment(segment));
    }
    taken
}

#[cfg(test)]
mod tests {
    use garland_topology::shapes::{Basis, hub, switch};

    use super::*;

    fn links(count: usize) -> Vec<Link> {
        let link = |from| Link {
            from,
            to: (from + 1) % count,
            address: [10, 0, 0, 1].into(),
            mtu: 1500,
            goodput: None,
        };
        (0..count).map(link).collect()
    }

    #[test]
    fn a_hub_carries_one_at_a_time_and_a_switch_all() {
        let basis = Basis::numbered("try", 5).at("10mbit".parse().unwrap());
        let lengths = |topology| -> Vec<usize> {
            rounds(&topology, &links(6)).iter().map(Vec::len).collect()
        };
        assert_eq!(lengths(hub(&basis)), [1; 6]);
        assert_eq!(lengths(switch(&basis, None)), [6]);
    }
}
