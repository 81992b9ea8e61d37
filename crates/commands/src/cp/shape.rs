//! Chooses between a chain and a tree: the shape that the user specified, or the one that is
//! predicted to be faster.

use std::time::Duration;

use garland_core::plan::{Pace, Plan};
use garland_lab::Lab;

use crate::args::ShapeName;
use crate::cp::limit;
use crate::cp::request::CopyRequest;
use garland_terminal::failure::Failure;

/// The assumed rate of wires if the rate is unknown, in bytes per second: TCP payload of 1 Gbit/s.
const USUAL_RATE: f64 = 117.7e6;

/// The assumed time from the arrival of data at one node to its arrival at the next: wake-up and
/// wire.
const HOP: Duration = Duration::from_micros(100);

/// Returns `plan` in the shape that `--shape` specifies, with the reason if the shape is a tree.
/// The plan of a stream is returned unchanged.
pub fn shaped(request: &CopyRequest<'_>, lab: Option<&Lab>, plan: Plan) -> Result<Plan, Failure> {
    // The length of a stream is unknown, so the time of either shape cannot be predicted.
    if plan.layout.open {
        return Ok(plan);
    }
    let transport = request.transport(lab, plan.lanes.len());
    let nodes = plan.nodes.len() - 1;
    let wires =
        lab.and_then(|lab| limit::of_lab(lab, request.args.launch.sender(), &plan, transport));
    let lanes = plan.lanes.len() as f64;
    let rate = wires.map(|bits| bits / 8.0 / lanes);
    let pace = Pace { rate: rate.unwrap_or(USUAL_RATE), hop: HOP };
    let layout = plan.layout;
    let chain = pace.shape(layout, nodes, 1);
    let wires = match rate {
        Some(rate) => format!("the lab's wires of {:.1} MB/s", rate / 1e6),
        None => "wires of 1 Gbit/s".to_owned(),
    };
    let tree = match request.args.shape {
        ShapeName::Chain => None,
        ShapeName::Tree => Some(pace.tree(layout, nodes)),
        ShapeName::Auto => pace.better_tree(layout, nodes),
    };
    let Some(tree) = tree else { return Ok(plan) };
    let fanout = tree.fanout;
    let reason = match request.args.shape {
        ShapeName::Tree => "as asked for".to_owned(),
        _ => format!("since a chain would take {chain} over {wires}"),
    };
    let reason =
        format!("a tree in which each node feeds {fanout}, {reason}; the tree takes {tree}");
    Ok(Plan { reason: Some(reason), ..plan.branching(fanout) })
}
