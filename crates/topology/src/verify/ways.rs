//! Finds the paths that packets used, from the counters of NICs.
//!
//! Only sent frames count, since on a hub every NIC receives all frames.

use std::collections::BTreeSet;

use super::super::paths::{Choice, Ways};
use super::super::{NicId, NicName, NodeId, Topology};
use super::cabling::Cabling;
use super::finding::Finding;
use super::names;
use super::observed::{BurstSeen, Observed};
use super::port::Port;

/// The least share of a burst that a NIC on the burst's path must have sent. NICs that sent less
/// carried other traffic.
const GOOD_PART: f64 = 0.25;

pub(super) fn judge(topology: &Topology, observed: &Observed, cabling: &Cabling) -> Vec<Finding> {
    let judge = WayJudge::new(topology, cabling);
    observed.bursts.iter().filter_map(|burst| judge.burst(burst)).collect()
}

/// Compares bursts with the planned routes.
pub struct WayJudge<'a> {
    topology: &'a Topology,
    cabling: &'a Cabling,
    ways: Ways<'a>,
}

impl<'a> WayJudge<'a> {
    /// Creates a judge for `topology`. Paths over accused cables are not judged.
    pub fn new(topology: &'a Topology, cabling: &'a Cabling) -> Self {
        Self { topology, cabling, ways: Ways::new(topology) }
    }

    /// Returns how a burst deviates from the planned routes; `None` if it does not deviate, or if
    /// its path contains suspect cables.
    pub fn burst(&self, burst: &BurstSeen) -> Option<Finding> {
        let streams = self.ways.between(burst.from, burst.to);
        let choices: Vec<&Choice> = streams.iter().flat_map(|stream| &stream.there).collect();
        let planned: BTreeSet<NicId> = choices
            .iter()
            .flat_map(|choice| choice.legs.iter().flat_map(|leg| &leg.path.senders))
            .copied()
            .collect();
        if self.is_consequence(burst, &choices) {
            return None;
        }
        let node = |id: NodeId| self.topology.nodes[id].name.clone();
        let from = node(burst.from);
        let to = node(burst.to);
        let good = |count: u64| count as f64 >= GOOD_PART * f64::from(burst.sent);
        // The receiver does not send.
        let on_way = |port: &Port| port.node != burst.to && self.cabling.real.contains(port);
        let found = burst.carried.iter().filter(|(port, count)| good(*count) && on_way(port));
        let found: Vec<&Port> = found.map(|(port, _)| port).collect();
        let found_names = || found.iter().map(|port| port.name(self.topology)).collect();
        if planned.is_empty() {
            return (burst.arrived > 0).then(|| Finding::Reached {
                from,
                to,
                found: found_names(),
            });
        }
        let planned_names = || self.names(choices.iter().find(|choice| !choice.legs.is_empty()));
        let others =
            found.iter().any(|port| !planned.iter().any(|nic| self.port(*nic) == Some(*port)));
        let arrived = burst.arrived * 2 >= burst.sent;
        let taken = choices.iter().any(|choice| self.is_taken(choice, burst));
        if arrived && (others || !taken) {
            let planned = planned_names();
            let found = found_names();
            return Some(Finding::Route { from, to, planned, found });
        }
        (!arrived).then(|| Finding::Unreached {
            from,
            to,
            planned: planned_names(),
            sent: burst.sent,
            arrived: burst.arrived,
        })
    }

    fn port(&self, nic: NicId) -> Option<&Port> {
        self.cabling.ports.get(&nic)
    }

    /// Returns the names of the NICs of a choice, each once.
    fn names(&self, choice: Option<&&Choice>) -> Vec<NicName> {
        let mut nics: Vec<NicId> = Vec::new();
        let legs = choice.iter().flat_map(|choice| &choice.legs);
        for nic in legs.flat_map(|leg| &leg.path.senders) {
            if !nics.contains(nic) {
                nics.push(*nic);
            }
        }
        let name = |nic| names::name(self.topology, &self.cabling.ports, nic);
        nics.into_iter().map(name).collect()
    }

    /// Whether a deviation can follow from wrong cabling: a node on a planned path has an accused
    /// NIC.
    fn is_consequence(&self, burst: &BurstSeen, choices: &[&Choice]) -> bool {
        let legs = choices.iter().flat_map(|choice| &choice.legs);
        let between = legs.flat_map(|leg| &leg.path.nodes);
        let mut nodes = between.chain([&burst.from, &burst.to]);
        let accused = |(nic, _)| self.cabling.accuses(nic);
        nodes.any(|node| self.topology.nics_of(*node).any(accused))
    }

    /// Whether every NIC of a choice sent at least half of its share of the burst.
    fn is_taken(&self, choice: &Choice, burst: &BurstSeen) -> bool {
        let sent = f64::from(burst.sent);
        let count = |nic: NicId| {
            let carried = burst.carried.iter().find(|(port, _)| self.port(nic) == Some(port));
            carried.map(|(_, count)| *count as f64)
        };
        let mut nics = choice
            .legs
            .iter()
            .flat_map(|leg| leg.path.senders.iter().map(move |nic| (*nic, leg.share)));
        // The counters of nodes that were not reached are unknown.
        !choice.legs.is_empty()
            && nics.all(|(nic, share)| count(nic).is_none_or(|count| count >= 0.5 * share * sent))
    }
}
