//! Fits a plan to a network in which some nodes are reached through ssh only: those that no other
//! node reaches are fed by this machine.

use std::collections::BTreeSet;
use std::net::IpAddr;

use garland_control::{Agent, link_neighbours};
use garland_core::cluster::Node;
use garland_core::plan::{HEAD, Lane, LaneBlocks, NodeId, Plan, Route};
use garland_core::unreached::Hop;
use garland_fleet::builder::Fleet;
use garland_fleet::standing::{RecordDir, Standing};
use garland_lab::Lab;
use garland_protocol::copy::DOWNSTREAMS_MAX;
use garland_state::unreached;
use garland_sys::clock;
use garland_terminal::failure::{Failure, OrFailure};

use crate::place::Place;

/// A plan that was fitted to what nodes reach.
pub struct FittedPlan {
    /// The plan.
    pub plan: Plan,
    /// The names of the nodes that this machine feeds, since no other one reaches them.
    pub fed_here: Vec<String>,
    /// The nodes that other ones reach; `None` if all are taken to be reached, as no login is
    /// needed.
    pub reached: Option<BTreeSet<NodeId>>,
}

/// What the node before a node reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// The node has no agent yet.
    Absent,
    /// The node is not reached.
    Unreached,
    /// The node is reached, or is the first one with an agent.
    Reached,
}

impl FittedPlan {
    /// Returns `plan`, in which nodes feed each other as they are listed.
    pub fn kept(plan: Plan) -> Self {
        Self { plan, fed_here: Vec::new(), reached: None }
    }
}

/// Fits `plan`, in which each node gets the whole source, to what the nodes of `fleet` reach. If
/// all ports can be reached from here, nothing is asked, and the plan is kept.
///
/// # Errors
/// When this machine cannot wait for the agents, or would have to feed too many nodes.
pub fn fit(plan: Plan, fleet: &mut Fleet, place: &Place) -> Result<FittedPlan, Failure> {
    let mut agents = fleet.agents.iter().flatten();
    if !agents.any(Agent::is_behind_login) {
        return Ok(FittedPlan::kept(plan));
    }
    let agents = std::mem::take(&mut fleet.agents);
    let linked = unreached::update(&place.places, |hops| {
        link_neighbours(agents, hops, Some(&place.interrupts))
    });
    let linked = linked.or_nothing("cannot ask which nodes reach each other")?;
    fleet.agents = linked.agents;
    let nodes = fleet.agents.iter().zip(linked.unreached);
    let reaches: Vec<Reach> = nodes
        .map(|(agent, is_unreached)| match agent {
            Err(_) => Reach::Absent,
            Ok(_) if is_unreached => Reach::Unreached,
            Ok(_) => Reach::Reached,
        })
        .collect();
    fitted(plan, &reaches)
}

/// Fits `plan`, in which each node gets the whole source, to what earlier commands found of the
/// `nodes` that have standing agents. Nothing is asked: what is not known is taken to be reached.
///
/// # Errors
/// When records of agents cannot be read, or this machine would have to feed too many nodes.
pub fn expected(plan: Plan, nodes: &[Node], place: &Place) -> Result<FittedPlan, Failure> {
    let records = RecordDir::open(&place.places, place.lab.as_ref().map(Lab::name))?;
    let found = nodes.iter().map(|node| Standing::find(&records, &node.name));
    let found: Vec<Option<Standing>> = found.collect::<Result<_, _>>()?;
    let hops = unreached::read(&place.places);
    let now_ns = clock::wall_ns();
    let addresses: Vec<Option<IpAddr>> =
        found.iter().map(|agent| agent.as_ref()?.addresses.first().copied()).collect();
    let is_out_of_reach = |at: usize| {
        let from = addresses[..at].iter().rev().find_map(|address| *address);
        let hop = from.zip(addresses[at]).map(|(from, to)| Hop { from, to });
        hop.is_some_and(|hop| hops.has(hop, now_ns))
    };
    let by_login = found.iter().map(|agent| agent.as_ref().is_some_and(|it| it.login.is_some()));
    let reaches: Vec<Reach> = by_login
        .enumerate()
        .map(|(at, by_login)| match by_login && is_out_of_reach(at) {
            true => Reach::Unreached,
            false => Reach::Reached,
        })
        .collect();
    match reaches.contains(&Reach::Unreached) {
        true => fitted(plan, &reaches),
        false => Ok(FittedPlan::kept(plan)),
    }
}

