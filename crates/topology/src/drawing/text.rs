//! Draws a topology as text, for terminals.

use std::collections::BTreeSet;
use std::fmt::Write;

use garland_core::cluster::nodelist;

use super::layout::ends;
use super::{caption, grid};
use crate::{MediumId, MediumKind, NodeId, Topology};

/// The maximum length of a line in characters; longer lists of names are folded.
const WIDTH: usize = 100;

/// Draws the topology with lines: a grid, or hubs and switches with their stations, and wires below
/// the node with the most wires.
pub fn text(topology: &Topology) -> String {
    let mut drawing = String::new();
    // Writing to a string cannot fail.
    let _ = match grid::places(topology).filter(|places| fits(topology, places.columns.len())) {
        Some(cells) => draw_grid(&mut drawing, topology, &cells),
        None => draw_bars(&mut drawing, topology, &mut (0..topology.media.len())),
    }
    .and_then(|()| draw_wires(&mut drawing, topology));
    drawing
}

/// Returns the width of a column in characters: the longest name, and a line on both sides.
fn cell(names: impl Iterator<Item = usize>) -> usize {
    names.max().unwrap_or(0) + 2
}

fn node_cell(topology: &Topology) -> usize {
    cell(topology.nodes.iter().map(|node| node.name.chars().count()))
}

fn medium_cell(topology: &Topology) -> usize {
    cell(topology.media.iter().map(|medium| medium.name.chars().count()))
}

fn fits(topology: &Topology, columns: usize) -> bool {
    let wide = node_cell(topology).max(medium_cell(topology));
    (columns + 1) * wide <= WIDTH
}

/// Draws rows as lines through their nodes, and columns between the rows.
fn draw_grid(out: &mut String, topology: &Topology, places: &grid::Places) -> std::fmt::Result {
    let wide = node_cell(topology).max(medium_cell(topology));
    let name = |medium: MediumId| topology.media[medium].name.as_str();
    let columns = &places.columns;
    write!(out, "{:wide$}", "")?;
    columns.iter().try_for_each(|column| write!(out, "{:wide$}", name(*column)))?;
    trim(out);
    for (row, &medium) in places.rows.iter().enumerate() {
        write!(out, "{:wide$}", "")?;
        columns.iter().enumerate().try_for_each(|(column, _)| {
            let reached = places.node(row, column).is_some();
            write!(out, "{:wide$}", if reached { "│" } else { "" })
        })?;
        trim(out);
        write!(out, "{}", padded(&format!("{} ", name(medium)), wide, '─'))?;
        let last = (0..columns.len()).rev().find(|column| places.node(row, *column).is_some());
        for column in 0..=last.unwrap_or(0) {
            let node = places.node(row, column);
            let text = node.map_or("", |node| topology.nodes[node].name.as_str());
            let end = Some(column) == last;
            write!(
                out,
                "{}",
                if end { text.to_owned() } else { padded(&format!("{text} "), wide, '─') }
            )?;
        }
        trim(out);
    }
    let one = topology.media.get(places.rows[0]).map(caption).unwrap_or_default();
    writeln!(out, "each row and column: {one}")?;
    let mut others = (0..topology.media.len())
        .filter(|medium| !places.rows.contains(medium) && !places.columns.contains(medium));
    draw_bars(out, topology, &mut others)
}

/// Pads `text` with `with` to a width of `wide` characters.
fn padded(text: &str, wide: usize, with: char) -> String {
    let mut text = text.to_owned();
    let missing = wide.saturating_sub(text.chars().count());
    text.extend(std::iter::repeat_n(with, missing));
    text
}

/// Removes blanks at the end of the line, and appends a newline.
fn trim(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
}

/// Draws each hub and switch as a bar, with its nodes and the media joined to it below.
fn draw_bars(
    out: &mut String,
    topology: &Topology,
    media: &mut dyn Iterator<Item = MediumId>,
) -> std::fmt::Result {
    let label = medium_cell(topology);
    for id in media {
        let medium = &topology.media[id];
        if medium.kind == MediumKind::Wire {
            continue;
        }
        let names = hanging(topology, id);
        let wide = cell(names.iter().map(|name| name.chars().count()));
        let line = if medium.kind.is_hub() { '─' } else { '═' };
        let tap = if line == '─' { '┬' } else { '╤' };
        let name = &medium.name;
        let what = caption(medium);
        if label + wide * names.len() > WIDTH {
            let folded = nodelist::fold(&names);
            writeln!(out, "{name:label$}{line}{line} {folded}  {what}")?;
            continue;
        }
        write!(out, "{name:label$}{line}{line}")?;
        for _ in &names {
            write!(out, "{}", padded(&tap.to_string(), wide, line))?;
        }
        writeln!(out, "  {what}")?;
        write!(out, "{:label$}  ", "")?;
        names.iter().try_for_each(|name| write!(out, "{name:wide$}"))?;
        trim(out);
    }
    Ok(())
}

/// Returns the names of a medium's nodes, then in brackets the media to which its uplinks lead. For
/// a medium with neither, returns the media whose uplinks lead to it.
fn hanging(topology: &Topology, medium: MediumId) -> Vec<String> {
    let nodes: BTreeSet<NodeId> = topology.stations(medium).map(|(_, nic)| nic.node).collect();
    let mut names: Vec<String> =
        nodes.into_iter().map(|node| topology.nodes[node].name.clone()).collect();
    let bracketed = |medium: MediumId| format!("[{}]", topology.media[medium].name);
    let up = topology.uplinks.iter().filter(|uplink| uplink.from == medium);
    names.extend(up.map(|uplink| bracketed(uplink.to)));
    if names.is_empty() {
        let down = topology.uplinks.iter().filter(|uplink| uplink.to == medium);
        names.extend(down.map(|uplink| bracketed(uplink.from)));
    }
    names
}

/// Draws each wire once, below the one of its two nodes that has more NICs.
fn draw_wires(out: &mut String, topology: &Topology) -> std::fmt::Result {
    let mut below: Vec<Vec<(MediumId, NodeId)>> = vec![Vec::new(); topology.nodes.len()];
    let mut count = vec![0_usize; topology.nodes.len()];
    topology.nics.iter().for_each(|nic| count[nic.node] += 1);
    for wire in 0..topology.media.len() {
        if topology.media[wire].kind != MediumKind::Wire {
            continue;
        }
        if let Some((one, other)) = ends(topology, wire) {
            let turned = count[other] > count[one];
            let (centre, leaf) = if turned { (other, one) } else { (one, other) };
            below[centre].push((wire, leaf));
        }
    }
    let nic = |wire: MediumId, node: NodeId| {
        let nic = topology.stations(wire).find(|(_, nic)| nic.node == node);
        nic.map_or_else(String::new, |(_, nic)| nic.name.clone())
    };
    for (centre, wires) in below.iter().enumerate() {
        let name = &topology.nodes[centre].name;
        let indent = name.chars().count();
        for (place, &(wire, leaf)) in wires.iter().enumerate() {
            let first = place == 0;
            let last = place + 1 == wires.len();
            let start = if first { format!("{name} ─") } else { " ".repeat(indent + 2) };
            let branch = match (first, last) {
                (true, true) => '─',
                (true, false) => '┬',
                (false, true) => '└',
                (false, false) => '├',
            };
            let near = nic(wire, centre);
            let far = nic(wire, leaf);
            let medium = &topology.media[wire];
            writeln!(
                out,
                "{start}{branch}─ {near:5} ──── {far:5} {:8} {}",
                topology.nodes[leaf].name,
                caption(medium)
            )?;
        }
    }
    Ok(())
}
