//! The rows of each pane, in the chosen order.

use super::board::{Board, Node};
use super::figures::{Figures, Job, Lane};
use super::panes::Order;

/// Returns all nodes in the order `order`.
pub fn nodes(board: &Board, order: Order) -> Vec<&Node> {
    let mut rows: Vec<&Node> = board.nodes.iter().collect();
    let moves = |node: &Node| {
        let figures = node.figures.as_ref();
        figures.map_or(-1.0, |figures| figures.received() + figures.sent())
    };
    if order == Order::Busiest {
        rows.sort_by(|one, other| moves(other).total_cmp(&moves(one)));
    }
    rows
}

/// Returns the lanes on all nodes, each with its node, in the order `order`.
pub fn lanes(board: &Board, order: Order) -> Vec<(&Node, &Lane)> {
    let mut rows: Vec<_> = figures(board)
        .flat_map(|(node, it)| it.lanes.iter().map(move |lane| (node, lane)))
        .collect();
    match order {
        // Lanes of the same copy are adjacent.
        Order::Name => rows.sort_by(|(_, one), (_, other)| {
            (&one.copy, one.number).cmp(&(&other.copy, other.number))
        }),
        Order::Busiest => {
            let moves = |lane: &Lane| lane.received + lane.sent;
            rows.sort_by(|(_, one), (_, other)| moves(other).total_cmp(&moves(one)));
        }
    }
    rows
}

/// Returns all jobs on all nodes, each with its node, in the order `order`.
pub fn jobs(board: &Board, order: Order) -> Vec<(&Node, &Job)> {
    let mut rows: Vec<_> =
        figures(board).flat_map(|(node, it)| it.jobs.iter().map(move |job| (node, job))).collect();
    if order == Order::Busiest {
        rows.sort_by(|(_, one), (_, other)| other.seconds.total_cmp(&one.seconds));
    }
    rows
}

/// Returns the sum of a figure over all nodes that have figures.
pub fn sum(board: &Board, of: impl Fn(&Figures) -> f64) -> f64 {
    figures(board).map(|(_, figures)| of(figures)).sum()
}

fn figures(board: &Board) -> impl Iterator<Item = (&Node, &Figures)> {
    board.nodes.iter().filter_map(|node| Some((node, node.figures.as_ref()?)))
}
