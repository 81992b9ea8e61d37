//! The cables of a picture that data crosses on its way from one node to another.

use std::collections::BTreeSet;

use serde::Serialize;

use super::layout::Cable;
use crate::paths::{Path, Stream, Ways};
use crate::{MediumKind, NicId, NodeId, Resource, Topology};

/// The cables that the data of a link crosses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crossing {
    /// The sending node's number.
    pub from: u16,
    /// The receiving node's number.
    pub to: u16,
    /// The cables in the order of the path, those of hubs' ports last.
    pub cables: Vec<Crossed>,
}

/// A direction of a cable, or a hub, that data crosses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crossed {
    /// The attribute `data-cable` of its line in the picture, such as `nic3`.
    pub cable: String,
    /// Whether data leaves the node or medium that the topology names first; true for hubs, whose
    /// directions share the rate.
    pub forth: bool,
    /// The share of the data that takes this cable, above 0 and at most 1.
    pub share: f64,
    /// The rate of this direction in bits per second; `None` if it is not limited.
    pub bits_per_second: Option<u64>,
}

/// Returns what each of `links` crosses, by the numbers of its nodes; `place` finds the node of a
/// number. `rails` are the indices of the addresses that the lanes use. Links of unknown nodes are
/// left out.
pub fn crossings(
    topology: &Topology,
    links: impl Iterator<Item = (u16, u16)>,
    place: impl Fn(u16) -> Option<NodeId>,
    rails: &[u16],
) -> Vec<Crossing> {
    let ways = Ways::new(topology);
    let rails: BTreeSet<usize> = rails.iter().map(|rail| usize::from(*rail)).collect();
    let streams = |from, to| {
        let nics = || topology.nics_of(to).map(|(_, nic)| nic.address);
        let on_rail = |rail: &usize| Some(ways.to_address(from, to, nics().nth(*rail)??));
        let on_rails = rails.iter().map(on_rail).collect::<Option<Vec<_>>>();
        on_rails.filter(|_| rails.len() > 1).unwrap_or_else(|| ways.between(from, to))
    };
    let crossing = |(from, to)| {
        let both = streams(place(from)?, place(to)?);
        Some(Crossing { from, to, cables: crossed(topology, &both) })
    };
    links.filter_map(crossing).collect()
}

/// Returns what the data of `streams` crosses, of which each carries an equal part; every cable and
/// direction once.
fn crossed(topology: &Topology, streams: &[Stream]) -> Vec<Crossed> {
    let mut all: Vec<Crossed> = Vec::new();
    let choices = streams.iter().flat_map(|stream| &stream.there);
    for (choice, leg) in choices.flat_map(|choice| choice.legs.iter().map(move |leg| (choice, leg)))
    {
        let share = choice.chance * leg.share / streams.len() as f64;
        for (cable, forth, resource) in of_path(topology, &leg.path) {
            match all.iter_mut().find(|one| one.cable == cable && one.forth == forth) {
                Some(one) => one.share = (one.share + share).min(1.0),
                None => {
                    let rate = resource.capacity(topology);
                    let bits_per_second = rate.is_finite().then_some(rate as u64);
                    all.push(Crossed { cable, forth, share, bits_per_second });
                }
            }
        }
    }
    all
}

/// Returns the cables of a path with their directions, and what limits each.
fn of_path(topology: &Topology, path: &Path) -> Vec<(String, bool, Resource)> {
    let port = |id: NicId, forth, resource| match topology.media[topology.nics[id].medium].kind {
        MediumKind::Wire => {
            let wire = topology.nics[id].medium;
            let is_first = topology.stations(wire).next().is_some_and(|(first, _)| first == id);
            (Cable::Wire(wire).key(), is_first == forth, resource)
        }
        _ => (Cable::Port(id).key(), forth, resource),
    };
    let mut all: Vec<_> = path
        .resources
        .iter()
        .filter_map(|resource| match *resource {
            Resource::Hub(id) => Some((hub(id), true, *resource)),
            Resource::Out(id) => Some(port(id, true, *resource)),
            Resource::In(id) => Some(port(id, false, *resource)),
            Resource::Up(id) => Some((Cable::Uplink(id).key(), true, *resource)),
            Resource::Down(id) => Some((Cable::Uplink(id).key(), false, *resource)),
            Resource::Backplane(_) => None,
        })
        .collect();
    // The ports of a hub are no resources of their own.
    for (sender, receiver) in path.senders.iter().zip(path.nodes.iter().skip(1)) {
        let near = topology.nics[*sender].medium;
        let far = receiving(topology, *receiver, near);
        let ends = [(Some(*sender), true), (far, false)];
        for (nic, forth) in ends.into_iter().filter_map(|(nic, forth)| Some((nic?, forth))) {
            let medium = topology.nics[nic].medium;
            if topology.media[medium].kind.is_hub() {
                all.push((Cable::Port(nic).key(), forth, Resource::Hub(medium)));
            }
        }
    }
    all
}

/// Returns the NIC by which a node is in the broadcast domain of `medium`.
fn receiving(topology: &Topology, node: NodeId, medium: usize) -> Option<NicId> {
    let segments = topology.segments();
    let mut own = topology.nics_of(node);
    own.find(|(_, nic)| segments[nic.medium] == segments[medium]).map(|(id, _)| id)
}

/// Returns the attribute of a hub's bar.
pub(super) fn hub(medium: usize) -> String {
    format!("hub{medium}")
}

#[cfg(test)]
mod tests;
