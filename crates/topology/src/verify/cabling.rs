//! Compares the planned segments with the groups of NICs that receive frames from each other.
//!
//! A group is assigned to each planned segment. NICs in the group of another segment are displaced;
//! swapped NICs form cycles. Two cables that are swapped within a medium are not detected, and are
//! not a fault.

use std::collections::{BTreeMap, BTreeSet};

use garland_core::nic_facts::NicFacts;

use super::super::{MediumId, NicId, NicName, Topology, first_connected};
use super::cycles::{self, Displaced};
use super::finding::Finding;
use super::matching::{self, Group};
use super::names::{self, facts, match_ports};
use super::observed::Observed;
use super::port::Port;

/// The result of comparing the cabling with the plan.
#[derive(Clone, Debug)]
pub struct Cabling {
    /// The differences from the topology.
    pub findings: Vec<Finding>,
    /// For each planned NIC that was found, the real NIC.
    pub ports: BTreeMap<NicId, Port>,
    /// All real NICs, without devices such as bonds, VLANs and bridges.
    pub(super) real: BTreeSet<Port>,
    /// For each planned segment, its planned NICs that are really on it.
    pub(super) home: BTreeMap<MediumId, Vec<NicId>>,
    /// NICs whose cable, or the cable of a peer, differs from the plan.
    pub(super) accused: BTreeSet<NicId>,
}

impl Cabling {
    /// Compares the cabling with the plan: NICs that received frames from each other are connected.
    pub fn compare(topology: &Topology, observed: &Observed) -> Self {
        let ports = match_ports(topology, observed);
        let mut judge = Judge::new(topology, observed, ports);
        judge.absent();
        judge.places();
        judge.unplanned();
        let Judge { ports, groups, home, accused, findings, .. } = judge;
        Self { findings, ports, real: groups.into_keys().collect(), home, accused }
    }

    /// Returns the NICs that are planned on a segment and really are on it.
    pub fn together(&self, segment: MediumId) -> &[NicId] {
        self.home.get(&segment).map_or(&[], Vec::as_slice)
    }

    /// Whether the cabling of a NIC is suspect.
    pub fn accuses(&self, nic: NicId) -> bool {
        self.accused.contains(&nic)
    }
}

struct Judge<'a> {
    topology: &'a Topology,
    observed: &'a Observed,
    ports: BTreeMap<NicId, Port>,
    groups: BTreeMap<Port, Group>,
    segments: Vec<MediumId>,
    home: BTreeMap<MediumId, Vec<NicId>>,
    accused: BTreeSet<NicId>,
    findings: Vec<Finding>,
}

impl<'a> Judge<'a> {
    fn new(topology: &'a Topology, observed: &'a Observed, ports: BTreeMap<NicId, Port>) -> Self {
        Self {
            groups: groups(observed, &ports),
            topology,
            observed,
            ports,
            segments: topology.segments(),
            home: BTreeMap::new(),
            accused: BTreeSet::new(),
            findings: Vec::new(),
        }
    }

    fn name(&self, nic: NicId) -> NicName {
        names::name(self.topology, &self.ports, nic)
    }

    fn names(&self, nics: &[NicId]) -> Vec<NicName> {
        nics.iter().map(|nic| self.name(*nic)).collect()
    }

    fn group(&self, nic: NicId) -> Group {
        self.groups[&self.ports[&nic]]
    }

    fn has_carrier(&self, nic: NicId) -> bool {
        let facts = self.ports.get(&nic).and_then(|port| facts(self.observed, port));
        facts.is_none_or(|facts| facts.carrier)
    }

    /// Returns all NICs that are planned on a segment, found or not.
    fn planned(&self, segment: MediumId) -> Vec<NicId> {
        let nics = self.topology.nics.iter().enumerate();
        let there = nics.filter(|(_, nic)| self.segments[nic.medium] == segment);
        there.map(|(id, _)| id).collect()
    }

    fn accuse(&mut self, segment: MediumId) {
        self.accused.extend(self.planned(segment));
    }

