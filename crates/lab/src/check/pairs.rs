//! Selects pairs of nodes, as many as time allows, in rounds of flows that do not share a wire.

use std::collections::HashSet;
use std::time::Duration;

use garland_topology::bounds::max_min;
use garland_topology::paths::{Stream, Ways};
use garland_topology::{NodeId, Resource, Topology};

use super::report::TOLERANCE_OF_PAIRS;
use super::round::{Flow, Round, weight};
use super::singles::flow_over;
use crate::shaping::Shaping;

/// The maximum number of rounds, of a third of a second each.
const ROUNDS: usize = 20;
const WARM_UP: Duration = Duration::from_millis(100);
const WINDOW: Duration = Duration::from_millis(250);

/// The maximum number of pairs that are considered.
const PAIRS: usize = 4096;

/// Returns the rounds of flows to measure. Flows of a round have no resource in common: how TCP
/// flows share a wire depends on more than its rate.
pub(super) fn plan(topology: &Topology, ways: &Ways<'_>, shaping: &Shaping) -> Vec<Round> {
    let mut drafts: Vec<Draft> = Vec::new();
    for (from, to) in pairs(topology.nodes.len()).take(PAIRS) {
        let streams = ways.between(from, to);
        let lost = |stream: &Stream| stream.there.iter().any(|choice| choice.legs.is_empty());
        if streams.iter().any(lost) {
            continue;
        }
        let theory = max_min(topology, &[(from, to)])[0];
        let address = topology.nodes[to].address;
        let flow = flow_over(topology, &streams, from, to, address, theory);
        let load = weight(&flow, shaping);
        let resources = crossed(&streams);
        let fits = |draft: &Draft| draft.has_room(&resources, load);
        let room = drafts.iter().position(fits);
        if room.is_none() && drafts.len() < ROUNDS {
            drafts.push(Draft::default());
        }
        let last = drafts.len() - 1;
        let fresh = drafts[last].flows.is_empty().then_some(last);
        if let Some(at) = room.or(fresh) {
            drafts[at].add(flow, &resources, load);
        }
    }
    drafts.into_iter().map(|draft| draft.done(topology)).collect()
}

/// Returns a round with a single flow, from `from` to `to`.
pub(super) fn one(topology: &Topology, from: NodeId, to: NodeId) -> Round {
    let streams = Ways::new(topology).between(from, to);
    let address = topology.nodes[to].address;
    let mut draft = Draft::default();
    draft.add(flow_over(topology, &streams, from, to, address, f64::INFINITY), &[], 0.0);
    draft.done(topology)
}

/// Returns all ordered pairs of different nodes, grouped by the distance from sender to receiver in
/// the list of nodes. In each group, every node is the sender once and the receiver once. Groups
/// with short and long distances alternate.
fn pairs(nodes: usize) -> impl Iterator<Item = (NodeId, NodeId)> {
    let half = nodes.div_ceil(2);
    let near_and_far = (1..=half).flat_map(move |near| [near, near + half]);
    let strides = near_and_far.filter(move |stride| *stride < nodes);
    let mut seen = vec![false; nodes];
    let strides = strides.filter(move |stride| !std::mem::replace(&mut seen[*stride], true));
    strides.flat_map(move |stride| (0..nodes).map(move |from| (from, (from + stride) % nodes)))
}

/// Returns the resources that the data of `streams` uses, and the hubs that the acknowledgements
/// use. On other media acknowledgements do not share a direction with the data.
fn crossed(streams: &[Stream]) -> Vec<Resource> {
    let resources = |choices: &[garland_topology::paths::Choice]| {
        let legs = choices.iter().flat_map(|choice| &choice.legs);
        legs.flat_map(|leg| leg.path.resources.clone()).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    for stream in streams {
        all.extend(resources(&stream.there));
        let back = resources(&stream.back);
        all.extend(back.into_iter().filter(|resource| matches!(resource, Resource::Hub(_))));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// A round to which flows are still added.
#[derive(Default)]
struct Draft {
    flows: Vec<Flow>,
    used: HashSet<Resource>,
    weight: f64,
}

impl Draft {
    fn has_room(&self, crossed: &[Resource], weight: f64) -> bool {
        let free = |resource: &Resource| !self.used.contains(resource);
        self.weight + weight <= 1.0 && crossed.iter().all(free)
    }

    fn add(&mut self, flow: Flow, crossed: &[Resource], weight: f64) {
        self.flows.push(flow);
        self.weight += weight;
        self.used.extend(crossed);
    }

    fn done(self, topology: &Topology) -> Round {
        let ends: Vec<_> = self.flows.iter().map(|flow| (flow.from, flow.to)).collect();
        let theory = max_min(topology, &ends);
        let flows = self.flows.into_iter().zip(theory);
        Round {
            flows: flows.map(|(flow, theory)| Flow { theory, ..flow }).collect(),
            tolerance: TOLERANCE_OF_PAIRS,
            warm_up: WARM_UP,
            window: WINDOW,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_comes_once() {
        for nodes in 2..20 {
            let all: Vec<_> = pairs(nodes).collect();
            assert_eq!(all.len(), nodes * (nodes - 1), "{nodes} nodes");
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
            assert!(all.iter().all(|(from, to)| from != to));
        }
    }
}
