//! The route of a lane: the upstream of each node.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::node_id::NodeId;

/// The hops of a lane: a chain or a tree. Each node comes after its upstream; the first node has
/// none.
///
/// A chain is serialized as the list of its nodes, a tree as its first node and the list of its
/// hops, each as (downstream, upstream).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Route {
    nodes: Vec<NodeId>,
    /// The upstream of each of `nodes` but the first, as an index into `nodes`.
    feeders: Vec<usize>,
}

/// The error for hops that form no route.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RouteError {
    /// The route has no nodes.
    #[error("the route has no nodes")]
    Empty,
    /// This node has two upstreams.
    #[error("node {0:?} appears twice on the route")]
    Twice(NodeId),
    /// The second node is the upstream of the first one, but does not come before it.
    #[error("node {1:?} feeds node {0:?}, but does not come before it on the route")]
    Feeder(NodeId, NodeId),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Chain(Vec<NodeId>),
    Tree { first: NodeId, hops: Vec<(NodeId, NodeId)> },
}

impl Route {
    /// Returns the chain through `nodes`, in their order.
    ///
    /// # Panics
    /// If `nodes` is empty.
    pub fn chain(nodes: impl IntoIterator<Item = NodeId>) -> Self {
        let nodes: Vec<NodeId> = nodes.into_iter().collect();
        assert!(!nodes.is_empty(), "a route has nodes");
        let feeders = (0..nodes.len() - 1).collect();
        Self { nodes, feeders }
    }

    /// Returns the tree with the root `first` and these hops, each as (downstream, upstream).
    ///
    /// # Errors
    /// If a node has two upstreams, or comes before its upstream.
    pub fn tree(
        first: NodeId,
        hops: impl IntoIterator<Item = (NodeId, NodeId)>,
    ) -> Result<Self, RouteError> {
        let mut places = std::collections::HashMap::from([(first, 0)]);
        let mut route = Self { nodes: vec![first], feeders: Vec::new() };
        for (far, near) in hops {
            let feeder = *places.get(&near).ok_or(RouteError::Feeder(far, near))?;
            if places.insert(far, route.nodes.len()).is_some() {
                return Err(RouteError::Twice(far));
            }
            route.nodes.push(far);
            route.feeders.push(feeder);
        }
        Ok(route)
    }

    /// Appends a node; its upstream is the last node.
    pub fn lengthen(&mut self, node: NodeId) {
        self.feeders.push(self.nodes.len() - 1);
        self.nodes.push(node);
    }

    /// Returns the first node, which has no upstream.
    pub fn first(&self) -> NodeId {
        self.nodes[0]
    }

    /// Returns all nodes, each after its upstream.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Returns whether `node` is on the route.
    pub fn contains(&self, node: NodeId) -> bool {
        self.nodes.contains(&node)
    }

    /// Returns the upstream of `node`; `None` for the first node and for nodes that are not on the
    /// route.
    pub fn feeder(&self, node: NodeId) -> Option<NodeId> {
        let place = self.nodes.iter().position(|&other| other == node)?;
        Some(self.nodes[*self.feeders.get(place.checked_sub(1)?)?])
    }

    /// Iterates over the hops, each as (upstream, downstream), in the order of the downstreams.
    pub fn hops(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let far = self.nodes.iter().skip(1);
        far.zip(&self.feeders).map(|(&far, &near)| (self.nodes[near], far))
    }

    /// Returns whether each node feeds the next one.
    pub fn is_chain(&self) -> bool {
        self.feeders.iter().enumerate().all(|(place, &feeder)| place == feeder)
    }

    /// Returns the maximum number of hops from the first node to another.
    pub fn depth(&self) -> usize {
        let mut depths = vec![0; self.nodes.len()];
        for (place, &feeder) in (1..).zip(&self.feeders) {
            depths[place] = depths[feeder] + 1;
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// Returns the chain in reverse order.
    ///
    /// # Panics
    /// If the route is a tree: a node can have only one upstream.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        assert!(self.is_chain(), "only a chain can be reversed");
        self.nodes.reverse();
        self
    }
}

impl TryFrom<Written> for Route {
    type Error = RouteError;

    fn try_from(written: Written) -> Result<Self, RouteError> {
        match written {
            Written::Chain(nodes) => {
                let first = *nodes.first().ok_or(RouteError::Empty)?;
                let hops = nodes.iter().skip(1).zip(&nodes).map(|(&far, &near)| (far, near));
                Self::tree(first, hops)
            }
            Written::Tree { first, hops } => Self::tree(first, hops),
        }
    }
}

impl From<Route> for Written {
    fn from(route: Route) -> Self {
        if route.is_chain() {
            return Self::Chain(route.nodes);
        }
        let hops = route.hops().map(|(near, far)| (far, near)).collect();
        Self::Tree { first: route.first(), hops }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> NodeId {
        NodeId(number)
    }

    #[test]
    fn a_chain_is_written_as_its_nodes_and_a_tree_as_its_hops() {
        let line = Route::chain([0, 2, 1].map(id));
        assert_eq!(serde_json::to_string(&line).unwrap(), "[0,2,1]");
        let branching =
            Route::tree(id(0), [(id(1), id(0)), (id(2), id(0)), (id(3), id(1))]).unwrap();
        let text = serde_json::to_string(&branching).unwrap();
        assert_eq!(text, r#"{"first":0,"hops":[[1,0],[2,0],[3,1]]}"#);
        for (route, text) in [(&line, "[0,2,1]"), (&branching, text.as_str())] {
            assert_eq!(&serde_json::from_str::<Route>(text).unwrap(), route);
        }
        for bad in ["[]", "[0,1,0]", r#"{"first":0,"hops":[[1,2]]}"#] {
            assert!(serde_json::from_str::<Route>(bad).is_err(), "{bad}");
        }
        assert_eq!((line.depth(), branching.depth()), (2, 2));
        assert!(line.is_chain() && !branching.is_chain());
        assert_eq!(branching.hops().last(), Some((id(1), id(3))));
        assert_eq!([0, 3, 9].map(|node| branching.feeder(id(node))), [None, Some(id(1)), None]);
        assert_eq!(line.reversed().nodes(), [1, 2, 0].map(id));
    }
}
