//! Judges the settings and rates of links: speed, duplex, MTU, goodput.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use garland_core::nic_facts::Duplex;

use super::super::bounds::{ACKNOWLEDGEMENT, FRAME, HEADERS};
use super::super::crossing::crossings;
use super::super::{MediumId, NicId, NicName, Resource, Topology};
use super::cabling::Cabling;
use super::finding::Finding;
use super::names::{self, facts};
use super::observed::{Observed, RateSeen};

/// One direction between two NICs of a planned segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The sending NIC.
    pub from: NicId,
    /// The receiving NIC.
    pub to: NicId,
    /// The receiver's address.
    pub address: Ipv4Addr,
    /// The largest packet that both NICs should accept, in bytes.
    pub mtu: u16,
    /// The planned TCP goodput in bits per second; `None` without a planned rate.
    pub goodput: Option<f64>,
}

impl Cabling {
    /// Returns the links to measure. On each segment every NIC sends to the next one, and the last
    /// one to the first, so all ports are measured in both directions.
    pub fn links(&self, topology: &Topology) -> Vec<Link> {
        let mut links = Vec::new();
        for nics in self.home.values() {
            let nics: Vec<NicId> =
                nics.iter().copied().filter(|nic| topology.nics[*nic].address.is_some()).collect();
            for (place, &from) in nics.iter().enumerate() {
                let to = nics[(place + 1) % nics.len()];
                let sender = &topology.nics[from];
                let receiver = &topology.nics[to];
                if let (Some(address), true) = (receiver.address, sender.node != receiver.node) {
                    let mtu = sender.mtu.min(receiver.mtu);
                    let goodput = expected_goodput(topology, from, to, mtu);
                    links.push(Link { from, to, address, mtu, goodput });
                }
            }
        }
        links
    }
}

/// Returns the planned TCP goodput from one NIC to another on the same segment, in bits per second.
fn expected_goodput(topology: &Topology, from: NicId, to: NicId, mtu: u16) -> Option<f64> {
    let way = crossings(topology, from, to).into_iter().next()?;
    let mtu = f64::from(mtu.max(576));
    let of = |resource: Resource| {
        let hub = if matches!(resource, Resource::Hub(_)) { ACKNOWLEDGEMENT } else { 0.0 };
        resource.capacity(topology) * (mtu - HEADERS) / (mtu + FRAME + hub)
    };
    let least = way.into_iter().map(of).fold(f64::INFINITY, f64::min);
    least.is_finite().then_some(least)
}

pub(super) fn judge(topology: &Topology, observed: &Observed, cabling: &Cabling) -> Vec<Finding> {
    let judge = Judge { topology, observed, cabling, segments: topology.segments() };
    let mut findings: Vec<Finding> =
        cabling.ports.keys().flat_map(|nic| judge.settings(*nic)).collect();
    findings.extend(judge.packets());
    findings.extend(judge.rates());
    findings
}

struct Judge<'a> {
    topology: &'a Topology,
    observed: &'a Observed,
    cabling: &'a Cabling,
    segments: Vec<MediumId>,
}