/// Returns the address of the first of `nodes` that has a standing agent; `None` if none has.
///
/// # Errors
/// When records of agents cannot be read.
pub fn known_address(nodes: &[Node], place: &Place) -> Result<Option<IpAddr>, Failure> {
    let records = RecordDir::open(&place.places, place.lab.as_ref().map(Lab::name))?;
    for node in nodes {
        if let Some(agent) = Standing::find(&records, &node.name)?
            && let Some(&address) = agent.addresses.first()
        {
            return Ok(Some(address));
        }
    }
    Ok(None)
}

/// Fits `plan` to what each node's predecessor reaches.
fn fitted(plan: Plan, reaches: &[Reach]) -> Result<FittedPlan, Failure> {
    let ids = || (1..).map(NodeId).zip(reaches.iter().copied());
    if !reaches.contains(&Reach::Unreached) {
        let present = ids().filter(|(_, reach)| *reach == Reach::Reached).map(|(id, _)| id);
        return Ok(FittedPlan { reached: Some(present.collect()), ..FittedPlan::kept(plan) });
    }
    let hops = hops_around(reaches);
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
    let is_star = reaches.iter().filter(|reach| **reach == Reach::Reached).count() == 1;
    let fed_here = |reach: Reach| reach == Reach::Unreached || is_star && reach == Reach::Reached;
    let reached = ids().filter(|(_, reach)| *reach == Reach::Reached && !is_star);
    let reached = reached.map(|(id, _)| id).collect();
    let names = ids().filter(|(_, reach)| fed_here(*reach));
    let fed_here = names.map(|(id, _)| plan.nodes[id.index()].name.clone()).collect();
    let route = Route::tree(HEAD, hops).or_nothing("cannot plan the copy")?;
    let blocks = LaneBlocks::all(plan.layout.blocks());
    let reason = "this machine feeds the nodes that no other one reaches".to_owned();
    let lanes = vec![Lane { blocks, rail: 0, route }];
    let plan = Plan { lanes, reason: Some(reason), ..plan };
    Ok(FittedPlan { plan, fed_here, reached: Some(reached) })
}

/// Returns the hops, each as (downstream, upstream), of a route through all nodes in their order.
/// This machine feeds the first one, those that are not reached, and those that come late: whether
/// they are reached is not known.
fn hops_around(reaches: &[Reach]) -> Vec<(NodeId, NodeId)> {
    let mut near = HEAD;
    let mut hops = Vec::new();
    for (id, reach) in (1..).map(NodeId).zip(reaches) {
        hops.push((id, if *reach == Reach::Reached { near } else { HEAD }));
        if *reach != Reach::Absent {
            near = id;
        }
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::Reach::{Absent, Reached, Unreached};
    use super::*;

    #[test]
    fn stretches_that_no_node_reaches_begin_at_this_machine() {
        let from = |reaches: &[Reach]| -> Vec<u32> {
            hops_around(reaches).into_iter().map(|(_, near)| near.0).collect()
        };
        assert_eq!(from(&[Reached, Reached, Unreached, Reached]), [0, 1, 0, 3]);
        assert_eq!(from(&[Reached, Unreached, Unreached]), [0, 0, 0]);
        assert_eq!(from(&[Reached, Absent, Reached, Absent]), [0, 0, 1, 0]);
        assert_eq!(from(&[Reached]), [0]);
    }
}
