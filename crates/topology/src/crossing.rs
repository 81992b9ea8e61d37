//! The resources that a frame crosses between two NICs, through one medium or several joined ones.

use std::collections::VecDeque;

use super::{MediumId, MediumKind, NicId, Resource, Topology};

/// Returns the shortest paths of a frame from one NIC to another, in the order of the uplinks;
/// empty if no uplinks join their media.
///
/// There are several paths if there are several spines; a switch chooses among them by flow.
pub(super) fn crossings(topology: &Topology, from: NicId, to: NicId) -> Vec<Vec<Resource>> {
    let first = topology.nics[from].medium;
    let last = topology.nics[to].medium;
    let away = distances(topology, last);
    if away[first].is_none() {
        return Vec::new();
    }
    let mut ways = vec![(first, enter(topology, from))];
    while ways.iter().any(|(at, _)| *at != last) {
        ways = ways.into_iter().flat_map(|(at, way)| nearer(topology, &away, at, way)).collect();
    }
    for (_, way) in &mut ways {
        if let MediumKind::Switch { .. } = topology.media[last].kind {
            way.push(Resource::In(to));
        }
    }
    ways.into_iter().map(|(_, way)| way).collect()
}

/// For each medium, returns the number of uplinks between it and `from`; `None` if no uplinks join
/// them.
fn distances(topology: &Topology, from: MediumId) -> Vec<Option<u32>> {
    let mut distances = vec![None; topology.media.len()];
    distances[from] = Some(0);
    let mut queue = VecDeque::from([(from, 0)]);
    while let Some((at, distance)) = queue.pop_front() {
        for (_, next) in topology.uplinks_at(at) {
            if distances[next].is_none() {
                distances[next] = Some(distance + 1);
                queue.push_back((next, distance + 1));
            }
        }
    }
    distances
}

/// Returns the first resources of a path: those of the medium of the sending NIC.
fn enter(topology: &Topology, nic: NicId) -> Vec<Resource> {
    let medium = topology.nics[nic].medium;
    match topology.media[medium].kind {
        MediumKind::Hub { .. } => vec![Resource::Hub(medium)],
        MediumKind::Wire => vec![Resource::Out(nic)],
        MediumKind::Switch { .. } => {
            [Some(Resource::Out(nic)), through(topology, medium)].into_iter().flatten().collect()
        }
    }
}

/// Returns the resource that a medium uses in addition to its ports; `None` if there is none.
fn through(topology: &Topology, medium: MediumId) -> Option<Resource> {
    match topology.media[medium].kind {
        MediumKind::Hub { .. } => Some(Resource::Hub(medium)),
        MediumKind::Switch { backplane } => backplane.map(|_| Resource::Backplane(medium)),
        MediumKind::Wire => None,
    }
}

/// Extends a path that has reached the medium `at` by each uplink to a medium nearer to the last
/// one. Returns the path unchanged if `at` is the last medium.
fn nearer(
    topology: &Topology,
    distances: &[Option<u32>],
    at: MediumId,
    way: Vec<Resource>,
) -> Vec<(MediumId, Vec<Resource>)> {
    let Some(left) = distances[at].and_then(|distance| distance.checked_sub(1)) else {
        return vec![(at, way)];
    };
    let next = topology.uplinks_at(at).filter(|(_, next)| distances[*next] == Some(left));
    next.map(|(id, next)| {
        let up = topology.uplinks[id].from == at;
        let uplink = if up { Resource::Up(id) } else { Resource::Down(id) };
        let more = [Some(uplink), through(topology, next)].into_iter().flatten();
        (next, way.iter().copied().chain(more).collect())
    })
    .collect()
}
