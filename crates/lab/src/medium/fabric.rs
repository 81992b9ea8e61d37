//! Switches that are joined in loops, such as leaves with several spines.
//!
//! A real switch spreads flows over paths of equal length. A bridge has one port per station, so
//! one of the shortest paths is assigned to each station in turn: paths are spread by receiver.
//! Frames without a known receiver, such as ARP requests, follow a tree.

use garland_topology::{MediumId, NicId, Topology};

use super::port::sends_from;
use crate::device;
use crate::step::Step;
use crate::tool::Tool;
use crate::writer::MEDIA;

/// Returns the steps that set fixed paths to all stations of media that are joined in a loop.
pub(super) fn ways(topology: &Topology) -> Vec<Step> {
    let segments = topology.segments();
    let looped = loops(topology, &segments);
    let in_loop = |medium: MediumId| looped.contains(&segments[medium]);
    let mut steps = Vec::new();
    let mut reached = vec![false; topology.media.len()];
    for medium in 0..topology.media.len() {
        if in_loop(medium) && !reached[medium] {
            steps.extend(tree(topology, medium, &mut reached));
        }
    }
    for (nic, there) in topology.nics.iter().enumerate() {
        if in_loop(there.medium) {
            steps.extend(to_station(topology, nic));
        }
    }
    steps
}

/// Returns the segments whose media form a loop: those with more uplinks than a tree has.
fn loops(topology: &Topology, segments: &[MediumId]) -> Vec<MediumId> {
    let count = |segment: MediumId, of: &mut dyn Iterator<Item = MediumId>| {
        of.filter(|medium| segments[*medium] == segment).count()
    };
    let mut looped: Vec<MediumId> = segments
        .iter()
        .copied()
        .filter(|&segment| {
            let media = count(segment, &mut (0..topology.media.len()));
            let uplinks = count(segment, &mut topology.uplinks.iter().map(|uplink| uplink.from));
            uplinks >= media
        })
        .collect();
    looped.dedup();
    looped
}

/// Disables learning on all uplinks, and flooding on uplinks that are not part of the tree with the
/// root `root`. Marks the media of the tree in `reached`.
fn tree(topology: &Topology, root: MediumId, reached: &mut [bool]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut open = std::collections::VecDeque::from([root]);
    let mut seen = vec![false; topology.uplinks.len()];
    reached[root] = true;
    while let Some(here) = open.pop_front() {
        for (place, next) in topology.uplinks_at(here) {
            if std::mem::replace(&mut seen[place], true) {
                continue;
            }
            let spare = std::mem::replace(&mut reached[next], true);
            if !spare {
                open.push_back(next);
            }
            let silent = if spare { " flood off mcast_flood off bcast_flood off" } else { "" };
            steps.extend(device::uplink(place).map(|port| {
                MEDIA.ip(format!("link set dev {port} type bridge_slave learning off{silent}"))
            }));
        }
    }
    steps
}

/// Returns the steps that set the port to a station on every other medium of the segment.
fn to_station(topology: &Topology, nic: NicId) -> Vec<Step> {
    let there = topology.nics[nic].medium;
    let ethernet = sends_from(topology, nic);
    let mut distance = vec![None; topology.media.len()];
    distance[there] = Some(0_usize);
    let mut open = std::collections::VecDeque::from([there]);
    let mut steps = Vec::new();
    while let Some(here) = open.pop_front() {
        let own = distance[here];
        for (_, next) in topology.uplinks_at(here) {
            if distance[next].is_none() {
                distance[next] = own.map(|own| own + 1);
                open.push_back(next);
            }
        }
        let nearer: Vec<String> = topology
            .uplinks_at(here)
            .filter(|(_, next)| distance[*next].map(|next| next + 1) == own)
            .map(|(place, _)| {
                let [from, to] = device::uplink(place);
                if topology.uplinks[place].from == here { from } else { to }
            })
            .collect();
        if !nearer.is_empty() {
            let port = &nearer[nic % nearer.len()];
            steps.push(
                MEDIA.batch(Tool::Bridge, format!("fdb add {ethernet} dev {port} master static")),
            );
        }
    }
    steps
}
