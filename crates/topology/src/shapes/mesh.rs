//! The mesh of HPDC 1996: a grid of nodes with a bus for each row and each column.
//!
//! The address of a node is on its loopback device, since the node can be reached over its row and
//! its column; every other node has a route to it. Rows and columns have networks of their own for
//! the next hops.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::super::{
    MediumId, MediumKind, NextHop, NicId, NodeId, Selector, Subnet, Topology, Uplink,
};
use super::draft::Draft;
use super::{Basis, Segment};

/// How nodes that share neither row nor column reach each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Joined {
    /// Packets pass a node that is in the row of one node and in the column of the other.
    #[default]
    Routed,
    /// One switch joins all rows, and another one all columns.
    Switched,
}

/// The parameters of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mesh {
    /// The number of nodes in a row; the nodes fill row after row.
    pub columns: u32,
    /// The kind of medium of rows and columns.
    pub segment: Segment,
    /// How nodes that share neither row nor column reach each other.
    pub joined: Joined,
    /// How one of the two paths to a node in another row and column is selected. `None` if only one
    /// is used: along the own row and then down the other node's column (routed), or over the
    /// switch of the rows (switched).
    pub both: Option<Selector>,
}

/// Returns a mesh: `eth0` of a node is on its row, `eth1` on its column.
pub fn mesh(basis: &Basis, mesh: &Mesh) -> Topology {
    let mut draft = Draft::new(basis);
    let grid = Grid::new(draft.nodes(), mesh.columns);
    let rows: Vec<MediumId> =
        (1..=grid.rows).map(|row| draft.medium(format!("row{row}"), mesh.segment.kind())).collect();
    let columns: Vec<MediumId> = (1..=grid.columns)
        .map(|column| draft.medium(format!("column{column}"), mesh.segment.kind()))
        .collect();
    if mesh.joined == Joined::Switched {
        for (name, busses) in [("rows", &rows), ("columns", &columns)] {
            let switch = draft.medium(name.to_owned(), MediumKind::Switch { backplane: None });
            for bus in busses {
                draft.topology.uplinks.push(Uplink { from: switch, to: *bus, rate: None });
            }
        }
    }
    let nets = Nets::new(basis.subnet, mesh.joined, grid);
    let mut nics = Vec::with_capacity(draft.nodes());
    for node in 0..draft.nodes() {
        let (row, column) = grid.place(node);
        let on_row = draft.plug_in(node, rows[row], nets.of_row(row));
        nics.push((on_row, draft.plug_in(node, columns[column], nets.of_column(column))));
        if mesh.joined == Joined::Routed {
            draft.topology.nodes[node].forwards = true;
        }
    }
    for (from, own) in nics.into_iter().enumerate() {
        for to in (0..draft.nodes()).filter(|to| *to != from) {
            let mut hops = grid.hops(from, to, own, mesh.joined, nets);
            if mesh.both.is_none() {
                hops.truncate(1);
            }
            let to = draft.address(to);
            draft.host_route(from, to, hops, mesh.both.unwrap_or_default());
        }
    }
    draft.topology
}

/// The numbers of nodes, rows and columns. Nodes fill row after row; the last row may be short.
#[derive(Clone, Copy)]
struct Grid {
    nodes: usize,
    rows: usize,
    columns: usize,
}

impl Grid {
    fn new(nodes: usize, columns: u32) -> Self {
        let columns = usize::try_from(columns).unwrap_or(usize::MAX).clamp(1, nodes.max(1));
        Self { nodes, rows: nodes.div_ceil(columns), columns }
    }

    fn place(self, node: NodeId) -> (usize, usize) {
        (node / self.columns, node % self.columns)
    }

    /// Returns the node in a row and column; `None` beyond the end of the last row.
    fn node(self, row: usize, column: usize) -> Option<NodeId> {
        Some(row * self.columns + column).filter(|node| *node < self.nodes)
    }

    /// Returns all possible next hops from one node to another, the one over the row first.
    fn hops(
        self,
        from: NodeId,
        to: NodeId,
        nics: (NicId, NicId),
        joined: Joined,
        nets: Nets,
    ) -> Vec<NextHop> {
        let ((row, column), (to_row, to_column)) = (self.place(from), self.place(to));
        let by_row = |node| NextHop { nic: nics.0, via: Some(nets.on_row(self, node)) };
        let by_column = |node| NextHop { nic: nics.1, via: Some(nets.on_column(self, node)) };
        if row == to_row {
            return vec![by_row(to)];
        }
        if column == to_column {
            return vec![by_column(to)];
        }
        match joined {
            Joined::Switched => vec![by_row(to), by_column(to)],
            // At most one of the forwarding nodes is missing: the one in a short last row.
            Joined::Routed => {
                let first = self.node(row, to_column).map(by_row);
                first.into_iter().chain(self.node(to_row, column).map(by_column)).collect()
            }
        }
    }
}

/// The networks of rows and columns.
#[derive(Clone, Copy)]
struct Nets {
    first: Subnet,
    joined: Joined,
    rows: usize,
}

impl Nets {
    fn new(nodes: Subnet, joined: Joined, grid: Grid) -> Self {
        Self { first: nodes.after(1), joined, rows: grid.rows }
    }

    fn of_row(self, row: usize) -> Subnet {
        match self.joined {
            Joined::Routed => self.numbered(row),
            Joined::Switched => self.first,
        }
    }

    fn of_column(self, column: usize) -> Subnet {
        match self.joined {
            Joined::Routed => self.numbered(self.rows + column),
            Joined::Switched => self.first.after(1),
        }
    }

    fn numbered(self, place: usize) -> Subnet {
        self.first.after(u32::try_from(place).unwrap_or(u32::MAX))
    }

    fn on_row(self, grid: Grid, node: NodeId) -> Ipv4Addr {
        self.of_row(grid.place(node).0).of_node(node)
    }

    fn on_column(self, grid: Grid, node: NodeId) -> Ipv4Addr {
        self.of_column(grid.place(node).1).of_node(node)
    }
}
