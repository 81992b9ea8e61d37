//! Who should be on one medium with whom, and who is.
//!
//! NICs that hear each other are one group, and every planned segment gets one. NICs in another
//! segment's group are displaced; exchanged ones come as cycles. On one medium all places are
//! equal, so two cables exchanged there are neither seen nor a fault.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{MediumId, NicId, NicName, Topology};
use super::cycles::{self, Displaced};
use super::matching::{self, Group};
use super::names::{facts, ports};
use super::{Finding, Link, Observed, Port, links};
use garland_core::nic_facts::NicFacts;

/// Who is where, and what of it isn't as planned.
#[derive(Clone, Debug)]
pub struct Cabling {
    /// What isn't as planned.
    pub findings: Vec<Finding>,
    /// The real NIC of each one of the plan that was found.
    pub ports: BTreeMap<NicId, Port>,
    /// All real NICs; devices that are made of others aren't.
    pub(super) real: BTreeSet<Port>,
    /// By planned segment: its NICs that are where they belong.
    pub(super) home: BTreeMap<MediumId, Vec<NicId>>,
    /// NICs whose cabling isn't as planned, or whose peers' isn't.
    pub(super) accused: BTreeSet<NicId>,
}

impl Cabling {
    /// Judges who heard whom.
    pub fn of(topology: &Topology, observed: &Observed) -> Self {
        let ports = ports(topology, observed);
        let mut judge = Judge::new(topology, observed, ports);
        judge.absent();
        judge.places();
        judge.unplanned();
        let Judge { ports, groups, home, accused, findings, .. } = judge;
        Self { findings, ports, real: groups.into_keys().collect(), home, accused }
    }

    /// The links to measure, each both ways: all NICs in every direction.
    pub fn links(&self, topology: &Topology) -> Vec<Link> {
        links::to_measure(topology, self)
    }

    /// The NICs of a planned segment that are where they belong.
    pub fn together(&self, segment: MediumId) -> &[NicId] {
        self.home.get(&segment).map_or(&[], Vec::as_slice)
    }

    /// Whether the cabling of a NIC is in question.
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
        self.ports
            .get(&nic)
            .map_or_else(|| NicName::of(self.topology, nic), |port| port.name(self.topology))
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

    /// All NICs planned on a segment, found or not.
    fn planned(&self, segment: MediumId) -> Vec<NicId> {
        let nics = self.topology.nics.iter().enumerate();
        let there = nics.filter(|(_, nic)| self.segments[nic.medium] == segment);
        there.map(|(id, _)| id).collect()
    }

    fn accuse(&mut self, segment: MediumId) {
        self.accused.extend(self.planned(segment));
    }

    /// NICs of the plan that nodes that were reached don't have.
    fn absent(&mut self) {
        for (id, nic) in self.topology.nics.iter().enumerate() {
            let reached = self.observed.nodes.get(nic.node).is_some_and(Option::is_some);
            if reached && !self.ports.contains_key(&id) {
                self.findings.push(Finding::NoNic { nic: NicName::of(self.topology, id) });
                self.accused.insert(id);
            }
        }
    }

    /// Where every NIC of the plan is.
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

    /// A group for each segment, and the other way round.
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

    /// NICs of a segment that reach no place of the plan, by the groups that they are.
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
            // One end of a wire is left: its other end is accused by now, or wasn't reached.
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
        let (nics, peers) = (self.names(nics), self.names(&peers));
        self.findings.push(Finding::Missing { nics, peers, carrier });
    }

    /// NICs at other segments' places.
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
                let (one, other) = (self.names(&others), self.names(&nics));
                self.findings.push(Finding::Joined { one, other });
                continue;
            }
            for nic in nics {
                let peers: Vec<NicId> =
                    self.planned(planned).into_iter().filter(|peer| *peer != nic).collect();
                let (planned, found) = (self.names(&peers), self.names(&others));
                self.findings.push(Finding::Misplaced { nic: self.name(nic), planned, found });
            }
        }
    }

    /// All of a wire is in question when one of its ends is; others of a switch are not.
    fn accuse_small(&mut self, segment: MediumId) {
        if self.planned(segment).len() <= 2 {
            self.accuse(segment);
        }
    }

    /// NICs that aren't in the plan and hear others.
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

/// The number of the group of each NIC. Devices that are made of planned NICs (bonds, VLANs, bridges)
/// have an Ethernet address of theirs, and aren't NICs.
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
    let mut parents: Vec<Group> = (0..groups.len()).collect();
    let root = |parents: &[Group], mut group: Group| {
        while parents[group] != group {
            group = parents[group];
        }
        group
    };
    for (listener, sender) in &observed.heard {
        let (Some(&one), Some(&two)) = (groups.get(listener), groups.get(sender)) else { continue };
        let (one, two) = (root(&parents, one), root(&parents, two));
        parents[one.max(two)] = one.min(two);
    }
    groups.values_mut().for_each(|group| *group = root(&parents, *group));
    groups
}
