//! The layout in layers: nodes in a row, and above them hubs and switches, each as wide as the
//! nodes it connects.

use super::layout::{Bar, Cable, Layout, Line, ends};
use crate::{MediumId, MediumKind, Topology};

/// The distance between the centres of neighbouring nodes, in SVG units.
const STEP: f64 = 90.0;
/// The distance between two layers.
const LAYER: f64 = 60.0;
/// The length of a bar beyond its outermost nodes.
const BEYOND: f64 = 35.0;
/// The height of a caption above its bar.
const ABOVE: f64 = 12.0;
/// The distance between parallel lines that would otherwise overlap.
const APART: f64 = 12.0;

/// Computes the layout. Bars that would overlap are in different layers; bars without NICs are at
/// the top.
pub(super) fn layout(topology: &Topology) -> Layout {
    let nodes: Vec<_> = (0..topology.nodes.len()).map(|node| (STEP * node as f64, 0.0)).collect();
    let mut layers: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut bars: Vec<Bar> = Vec::new();
    for medium in lowest_first(topology) {
        let below: Vec<MediumId> = topology.uplinks_at(medium).map(|(_, other)| other).collect();
        let joined_spans =
            bars.iter().filter(|bar| below.contains(&bar.medium)).flat_map(|b| [b.from.0, b.to.0]);
        let stations = topology.stations(medium).map(|(_, nic)| nodes[nic.node].0);
        let around = stations.flat_map(|x| [x - BEYOND, x + BEYOND]).chain(joined_spans);
        let (left, right) =
            around.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, r), x| (l.min(x), r.max(x)));
        let (left, right) = if left > right { (-BEYOND, BEYOND) } else { (left, right) };
        // Above all media that it joins.
        let least = bars
            .iter()
            .filter(|bar| below.contains(&bar.medium))
            .map(|bar| (-bar.from.1 / LAYER) as usize)
            .max()
            .unwrap_or(0);
        let free = |layer: &Vec<(f64, f64)>| layer.iter().all(|(l, r)| right < *l || left > *r);
        let layer = (least..).find(|at| layers.get(*at).is_none_or(free)).unwrap_or(least);
        layers.resize(layers.len().max(layer + 1), Vec::new());
        layers[layer].push((left, right));
        let y = -LAYER * (layer + 1) as f64;
        bars.push(Bar { medium, from: (left, y), to: (right, y), caption: (left, y - ABOVE) });
    }
    let lines = draw_lines(topology, &nodes, &bars);
    Layout { nodes, bars, lines }
}

/// Returns hubs and switches; media with NICs come before media that only join others.
fn lowest_first(topology: &Topology) -> Vec<MediumId> {
    let mut media: Vec<MediumId> = (0..topology.media.len())
        .filter(|medium| topology.media[*medium].kind != MediumKind::Wire)
        .collect();
    media.sort_by_key(|medium| topology.stations(*medium).next().is_none());
    media
}

fn draw_lines(topology: &Topology, nodes: &[(f64, f64)], bars: &[Bar]) -> Vec<Line> {
    let bar = |medium: MediumId| bars.iter().find(|bar| bar.medium == medium);
    let mut lines = Vec::new();
    for (node, &(middle, below)) in nodes.iter().enumerate() {
        let ports: Vec<_> = topology
            .nics_of(node)
            .filter_map(|(id, nic)| Some((id, bar(nic.medium)?.from.1)))
            .collect();
        for (place, &(nic, y)) in ports.iter().enumerate() {
            // Several lines of a node are side by side.
            let aside = APART * (place as f64 - (ports.len() - 1) as f64 / 2.0);
            let x = middle + aside;
            lines.push(Line { what: Cable::Port(nic), from: (x, below), to: (x, y) });
        }
    }
    for (id, uplink) in topology.uplinks.iter().enumerate() {
        if let (Some(from), Some(to)) = (bar(uplink.from), bar(uplink.to)) {
            let middle = |bar: &Bar| ((bar.from.0 + bar.to.0) / 2.0, bar.from.1);
            // Vertical, from the narrower bar.
            let (from, to) = if from.to.0 - from.from.0 <= to.to.0 - to.from.0 {
                (from, to)
            } else {
                (to, from)
            };
            let mut start = middle(from);
            let y = to.from.1;
            let before =
                topology.uplinks[..id].iter().filter(|up| [up.from, up.to].contains(&from.medium));
            // Next to the lines that are drawn already.
            start.0 += 2.0 * APART * before.count() as f64;
            let end = (start.0.clamp(to.from.0, to.to.0), y);
            lines.push(Line { what: Cable::Uplink(id), from: start, to: end });
        }
    }
    let wires =
        (0..topology.media.len()).filter(|medium| topology.media[*medium].kind == MediumKind::Wire);
    lines.extend(wires.filter_map(|wire| {
        let (one, other) = ends(topology, wire)?;
        Some(Line { what: Cable::Wire(wire), from: nodes[one], to: nodes[other] })
    }));
    lines
}
