//! The plan of a broadcast: chains through all nodes, one lane a rail.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{HEAD, Lane, LaneBlocks, Layout, NodeId};

/// The version of a saved plan.
const PLAN_VERSION: u32 = 1;

/// A node as a plan knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedNode {
    /// Its name in the node list.
    pub name: String,
}

/// What will happen: lanes over the blocks of one source. The first node is the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of this value's form.
    pub version: u32,
    /// How the source is cut.
    pub layout: Layout,
    /// The nodes, the head first; a node's place is its `NodeId`.
    pub nodes: Vec<PlannedNode>,
    /// The lanes.
    pub lanes: Vec<Lane>,
}

/// Why a plan can't be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// There is nobody to send to.
    #[error("the node list is empty")]
    NoNodes,
    /// The number of lanes is no number of lanes.
    #[error("{0} lanes: allowed are 1 to 64")]
    Lanes(u16),
}

impl Plan {
    /// A broadcast of `layout` from the head through `names` in their order, over `rails` lanes:
    /// lane k carries every k-th block over the nodes' k-th address.
    ///
    /// # Errors
    /// When there are no nodes, or not 1 to 64 rails.
    pub fn broadcast(layout: Layout, names: &[String], rails: u16) -> Result<Self, PlanError> {
        if names.is_empty() {
            return Err(PlanError::NoNodes);
        }
        if !(1..=64).contains(&rails) {
            return Err(PlanError::Lanes(rails));
        }
        let node = |name: &str| PlannedNode { name: name.to_owned() };
        let nodes: Vec<_> =
            std::iter::once(node("head")).chain(names.iter().map(|name| node(name))).collect();
        let route: Vec<NodeId> =
            std::iter::once(HEAD).chain((1..).map(NodeId).take(names.len())).collect();
        let lane = |rail: u16| Lane {
            blocks: LaneBlocks {
                first: u64::from(rail),
                step: u64::from(rails),
                end: layout.blocks(),
            },
            rail,
            route: route.clone(),
        };
        Ok(Self { version: PLAN_VERSION, layout, nodes, lanes: (0..rails).map(lane).collect() })
    }

    /// A copy of `layout` from one node to another, or to itself, over `rails` lanes of one hop: the
    /// node `from` has the head's place.
    ///
    /// # Errors
    /// When there are not 1 to 64 rails.
    pub fn between(layout: Layout, from: &str, to: &str, rails: u16) -> Result<Self, PlanError> {
        let mut plan = Self::broadcast(layout, &[to.to_owned()], rails)?;
        plan.nodes[HEAD.index()].name = from.to_owned();
        Ok(plan)
    }

    /// The nodes that receive, in the plan's order.
    pub fn receivers(&self) -> impl Iterator<Item = (NodeId, &PlannedNode)> {
        (0..).map(NodeId).zip(&self.nodes).skip(1)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { length, block_size } = self.layout;
        writeln!(f, "{length} bytes in {} blocks of {block_size} bytes", self.layout.blocks())?;
        for (number, lane) in self.lanes.iter().enumerate() {
            let LaneBlocks { first, step, .. } = lane.blocks;
            writeln!(
                f,
                "lane {number}: {} blocks ({first}, +{step}), rail {}",
                lane.blocks.len(),
                lane.rail
            )?;
            let names: Vec<&str> =
                lane.route.iter().map(|id| self.nodes[id.index()].name.as_str()).collect();
            writeln!(f, "  {}", names.join(" -> "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broadcast_over_two_rails_prints_its_lanes() {
        let names = ["n1".to_owned(), "n2".to_owned()];
        let plan = Plan::broadcast(Layout::new(10_000, 4096).unwrap(), &names, 2).unwrap();
        insta::assert_snapshot!(plan, @r"
        10000 bytes in 3 blocks of 4096 bytes
        lane 0: 2 blocks (0, +2), rail 0
          head -> n1 -> n2
        lane 1: 1 blocks (1, +2), rail 1
          head -> n1 -> n2
        ");
    }

    #[test]
    fn a_lane_may_lead_to_a_partner_or_to_oneself() {
        let layout = Layout::new(10_000, 4096).unwrap();
        for to in ["n2", "n1"] {
            let plan = Plan::between(layout, "n1", to, 1).unwrap();
            let names: Vec<&str> = plan.nodes.iter().map(|node| node.name.as_str()).collect();
            assert_eq!(names, ["n1", to]);
            assert_eq!(plan.lanes[0].route, [HEAD, NodeId(1)]);
        }
    }

    #[test]
    fn a_plan_can_be_saved_and_read_again() {
        let plan = Plan::broadcast(Layout::fitting(5), &["n1".to_owned()], 1).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }

    #[test]
    fn nobody_and_no_rails_are_refused() {
        assert_eq!(Plan::broadcast(Layout::fitting(5), &[], 1), Err(PlanError::NoNodes));
        let one = ["a".to_owned()];
        assert_eq!(Plan::broadcast(Layout::fitting(5), &one, 0), Err(PlanError::Lanes(0)));
    }
}