    /// Finds planned NICs that are missing on nodes that were reached.
    fn absent(&mut self) {
        for (id, nic) in self.topology.nics.iter().enumerate() {
            let reached = self.observed.nodes.get(nic.node).is_some_and(Option::is_some);
            if reached && !self.ports.contains_key(&id) {
                self.findings
                    .push(Finding::NoNic { nic: NicName::from_topology(self.topology, id) });
                self.accused.insert(id);
            }
        }
    }

    /// Finds the segment that every planned NIC is really on.
    fn places(&mut self) {
        let mut found: BTreeMap<MediumId, Vec<NicId>> = BTreeMap::new();
        for nic in self.ports.keys() {
            found.entry(self.segments[self.topology.nics[*nic].medium]).or_default().push(*nic);
        }
        let (groups, segments) = self.assign(&found);
        let mut displaced = Vec::new();
        for (&segment, nics) in &found {
            let mut strays: BTreeMap<Group, Vec<NicId>> = BTreeMap::new();
            let mut home = Vec::new();
            for &nic in nics {
                let group = self.group(nic);
                match segments.get(&group) {
                    Some(&here) if here == segment => home.push(nic),
                    Some(&here) => displaced.push(Displaced { nic, planned: segment, found: here }),
                    None => strays.entry(group).or_default().push(nic),
                }
            }
            self.home.insert(segment, home);
            self.missing(segment, nics, strays);
        }
        self.displaced(displaced, &groups, &found);
    }

    /// Assigns groups to segments. Returns the group of each segment, and the inverse mapping.
    fn assign(
        &self,
        found: &BTreeMap<MediumId, Vec<NicId>>,
    ) -> (BTreeMap<MediumId, Group>, BTreeMap<Group, MediumId>) {
        let mut shared: BTreeMap<(MediumId, Group), Vec<NicId>> = BTreeMap::new();
        for (&segment, nics) in found {
            for &nic in nics {
                shared.entry((segment, self.group(nic))).or_default().push(nic);
            }
        }
        let matched = matching::best(shared);
        (
            matched.iter().map(|(segment, group)| (*segment, *group)).collect(),
            matched.iter().map(|(segment, group)| (*group, *segment)).collect(),
        )
    }

    /// Reports NICs of `segment` without a carrier or on no planned segment (`strays`, by group).
    fn missing(&mut self, segment: MediumId, nics: &[NicId], strays: BTreeMap<Group, Vec<NicId>>) {
        let home = self.home[&segment].clone();
        let alone = nics.len() > 2
            && home.len() == 1
            && strays.values().map(Vec::len).sum::<usize>() + 1 == nics.len()
            && strays.values().all(|group| group.len() == 1);
        if alone {
            self.miss(nics, Vec::new());
            self.accuse(segment);
        } else {
            for group in strays.into_values() {
                let planned = self.planned(segment);
                let peers = planned.into_iter().filter(|nic| !group.contains(nic)).collect();
                self.miss(&group, peers);
                self.accused.extend(group);
            }
            // The other end of a wire is accused already, or was not reached.
            let wire = self.planned(segment).len() == 2;
            if wire && home.len() < 2 {
                self.accuse(segment);
            }
        }
        for nic in home {
            if !self.has_carrier(nic) && !self.accused.contains(&nic) {
                let peers = self.planned(segment).into_iter().filter(|peer| *peer != nic);
                let peers = peers.collect();
                self.miss(&[nic], peers);
                self.accused.insert(nic);
            }
        }
    }

    fn miss(&mut self, nics: &[NicId], peers: Vec<NicId>) {
        let carrier = nics.iter().chain(&peers).all(|nic| self.has_carrier(*nic));
        let nics = self.names(nics);
        let peers = self.names(&peers);
        self.findings.push(Finding::Missing { nics, peers, carrier });
    }

