//! Finds what the plan has and nobody measured: it must not count as planned.

use std::collections::BTreeSet;

use super::super::{NicId, NodeId, Topology};
use super::cabling::Cabling;
use super::finding::Finding;
use super::names;
use super::observed::{LinkProperty, Observed};

/// Returns a finding for each property of a planned link, and each pair of nodes, that was not
/// measured. Nodes that were not reached have a verdict of their own, and accused cables findings
/// of their own, so nothing is said of them here.
pub(super) fn judge(topology: &Topology, observed: &Observed, cabling: &Cabling) -> Vec<Finding> {
    let is_there = |node: NodeId| observed.nodes.get(node).is_some_and(Option::is_some);
    let passed = observed.mtus.iter().filter(|seen| seen.passes.is_some());
    let mut measured: BTreeSet<(NicId, NicId, LinkProperty)> =
        passed.map(|seen| (seen.from, seen.to, LinkProperty::Mtu)).collect();
    measured.extend(observed.rates.iter().map(|seen| (seen.from, seen.to, LinkProperty::Rate)));
    let is_judged = |nic: NicId| is_there(topology.nics[nic].node) && !cabling.accuses(nic);
    let links = cabling.links(topology).into_iter();
    let links = links.filter(|link| is_judged(link.from) && is_judged(link.to));
    let properties = links.flat_map(|link| {
        LinkProperty::ALL.into_iter().map(move |property| (link.from, link.to, property))
    });
    let name = |nic: NicId| names::name(topology, &cabling.ports, nic);
    let mut findings: Vec<Finding> = properties
        .filter(|key| !measured.contains(key))
        .map(|key| Finding::UnmeasuredLink {
            from: name(key.0),
            to: name(key.1),
            property: key.2,
            reason: observed.unmeasured_links.get(&key).cloned().unwrap_or_else(|| unsaid(key.2)),
        })
        .collect();
    let counted: BTreeSet<(NodeId, NodeId)> =
        observed.bursts.iter().map(|burst| (burst.from, burst.to)).collect();
    let ways = observed.unmeasured_ways.iter().filter(|((from, to), _)| {
        is_there(*from) && is_there(*to) && !counted.contains(&(*from, *to))
    });
    findings.extend(ways.map(|((from, to), reason)| Finding::UnmeasuredWay {
        from: topology.nodes[*from].name.clone(),
        to: topology.nodes[*to].name.clone(),
        reason: reason.clone(),
    }));
    findings
}

/// Returns the reason if the survey has not said why a property was not measured.
fn unsaid(property: LinkProperty) -> String {
    match property {
        LinkProperty::Mtu => "no packet was answered",
        LinkProperty::Rate => "no rate came back",
    }
    .to_owned()
}
