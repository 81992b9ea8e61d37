//! Resources that explain the rates that were measured between pairs of nodes.
//!
//! A pair was measured alone, so its rate does not say which wires it shares with other pairs. Each
//! node is assumed to send and to receive at the highest rate that any pair of it reached. Nodes
//! that reach each other at about that rate are a group. Pairs of different groups share a trunk
//! in each direction, because that is the usual cause, and because a plan that crosses a trunk once
//! is as fast if each pair has a wire of its own.

use garland_core::plan::Rates;
use garland_topology::NodeId;

use super::network::{Network, Use};

/// A pair below this share of what its nodes reach with others is slow. Rates that are equal were
/// measured with differences of some percent.
const SLOW: f64 = 0.7;

/// The rates between nodes on each of their rails.
#[derive(Clone, Debug)]
pub struct Measured {
    rails: Vec<Rail>,
    names: Vec<String>,
}

/// The rates on one rail, in bytes per second; infinite if unknown.
#[derive(Clone, Debug)]
struct Rail {
    pairs: Rates,
    sends: Vec<f64>,
    receives: Vec<f64>,
    groups: Vec<usize>,
    /// The rates out of each group and into it.
    trunks: Vec<(f64, f64)>,
}

impl Measured {
    /// Creates the model of the nodes `names` from the rates of each rail, which have the order of
    /// `names`. A node without any rate, such as a head that was not measured, is as fast as every
    /// other one.
    #[must_use]
    pub fn new(names: Vec<String>, rails: Vec<Rates>) -> Self {
        let rails = rails.into_iter().map(|rates| Rail::new(rates, names.len())).collect();
        Self { rails, names }
    }

    /// Returns the name of a node.
    pub(super) fn name(&self, node: NodeId) -> &String {
        &self.names[node]
    }

    /// Returns the number of the group of a node on the first rail, by its first node.
    pub(super) fn group(&self, node: NodeId) -> usize {
        self.rails.first().map_or(0, |rail| rail.groups[node])
    }

    /// Returns the use of the resources per byte for each of `hops`.
    pub(super) fn uses(
        &self,
        network: &mut Network,
        hops: &[(NodeId, NodeId)],
        rail: usize,
    ) -> Vec<Vec<Use>> {
        let number = rail % self.rails.len().max(1);
        let Some(rail) = self.rails.get(number) else { return vec![Vec::new(); hops.len()] };
        let of_hop = |&(from, to): &(NodeId, NodeId)| {
            let on =
                if self.rails.len() > 1 { format!(" on rail {number}") } else { String::new() };
            let near = &self.names[from];
            let far = &self.names[to];
            let group = rail.groups[from];
            let other = rail.groups[to];
            let first = |group: usize| &self.names[group];
            let mut limits = vec![
                (format!("{near} out{on}"), rail.sends[from]),
                (format!("{far} in{on}"), rail.receives[to]),
            ];
            if group != other && from != to {
                let out = rail.trunks[group].0;
                let into = rail.trunks[other].1;
                limits.push((format!("trunk from the group of {}{on}", first(group)), out));
                limits.push((format!("trunk to the group of {}{on}", first(other)), into));
            }
            let least = limits.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
            if let Some(own) = rail.pairs[from][to].filter(|own| *own < SLOW * least) {
                limits.push((format!("{near} to {far}{on}"), own));
            }
            let finite = limits.into_iter().filter(|(_, rate)| rate.is_finite() && from != to);
            finite.map(|(name, rate)| (network.shared(&name, rate), 1.0)).collect()
        };
        hops.iter().map(of_hop).collect()
    }
}

impl Rail {
    fn new(mut pairs: Rates, count: usize) -> Self {
        // A rate of 0 is a pair that failed: it is slow, but a plan may have no other.
        pairs.iter_mut().flatten().flatten().for_each(|rate| *rate = rate.max(1.0));
        let known = |from: usize, to: usize| pairs[from][to].filter(|_| from != to);
        let best =
            |rates: &mut dyn Iterator<Item = f64>| rates.reduce(f64::max).unwrap_or(f64::INFINITY);
        let all = 0..count;
        let sends: Vec<f64> = all
            .clone()
            .map(|from| best(&mut all.clone().filter_map(|to| known(from, to))))
            .collect();
        let receives: Vec<f64> = all
            .clone()
            .map(|to| best(&mut all.clone().filter_map(|from| known(from, to))))
            .collect();
        let is_near = |from: usize, to: usize| {
            known(from, to).is_none_or(|rate| rate >= SLOW * sends[from].min(receives[to]))
        };
        let is_known = |node: usize| sends[node].is_finite() || receives[node].is_finite();
        let mut groups: Vec<usize> = all.clone().collect();
        for (from, to) in all.clone().flat_map(|from| all.clone().map(move |to| (from, to))) {
            let one = groups[from];
            let other = groups[to];
            let near = known(from, to).is_some() && is_near(from, to) && is_near(to, from);
            if one != other && near {
                let low = one.min(other);
                let high = one.max(other);
                groups.iter_mut().filter(|group| **group == high).for_each(|group| *group = low);
            }
        }
        // What was not measured is in the group of the first node that was.
        let first = all.clone().find(|&node| is_known(node)).unwrap_or(0);
        for node in all.clone().filter(|&node| !is_known(node)) {
            groups[node] = groups[first];
        }
        let mut trunks = vec![(0.0_f64, 0.0_f64); count];
        for (from, to) in all.clone().flat_map(|from| all.clone().map(move |to| (from, to))) {
            if let Some(rate) = known(from, to).filter(|_| groups[from] != groups[to]) {
                let out = groups[from];
                let into = groups[to];
                trunks[out].0 = trunks[out].0.max(rate);
                trunks[into].1 = trunks[into].1.max(rate);
            }
        }
        let unknown = |rate: &mut f64| {
            if *rate == 0.0 {
                *rate = f64::INFINITY
            }
        };
        trunks.iter_mut().flat_map(|(out, into)| [out, into]).for_each(unknown);
        Self { pairs, sends, receives, groups, trunks }
    }
}
