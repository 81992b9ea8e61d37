//! The use of wires by connections, for callers that compute rates themselves.

use super::super::{Resource, Topology};
use super::{Placing, acknowledgements, data, spread};
use crate::paths::Stream;

/// Returns, for each connection, the resources that it uses, each with the bits on the wire per bit
/// of payload (acknowledgements included); `None` for a connection whose packets do not arrive.
///
/// The streams of a connection carry equal shares. Paths are selected by `placing`.
pub fn uses(
    topology: &Topology,
    connections: &[Vec<Stream>],
    placing: Placing,
) -> Vec<Option<Vec<(Resource, f64)>>> {
    let all: Vec<&Stream> = connections.iter().flatten().collect();
    let picks = spread(topology, &all, placing);
    let mut streams = all.iter().zip(&picks);
    let of_connection = |connection: &Vec<Stream>| {
        let share = 1.0 / connection.len().max(1) as f64;
        let mut uses: Vec<(Resource, f64)> = Vec::new();
        let mut arrives = !connection.is_empty();
        for (stream, pick) in streams.by_ref().take(connection.len()) {
            let there = &stream.there[pick.0];
            let back = &stream.back[pick.1];
            arrives &= !there.legs.is_empty() && !back.legs.is_empty();
            let costs = data(there).into_iter().chain(acknowledgements(back));
            for (resource, weight) in costs.map(|(resource, weight)| (resource, weight * share)) {
                match uses.iter_mut().find(|(known, _)| *known == resource) {
                    Some((_, sum)) => *sum += weight,
                    None => uses.push((resource, weight)),
                }
            }
        }
        arrives.then_some(uses)
    };
    connections.iter().map(of_connection).collect()
}

#[cfg(test)]
mod tests {
    use super::super::max_min;
    use super::*;
    use crate::paths::Ways;
    use crate::shapes::{Basis, Between, hub, star};

    #[test]
    fn what_one_connection_takes_is_what_bounds_it() {
        let basis = Basis::numbered("try", 3).at("100mbit".parse().unwrap());
        for topology in [hub(&basis), star(&basis, Between::Isolated)] {
            let connection = Ways::new(&topology).between(0, 2);
            let used = uses(&topology, &[connection], Placing::Even).remove(0).unwrap();
            let rates = used.iter().map(|(resource, weight)| resource.capacity(&topology) / weight);
            let least = rates.fold(f64::INFINITY, f64::min);
            assert!((least / max_min(&topology, &[(0, 2)])[0] - 1.0).abs() < 1e-9);
        }
        let alone = star(&basis, Between::Isolated);
        let lost = uses(&alone, &[Ways::new(&alone).between(1, 2)], Placing::Even);
        assert_eq!(lost, [None]);
    }
}
