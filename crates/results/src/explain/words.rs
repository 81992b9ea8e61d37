//! Causes and places as text.

use garland_analysis::ledger::{Cause, NoFix, Place, Undecided};
use garland_core::units::Nanos;

/// Formats a place with the names in `nodes`: `n1`, or `n1 to n2`; `None` if there is no place.
pub fn place(nodes: &[String], place: Place) -> Option<String> {
    let name = |node: usize| nodes.get(node).cloned().unwrap_or_else(|| format!("node {node}"));
    match (place.node.map(name), place.to.map(name)) {
        (Some(from), Some(to)) => Some(format!("{from} to {to}")),
        (Some(node), None) => Some(node),
        _ => None,
    }
}

/// Formats a cause with its place; for a straggler, `within` is the cause of its delay.
pub fn of(nodes: &[String], cause: Cause, at: Place, within: Option<Cause>) -> String {
    let within = within.map_or_else(String::new, |within| format!(" ({within})"));
    match place(nodes, at) {
        Some(at) => format!("{cause} {at}{within}"),
        None => format!("{cause}{within}"),
    }
}

/// Returns the reason why no improvement is named.
pub fn no_fix(why: NoFix) -> &'static str {
    match why {
        NoFix::Failed => "no node has the whole file; the notes say why",
        NoFix::NothingSent => "nothing had to be sent",
        NoFix::TooShort => "the copy is too short to judge",
        NoFix::Login => {
            "the data went through ssh; faster: open a TCP port to the nodes, and name it by --port"
        }
        NoFix::Small => "nothing that could be changed costs 5 % of the time",
        NoFix::Needed => "the remaining time is needed by every copy",
    }
}

/// Explains why part of the time of a node cannot be attributed.
pub fn undecided(nodes: &[String], open: &Undecided) -> String {
    let name = &nodes[open.node];
    let why = if open.clock_unknown {
        "its clock was never compared with the head's"
    } else {
        "it has no trace"
    };
    let parts = if open.node == 0 {
        "its source disk, its CPUs, encryption and its link"
    } else {
        "its disk, its CPUs, decryption, its receive buffer, the path of its replies and the \
         nodes it feeds"
    };
    let time = Nanos(open.ns);
    format!("{name}: {why}, so {time} cannot be divided among {parts}")
}
