//! The layout of topologies that consist of wires: leaves around their centres, or all nodes in a
//! circle.

use std::f64::consts::TAU;

use super::layout::{Cable, Layout, Line, Point, ends};
use crate::{NodeId, Topology};

/// The minimum distance of two nodes on a circle.
const APART: f64 = 90.0;

/// Computes the layout: one or two centres with their leaves around them if there are no other
/// nodes, otherwise a circle.
pub(super) fn layout(topology: &Topology) -> Layout {
    let wires: Vec<_> = (0..topology.media.len())
        .filter_map(|wire| ends(topology, wire).map(|ends| (wire, ends)))
        .collect();
    let mut neighbours = vec![Vec::new(); topology.nodes.len()];
    for &(_, (one, other)) in &wires {
        neighbours[one].push(other);
        neighbours[other].push(one);
    }
    let nodes = stars(&neighbours).unwrap_or_else(|| circle(topology.nodes.len()));
    let lines = wires.into_iter().map(|(wire, (one, other))| {
        let from = nodes[one];
        let to = nodes[other];
        Line { what: Cable::Wire(wire), from, to }
    });
    Layout { lines: lines.collect(), nodes, ..Layout::default() }
}

/// Places nodes with one wire around nodes with more wires. Returns `None` if a centre has no
/// leaves, or if there are more than two centres, since their wires would cross.
fn stars(neighbours: &[Vec<NodeId>]) -> Option<Vec<Point>> {
    let centres: Vec<NodeId> =
        (0..neighbours.len()).filter(|node| neighbours[*node].len() > 1).collect();
    let leaves = |centre: NodeId| -> Vec<NodeId> {
        let all = neighbours[centre].iter().copied();
        all.filter(|node| neighbours[*node].len() == 1).collect()
    };
    if centres.is_empty() || centres.len() > 2 || centres.iter().any(|c| leaves(*c).is_empty()) {
        return None;
    }
    let mut nodes = vec![(0.0, 0.0); neighbours.len()];
    let mut left = 0.0;
    for (number, &centre) in centres.iter().enumerate() {
        let own = leaves(centre);
        // One place is left free for the wire to the other centre.
        let places = own.len() + centres.len() - 1;
        let reach = radius(places);
        nodes[centre] = (left + reach, 0.0);
        let middle = left + reach;
        left += 2.0 * reach + APART;
        // Clockwise: from the top if there is one centre, from the other centre if there are two.
        let start = match centres.len() {
            1 => -0.25,
            _ => 0.5 * number as f64 + 1.0 / places as f64,
        };
        for (place, leaf) in own.into_iter().enumerate() {
            let angle = TAU * (start + place as f64 / places as f64);
            nodes[leaf] = (middle + reach * angle.cos(), reach * angle.sin());
        }
    }
    Some(nodes)
}

fn circle(nodes: usize) -> Vec<Point> {
    let reach = radius(nodes);
    let at = |node: usize| TAU * (node as f64 / nodes.max(1) as f64 - 0.25);
    (0..nodes).map(|node| (reach * at(node).cos(), reach * at(node).sin())).collect()
}

/// Returns the radius of a circle on which `nodes` nodes are far enough apart.
fn radius(nodes: usize) -> f64 {
    (APART * nodes as f64 / TAU).max(1.3 * APART)
}