impl Judge<'_> {
    fn name(&self, nic: NicId) -> NicName {
        names::name(self.topology, &self.cabling.ports, nic)
    }

    fn segment(&self, nic: NicId) -> MediumId {
        self.segments[self.topology.nics[nic].medium]
    }

    /// Returns the names of the NICs that a NIC should reach.
    fn peers(&self, nic: NicId) -> Vec<NicName> {
        let nics = 0..self.topology.nics.len();
        let peers = nics.filter(|peer| *peer != nic && self.segment(*peer) == self.segment(nic));
        peers.map(|peer| self.name(peer)).collect()
    }

    /// Compares the settings of a NIC with the plan.
    fn settings(&self, id: NicId) -> Vec<Finding> {
        let Some(reported) = facts(self.observed, &self.cabling.ports[&id]) else {
            return Vec::new();
        };
        let nic = &self.topology.nics[id];
        let medium = &self.topology.media[nic.medium];
        let name = self.name(id);
        let peers = self.peers(id);
        let mut findings = Vec::new();
        if let (Some(found), Some(planned)) = (reported.speed, medium.rate)
            && found < planned.bits_per_second()
        {
            let nic = name.clone();
            let peers = peers.clone();
            let planned = planned.bits_per_second();
            findings.push(Finding::Speed { nic, peers, found, planned });
        }
        if reported.duplex == Some(Duplex::Half) && !medium.kind.is_hub() {
            findings.push(Finding::HalfDuplex { nic: name.clone(), peers: peers.clone() });
        }
        if reported.mtu != u32::from(nic.mtu) {
            let seen = self.observed.mtus.iter().filter(|seen| seen.from == id || seen.to == id);
            let passes = seen.filter_map(|seen| seen.passes).min();
            let found = reported.mtu;
            let planned = nic.mtu;
            findings.push(Finding::Mtu { nic: name, peers, found, planned, passes });
        }
        findings
    }

    /// Finds links that drop packets of a size that both NICs accept.
    fn packets(&self) -> Vec<Finding> {
        let right = |nic: NicId| {
            let reported = facts(self.observed, &self.cabling.ports[&nic]);
            reported.is_some_and(|reported| reported.mtu == u32::from(self.topology.nics[nic].mtu))
        };
        let lost = self.observed.mtus.iter().filter_map(|seen| {
            let nics = &self.topology.nics;
            let planned = nics[seen.from].mtu.min(nics[seen.to].mtu);
            // If no packet was answered, the size is not the cause.
            let passes = seen.passes.filter(|bytes| *bytes < planned)?;
            (right(seen.from) && right(seen.to)).then(|| Finding::LinkMtu {
                from: self.name(seen.from),
                to: self.name(seen.to),
                planned,
                passes: Some(passes),
            })
        });
        lost.collect()
    }

    /// Finds slow NICs and links: a slow NIC is slow with all its peers.
    fn rates(&self) -> Vec<Finding> {
        let mut by_segment: BTreeMap<MediumId, Vec<&RateSeen>> = BTreeMap::new();
        for seen in &self.observed.rates {
            by_segment.entry(self.segment(seen.from)).or_default().push(seen);
        }
        by_segment.into_values().flat_map(|flows| self.slow_of(&flows)).collect()
    }

    fn slow_of(&self, flows: &[&RateSeen]) -> Vec<Finding> {
        let slow: Vec<&RateSeen> = flows.iter().copied().filter(|flow| flow.is_slow()).collect();
        let Some(first) = slow.first() else { return Vec::new() };
        let ends: BTreeSet<NicId> = flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
        let least = |flows: &mut dyn Iterator<Item = &RateSeen>| {
            let flows = flows.map(|flow| (flow.measured, flow.planned.unwrap_or_default()));
            flows.min_by(|one, two| one.0.total_cmp(&two.0)).unwrap_or_default()
        };
        if slow.len() == flows.len() && flows.len() > 1 {
            let (measured, planned) = least(&mut slow.iter().copied());
            let to = ends.iter().filter(|nic| **nic != first.from).map(|nic| self.name(*nic));
            let from = self.name(first.from);
            let to = to.collect();
            return vec![Finding::Slow { from, to, measured, planned, one_way: false }];
        }
        let with = |nic: NicId| move |flow: &&&RateSeen| flow.from == nic || flow.to == nic;
        let is_slow = |nic: &NicId| {
            let all = flows.iter().filter(with(*nic)).count();
            all > 1 && slow.iter().filter(with(*nic)).count() == all
        };
        let accused: Vec<NicId> = ends.iter().copied().filter(is_slow).collect();
        let whole = accused.iter().map(|&nic| {
            let (measured, planned) = least(&mut slow.iter().filter(with(nic)).copied());
            let from = self.name(nic);
            let to = self.peers(nic);
            Finding::Slow { from, to, measured, planned, one_way: false }
        });
        let rest =
            slow.iter().filter(|flow| !accused.contains(&flow.from) && !accused.contains(&flow.to));
        let rest = rest.map(|flow| Finding::Slow {
            from: self.name(flow.from),
            to: vec![self.name(flow.to)],
            measured: flow.measured,
            planned: flow.planned.unwrap_or_default(),
            one_way: true,
        });
        whole.chain(rest).collect()
    }
}
