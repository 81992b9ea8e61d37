//! The layout of grids: nodes at the crossings of rows and columns.

use std::collections::HashSet;

use super::layout::{Bar, Cable, Layout, Line};
use crate::{MediumId, MediumKind, NodeId, Topology};

/// The distance between the centres of neighbouring nodes, in SVG units.
const STEP: f64 = 120.0;
/// The distance from a node's centre to the bars of its row and column.
const ASIDE: f64 = 38.0;
/// The coordinate at which the bars of rows and columns begin.
const BEFORE: f64 = -1.6 * ASIDE;
/// The distance from the end of a bar to its caption.
const BESIDE: f64 = 8.0;

/// The rows and columns of a grid, and the positions of its nodes.
pub(super) struct Places {
    /// The media of the rows, from top to bottom.
    pub(super) rows: Vec<MediumId>,
    /// The media of the columns, from left to right.
    pub(super) columns: Vec<MediumId>,
    /// For each node, the indices of its row and column.
    pub(super) nodes: Vec<(usize, usize)>,
}

impl Places {
    /// Returns the node at the crossing of a row and a column.
    pub(super) fn node(&self, row: usize, column: usize) -> Option<NodeId> {
        self.nodes.iter().position(|place| *place == (row, column))
    }
}

/// Returns the rows and columns if the topology is a grid: there are several rows and columns, each
/// node has one NIC on a row and one on a column, and no two nodes share both.
pub(super) fn places(topology: &Topology) -> Option<Places> {
    let mut rows = Vec::new();
    let mut columns = Vec::new();
    let mut nodes = Vec::with_capacity(topology.nodes.len());
    for node in 0..topology.nodes.len() {
        let mut media = topology.nics_of(node).map(|(_, nic)| nic.medium);
        let row = media.next()?;
        let column = media.next()?;
        if media.next().is_some() {
            return None;
        }
        nodes.push((place(&mut rows, row), place(&mut columns, column)));
    }
    let apart = rows.iter().all(|row| !columns.contains(row));
    let bars = rows.iter().chain(&columns);
    let shared = bars.into_iter().all(|bar| topology.media[*bar].kind != MediumKind::Wire);
    let own = nodes.iter().collect::<HashSet<_>>().len() == nodes.len();
    let wide = rows.len() > 1 && columns.len() > 1;
    (apart && shared && own && wide).then_some(Places { rows, columns, nodes })
}

/// Returns the index of `medium` in `seen`; appends it if missing.
fn place(seen: &mut Vec<MediumId>, medium: MediumId) -> usize {
    seen.iter().position(|other| *other == medium).unwrap_or_else(|| {
        seen.push(medium);
        seen.len() - 1
    })
}

/// Computes the layout. Rows are below their nodes and columns to the left of them; media that only
/// join rows or columns are outside.
pub(super) fn layout(topology: &Topology, places: &Places) -> Layout {
    let x = |column: usize| STEP * column as f64;
    let y = |row: usize| STEP * row as f64;
    let nodes: Vec<_> = places.nodes.iter().map(|&(row, column)| (x(column), y(row))).collect();
    let right = x(places.columns.len() - 1) + ASIDE;
    let bottom = y(places.rows.len() - 1) + ASIDE;
    let mut layout = Layout { nodes, ..Layout::default() };
    for (row, &medium) in places.rows.iter().enumerate() {
        let at = y(row) + ASIDE;
        let from = (BEFORE, at);
        let to = (right, at);
        layout.bars.push(Bar { medium, from, to, caption: (right + BESIDE, at) });
    }
    for (column, &medium) in places.columns.iter().enumerate() {
        let at = x(column) - ASIDE;
        let from = (at, BEFORE);
        let to = (at, bottom);
        layout.bars.push(Bar { medium, from, to, caption: (at + BESIDE, BEFORE) });
    }
    for (node, &(x, y)) in layout.nodes.iter().enumerate() {
        let ports = topology.nics_of(node).map(|(nic, _)| Cable::Port(nic));
        let ends = [(x, y + ASIDE), (x - ASIDE, y)];
        layout.lines.extend(ports.zip(ends).map(|(what, to)| Line { what, from: (x, y), to }));
    }
    join(topology, places, &mut layout, (right, bottom));
    layout
}

/// Places switches that join rows on the left, and switches that join columns at the top. `corner`
/// is the bottom right corner of the grid.
fn join(topology: &Topology, places: &Places, layout: &mut Layout, corner: (f64, f64)) {
    let mut left = -STEP;
    let mut top = -STEP;
    for medium in 0..topology.media.len() {
        if places.rows.contains(&medium) || places.columns.contains(&medium) {
            continue;
        }
        let ports: Vec<_> =
            topology.uplinks.iter().enumerate().filter(|(_, up)| up.from == medium).collect();
        let of_rows = ports.iter().all(|(_, uplink)| places.rows.contains(&uplink.to));
        let (from, to) = if of_rows {
            left -= ASIDE;
            ((left, BEFORE), (left, corner.1))
        } else {
            top -= ASIDE;
            ((BEFORE, top), (corner.0, top))
        };
        for (id, uplink) in ports {
            let bar = layout.bars.iter().find(|bar| bar.medium == uplink.to);
            let Some(end) = bar.map(|bar| bar.from) else { continue };
            let start = if of_rows { (left, end.1) } else { (end.0, top) };
            layout.lines.push(Line { what: Cable::Uplink(id), from: start, to: end });
        }
        let end = if of_rows { from } else { to };
        layout.bars.push(Bar { medium, from, to, caption: (end.0 + BESIDE, end.1) });
    }
}