    /// Reports NICs that are on another segment than planned: swapped, misplaced or joined ones.
    fn displaced(
        &mut self,
        mut displaced: Vec<Displaced>,
        groups: &BTreeMap<MediumId, Group>,
        found: &BTreeMap<MediumId, Vec<NicId>>,
    ) {
        for place in &displaced {
            self.accuse_small(place.planned);
            self.accuse_small(place.found);
            self.accused.insert(place.nic);
        }
        for nics in cycles::take(&mut displaced) {
            self.findings.push(Finding::Swapped { nics: self.names(&nics) });
        }
        let mut moved: BTreeMap<(MediumId, MediumId), Vec<NicId>> = BTreeMap::new();
        for place in displaced {
            moved.entry((place.planned, place.found)).or_default().push(place.nic);
        }
        for ((planned, at), nics) in moved {
            let whole = nics.len() > 1 && nics.len() == found[&planned].len();
            let others = self.home.get(&at).cloned().unwrap_or_default();
            if whole && !groups.contains_key(&planned) {
                let one = self.names(&others);
                let other = self.names(&nics);
                self.findings.push(Finding::Joined { one, other });
                continue;
            }
            for nic in nics {
                let peers: Vec<NicId> =
                    self.planned(planned).into_iter().filter(|peer| *peer != nic).collect();
                let planned = self.names(&peers);
                let found = self.names(&others);
                self.findings.push(Finding::Misplaced { nic: self.name(nic), planned, found });
            }
        }
    }

    /// Marks all NICs of `segment` as suspect if there are at most two, as on a wire.
    fn accuse_small(&mut self, segment: MediumId) {
        if self.planned(segment).len() <= 2 {
            self.accuse(segment);
        }
    }

    /// Reports NICs that are not planned and receive frames from others.
    fn unplanned(&mut self) {
        let planned: BTreeMap<&Port, NicId> =
            self.ports.iter().map(|(nic, port)| (port, *nic)).collect();
        let mut members: BTreeMap<Group, (Vec<&Port>, Vec<NicId>)> = BTreeMap::new();
        for (port, group) in &self.groups {
            let (extra, known) = members.entry(*group).or_default();
            match planned.get(port) {
                Some(nic) => known.push(*nic),
                None => extra.push(port),
            }
        }
        for (extra, known) in members.into_values() {
            let managed = extra.iter().any(|port| self.observed.management.contains(port));
            let apart = extra.iter().all(|port| port.node == extra[0].node);
            if extra.is_empty() || (known.is_empty() && (managed || apart)) {
                continue;
            }
            let nics = extra.iter().map(|port| port.name(self.topology)).collect();
            self.findings.push(Finding::Extra { nics, planned: self.names(&known) });
        }
    }
}

/// Returns the group number of each real NIC, without devices that share the Ethernet address of a
/// planned NIC (bonds, VLANs, bridges).
fn groups(observed: &Observed, planned: &BTreeMap<NicId, Port>) -> BTreeMap<Port, Group> {
    let known: BTreeSet<&Port> = planned.values().collect();
    let mut all = Vec::new();
    for (node, nics) in observed.nodes.iter().enumerate() {
        let with = |facts: &NicFacts| (Port { node, nic: facts.name.clone() }, facts.ethernet);
        let nics: Vec<_> = nics.iter().flatten().map(with).collect();
        let own = nics.iter().filter(|(port, _)| known.contains(port));
        let own: Vec<_> = own.map(|(_, ethernet)| *ethernet).collect();
        let real = nics
            .into_iter()
            .filter(|(port, ethernet)| known.contains(port) || !own.contains(ethernet));
        all.extend(real.map(|(port, _)| port));
    }
    let mut groups: BTreeMap<Port, Group> =
        all.into_iter().enumerate().map(|(number, port)| (port, number)).collect();
    let pairs = observed.heard.iter();
    let pairs = pairs.filter_map(|(one, two)| Some((*groups.get(one)?, *groups.get(two)?)));
    let first = first_connected(groups.len(), pairs);
    groups.values_mut().for_each(|group| *group = first[*group]);
    groups
}
