//! Fits a plan to a network in which some nodes are reached through ssh only: those that no other
//! node reaches are fed by this machine.

use garland_control::{Agent, link_neighbours};
use garland_core::plan::{HEAD, Lane, LaneBlocks, NodeId, Plan, Route};
use garland_fleet::builder::Fleet;
use garland_protocol::copy::DOWNSTREAMS_MAX;
use garland_terminal::failure::{Failure, OrFailure};

/// A plan that was fitted to what nodes reach.
pub struct FittedPlan {
    /// The plan.
    pub plan: Plan,
    /// The names of the nodes that this machine feeds, since no other one reaches them.
    pub fed_here: Vec<String>,
}

/// Fits `plan`, in which each node gets the whole source, to what the nodes of `fleet` reach. If all
/// ports can be reached from here, nothing is asked, and the plan is kept.
///
/// # Errors
/// When this machine cannot wait for the agents, or would have to feed too many nodes.
pub fn fit(plan: Plan, fleet: &mut Fleet) -> Result<FittedPlan, Failure> {
    let mut agents = fleet.agents.iter().flatten();
    if !agents.any(Agent::is_behind_login) {
        return Ok(FittedPlan { plan, fed_here: Vec::new() });
    }
    let agents = std::mem::take(&mut fleet.agents);
    let asking = "asking which nodes reach each other";
    let linked = link_neighbours(agents).or_nothing(asking)?;
    fleet.agents = linked.agents;
    if linked.unreached.iter().all(|unreached| !unreached) {
        return Ok(FittedPlan { plan, fed_here: Vec::new() });
    }
    let hops = hops_around(&linked.unreached);
    let fed = hops.iter().filter(|(_, near)| *near == HEAD).count();
    if fed > DOWNSTREAMS_MAX {
        return Err(Failure::nothing(format!(
            "{fed} nodes are reached by no other node, and this machine can feed {DOWNSTREAMS_MAX}"
        ))
        .hint(
            "open a TCP port between the nodes, and name it with --port, or copy to fewer nodes",
        ));
    }
    // This machine feeds the first node of a chain in any case.
    let is_star = fed == hops.len();
    let names = plan.nodes[1..].iter().zip(&linked.unreached);
    let fed_here = names.filter(|(_, unreached)| is_star || **unreached);
    let fed_here = fed_here.map(|(node, _)| node.name.clone()).collect();
    let route = Route::tree(HEAD, hops).or_nothing("planning the copy")?;
    let blocks = LaneBlocks::all(plan.layout.blocks());
    let reason = "this machine feeds the nodes that no other one reaches".to_owned();
    let lanes = vec![Lane { blocks, rail: 0, route }];
    Ok(FittedPlan { plan: Plan { lanes, reason: Some(reason), ..plan }, fed_here })
}

/// Returns the hops, each as (downstream, upstream), of a route through all nodes in their order,
/// in which this machine feeds the first one and the `unreached` ones.
fn hops_around(unreached: &[bool]) -> Vec<(NodeId, NodeId)> {
    let mut near = HEAD;
    let mut hops = Vec::new();
    for (id, is_unreached) in (1..).map(NodeId).zip(unreached) {
        hops.push((id, if *is_unreached { HEAD } else { near }));
        near = id;
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_no_node_reaches_begin_at_this_machine() {
        let from = |unreached: &[bool]| -> Vec<u32> {
            hops_around(unreached).into_iter().map(|(_, near)| near.0).collect()
        };
        assert_eq!(from(&[false, false, true, false]), [0, 1, 0, 3]);
        assert_eq!(from(&[true, true, true]), [0, 0, 0]);
        assert_eq!(from(&[false]), [0]);
    }
}
