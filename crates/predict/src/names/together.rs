//! One sender for all nodes, and chains of all that wait.

use std::collections::BTreeSet;

use super::crowd::{Comer, Crowd};
use super::log::Log;

/// Simulates the origin that sends to each node, all at equal rates.
pub(super) fn star(crowd: &Crowd) -> Log {
    let (mut log, mut random) = (Log::default(), crowd.random());
    let (mut nodes, mut next) = (crowd.first().to_vec(), 0);
    // `given` is what a node has that was there from the beginning. The ends lie at fixed values of it; non-negative
    // numbers are ordered as their bits are.
    let (mut now, mut given) = (0.0_f64, 0.0_f64);
    let mut ends: BTreeSet<(u64, usize)> = BTreeSet::new();
    let wanted = |node: &Comer| f64::from(node.leaves.unwrap_or(crowd.pieces()));
    while next < crowd.first().len() || !ends.is_empty() {
        let end = ends.first().map(|(bits, node)| {
            let left = (f64::from_bits(*bits) - given) * ends.len() as f64;
            (now + left, f64::from_bits(*bits), *node)
        });
        let comer = crowd.first().get(next).filter(|it| end.is_none_or(|(at, ..)| it.at <= at));
        if let Some(comer) = comer {
            if !ends.is_empty() {
                given += (comer.at - now) / ends.len() as f64;
            }
            now = comer.at;
            ends.insert(((given + wanted(comer)).to_bits(), next));
            log.requests.push(now);
            next += 1;
        } else if let Some((at, reached, node)) = end {
            (now, given) = (at, reached);
            ends.pop_first();
            let one = nodes[node];
            log.origin += wanted(&one);
            if one.leaves.is_none() {
                log.ends(one.at, now);
                continue;
            }
            let other = crowd.in_place_of(one, now, &mut random);
            ends.insert(((given + wanted(&other)).to_bits(), nodes.len()));
            nodes.push(other);
            log.requests.push(now);
        }
    }
    log
}

/// Simulates chains: the first begins when all nodes have come, each later one when that before has ended. A chain goes
/// through the racks one after the other, so no wire is shared.
pub(super) fn chain(crowd: &Crowd) -> Log {
    let (mut log, mut random) = (Log::default(), crowd.random());
    let mut waiting = crowd.first().to_vec();
    let mut now = waiting.iter().fold(0.0, |last: f64, node| last.max(node.at));
    while !waiting.is_empty() {
        let end = now + f64::from(crowd.pieces());
        log.origin += f64::from(crowd.pieces());
        log.requests.extend([now, end]);
        let mut later = Vec::new();
        for node in waiting {
            match node.leaves {
                Some(piece) => {
                    later.push(crowd.in_place_of(node, now + f64::from(piece), &mut random));
                }
                None => log.times.push(end - node.at),
            }
        }
        (waiting, now) = (later, end);
    }
    log
}
