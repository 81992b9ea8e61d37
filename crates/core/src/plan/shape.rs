//! The choice between a chain and a tree for a broadcast, by their predicted times.
//!
//! A chain uses every wire once, but the first byte reaches the last node through all others. That
//! delay is negligible for a large file, and most of the time of a small file for many nodes. In a
//! tree in which each node feeds `k` others, each wire carries everything `k` times, but the depth
//! is logarithmic. Two such trees with half of the bytes each (twins) need each wire once: a node
//! that feeds others in one of them is a leaf of the other. Nodes forward slices while they arrive.
//! With `m` bytes, wires of `B` bytes per second, slices of `s` bytes and `h` seconds to hand over
//! a slice, the time until `n` nodes have all is about
//!
//! ```text
//! chain  m/B + n (s/B + h)    tree  k m/B + depth (k s/B + h)    twins  m/B + depth (2 s/B + h)
//! ```
//!
//! Without slices the best tree is binomial, and takes `ceil(log2 (n + 1)) (m/B + h)`: Thakur,
//! Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH (2005),
//! 3.1.

use std::fmt;
use std::time::Duration;

use super::{LANES_MAX, Lane, LaneBlocks, Layout, NodeId, Plan, PlanError, Route};

/// The performance of the wires and nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Bytes per second of each node's wire in each direction.
    pub rate: f64,
    /// The time from the arrival of a slice at a node until the node forwards it.
    pub hop: Duration,
}

/// The number of slices in which a relay forwards a block, if no slice exceeds [`SLICE_MAX`].
const SLICES: u32 = 4;
/// The maximum length of a slice in bytes.
const SLICE_MAX: u32 = 64 << 10;

/// The numbers of downstreams per node that are tried.
const FANOUTS: std::ops::RangeInclusive<usize> = 2..=8;

/// The shape of a route and its predicted time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The shape of the routes.
    pub route: RouteShape,
    /// The maximum number of hops from the head to a node.
    pub depth: usize,
    /// The time that each hop adds: sending a slice over the wire, and handing it over in the node.
    pub hop: Duration,
    /// The time until every node has all bytes.
    pub takes: Duration,
}

impl Pace {
    /// Predicts a copy of `layout` to `nodes` nodes by routes of this shape.
    pub fn shape(&self, layout: Layout, nodes: usize, route: RouteShape) -> Shape {
        let slice = (layout.block_size / SLICES).clamp(1, SLICE_MAX);
        let slice = f64::from(slice).min(layout.length as f64);
        // How often a wire carries all, and the depth.
        let (times, depth) = match route {
            RouteShape::Chain => (1, nodes),
            RouteShape::Tree(fanout) => (fanout, depth(nodes, fanout)),
            RouteShape::Twins => (1, nodes.checked_ilog2().map_or(0, |power| power as usize + 1)),
        };
        let wire = |bytes: f64| bytes / self.rate.max(1.0);
        let hop = route.fanout() as f64 * wire(slice) + self.hop.as_secs_f64();
        let takes = times as f64 * wire(layout.length as f64) + depth as f64 * hop;
        let seconds = Duration::from_secs_f64;
        Shape { route, depth, hop: seconds(hop), takes: seconds(takes) }
    }

    /// Returns the fastest of the trees in which each node feeds 2 to 8 others.
    pub fn tree(&self, layout: Layout, nodes: usize) -> Shape {
        let trees = FANOUTS.map(|fanout| self.shape(layout, nodes, RouteShape::Tree(fanout)));
        trees
            .min_by_key(|tree| tree.takes)
            .unwrap_or_else(|| self.shape(layout, nodes, RouteShape::Tree(2)))
    }

    /// Returns the fastest tree if it saves at least a quarter of the chain's time. Otherwise
    /// returns `None`: a chain loads the network less.
    pub fn better_tree(&self, layout: Layout, nodes: usize) -> Option<Shape> {
        let chain = self.shape(layout, nodes, RouteShape::Chain);
        let tree = self.tree(layout, nodes);
        Some(tree).filter(|tree| tree.takes < chain.takes * 3 / 4)
    }
}

/// Returns the depth of a tree of `nodes` nodes, each of which feeds `fanout` others.
fn depth(nodes: usize, fanout: usize) -> usize {
    if fanout <= 1 {
        return nodes;
    }
    let mut depth = 0;
    let mut left = nodes;
    let mut level = 1_usize;
    while left > 0 {
        level = level.saturating_mul(fanout);
        left = left.saturating_sub(level);
        depth += 1;
    }
    depth
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let hops = self.depth;
        let hop = ms(self.hop);
        let takes = ms(self.takes);
        write!(f, "{hops} hops of {hop:.2} ms, {takes:.1} ms in all")
    }
}

/// The shape of the routes of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteShape {
    /// Each node feeds the next.
    Chain,
    /// Each node feeds this number of others.
    Tree(usize),
    /// Two trees in which nodes feed two others, each with half of the blocks: [`Plan::twinned`].
    Twins,
}

impl RouteShape {
    /// Returns the shape in which each node feeds `fanout` others.
    pub fn of_fanout(fanout: usize) -> Self {
        if fanout == 1 { Self::Chain } else { Self::Tree(fanout) }
    }

    /// Returns the number of nodes that a node feeds, those of both trees of twins.
    pub fn fanout(&self) -> usize {
        match self {
            Self::Chain => 1,
            Self::Tree(fanout) => *fanout,
            Self::Twins => 2,
        }
    }
}

/// Writes the shape as the value of `--shape`.
impl fmt::Display for RouteShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chain => f.write_str("chain"),
            Self::Tree(fanout) => write!(f, "tree:{fanout}"),
            Self::Twins => f.write_str("twins"),
        }
    }
}

impl Plan {
    /// Gives the lanes, which must be chains, this shape.
    ///
    /// # Errors
    /// Those of [`Plan::twinned`].
    pub fn shaped(self, route: RouteShape) -> Result<Self, PlanError> {
        match route {
            RouteShape::Chain => Ok(self),
            RouteShape::Tree(fanout) => Ok(self.branching(fanout)),
            RouteShape::Twins => self.twinned(),
        }
    }

    /// Converts the lanes to trees in which each node feeds `fanout` others. Each branch is a
    /// contiguous part of the nodes' order.
    ///
    /// # Panics
    /// If `fanout` is 0, or a lane is not a chain.
    #[must_use]
    pub fn branching(mut self, fanout: usize) -> Self {
        assert!(fanout > 0, "a node feeds others");
        for lane in &mut self.lanes {
            assert!(lane.route.is_chain(), "only a chain can be converted to a tree");
            let mut hops = Vec::new();
            let (first, rest) = lane.route.nodes().split_first().expect("a route has nodes");
            branch(*first, rest, fanout, &mut hops);
            lane.route = Route::tree(*first, hops).expect("a chain contains each node once");
        }
        self
    }

    /// Divides each lane into two, whose trees differ: a node that feeds two others in one of them
    /// feeds nobody in the other. Each wire carries everything once, as in a chain, and the depth
    /// is logarithmic: Sanders, Speck and Träff, Two-tree algorithms for full bandwidth broadcast,
    /// reduction and scan (2009). Each branch is a contiguous part of the nodes' order, except for
    /// the first node.
    ///
    /// # Errors
    /// If that makes too many lanes.
    ///
    /// # Panics
    /// If a lane is not a chain.
    pub fn twinned(mut self) -> Result<Self, PlanError> {
        let lanes = u16::try_from(2 * self.lanes.len()).unwrap_or(u16::MAX);
        if lanes > LANES_MAX {
            return Err(PlanError::Lanes(lanes));
        }
        let twins = |lane: &Lane| {
            assert!(lane.route.is_chain(), "only a chain can be converted to trees");
            let (head, order) = lane.route.nodes().split_first().expect("a route has nodes");
            // With an even number of nodes the last becomes the first; with an odd one all move by
            // one place. Either way even places become odd ones, which are leaves.
            let mut other = order.to_vec();
            if order.len().is_multiple_of(2) {
                other.reverse()
            } else {
                other.rotate_left(1)
            }
            let LaneBlocks { first, run, step, end } = lane.blocks;
            [order, &other]
                .into_iter()
                .zip([first, first + step])
                .map(|(order, first)| {
                    let mut hops = Vec::new();
                    halve(*head, order, &mut hops);
                    Lane {
                        blocks: LaneBlocks { first, run, step: 2 * step, end },
                        rail: lane.rail,
                        route: Route::tree(*head, hops).expect("a chain contains each node once"),
                    }
                })
                .collect::<Vec<_>>()
        };
        self.lanes = self.lanes.iter().flat_map(twins).collect();
        Ok(self)
    }
}

/// Appends the hops, as (downstream, upstream), of a tree from `near` to all nodes of `stretch`.
/// The stretch is divided into `fanout` parts; `near` feeds the first node of each part, which
/// feeds the rest of the part.
fn branch(near: NodeId, stretch: &[NodeId], fanout: usize, hops: &mut Vec<(NodeId, NodeId)>) {
    let mut rest = stretch;
    for part in (1..=fanout).rev() {
        let (these, others) = rest.split_at(rest.len().div_ceil(part));
        rest = others;
        if let Some((&far, behind)) = these.split_first() {
            hops.push((far, near));
            branch(far, behind, fanout, hops);
        }
    }
}

/// Appends the hops, as (downstream, upstream), of a binary tree from `near` to all nodes of
/// `stretch`. `near` feeds the node at the last place that is a power of two, which feeds the nodes
/// before it and those after it. So all nodes at odd places, counted from one, are leaves.
fn halve(near: NodeId, stretch: &[NodeId], hops: &mut Vec<(NodeId, NodeId)>) {
    let Some(middle) = stretch.len().checked_ilog2().map(|power| (1_usize << power) - 1) else {
        return;
    };
    let far = stretch[middle];
    hops.push((far, near));
    halve(far, &stretch[..middle], hops);
    halve(far, &stretch[middle + 1..], hops);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::HEAD;

    const GIGABIT: Pace = Pace { rate: 125e6, hop: Duration::from_micros(100) };

    fn plan(nodes: usize) -> Plan {
        let names: Vec<String> = (1..=nodes).map(|n| format!("n{n}")).collect();
        Plan::broadcast(Layout::fitting(1_000_000), &names, 1).unwrap()
    }

    #[test]
    fn branches_are_stretches_of_the_order() {
        insta::assert_snapshot!(plan(7).branching(2), @r"
        1000000 bytes in 16 blocks of 65536 bytes
        lane 0: 16 blocks (0, +1), rail 0
          head -> n1, n5
          n1 -> n2, n4
          n2 -> n3
          n5 -> n6, n7
        ");
        assert_eq!(plan(7).branching(1), plan(7));
    }

    #[test]
    fn a_tree_is_as_deep_as_is_reckoned() {
        for (nodes, fanout) in [(1, 2), (2, 2), (3, 2), (6, 2), (7, 2), (20, 3), (512, 2)] {
            let route = plan(nodes).branching(fanout).lanes[0].route.clone();
            let reckoned = depth(nodes, fanout);
            assert!((reckoned..=reckoned + 1).contains(&route.depth()), "{nodes} by {fanout}");
            assert_eq!(route.nodes().len(), nodes + 1);
        }
    }

    #[test]
    fn small_files_to_many_nodes_branch_and_large_ones_do_not() {
        let small = Layout::fitting(1_000_000);
        let tree = GIGABIT.better_tree(small, 512).expect("a tree");
        assert!(tree.takes * 4 < GIGABIT.shape(small, 512, RouteShape::Chain).takes, "{tree}");
        // A binomial tree without slices takes 10 rounds of 8.1 ms.
        assert!(tree.takes < Duration::from_micros(81_000), "{tree}");
        for (length, nodes) in [(1 << 30, 512), (1_000_000, 3), (0, 1)] {
            assert_eq!(GIGABIT.better_tree(Layout::fitting(length), nodes), None, "{length}");
        }
    }

    #[test]
    fn twin_trees_have_no_inner_node_in_common() {
        insta::assert_snapshot!(plan(5).twinned().unwrap(), @r"
        1000000 bytes in 16 blocks of 65536 bytes
        lane 0: 8 blocks (0, +2), rail 0
          head -> n4
          n4 -> n2, n5
          n2 -> n1, n3
        lane 1: 8 blocks (1, +2), rail 0
          head -> n5
          n5 -> n3, n1
          n3 -> n2, n4
        ");
        for nodes in 1..=70 {
            let twins = plan(nodes).twinned().unwrap();
            let inner = |lane: &Lane| -> Vec<NodeId> {
                let fed = lane.route.hops().map(|(near, _)| near).filter(|near| *near != HEAD);
                fed.collect()
            };
            let [one, other] = &twins.lanes[..] else { panic!("two lanes") };
            assert!(!inner(one).iter().any(|node| inner(other).contains(node)), "{twins}");
            for lane in [one, other] {
                assert_eq!(lane.route.nodes().len(), nodes + 1);
                let feeds = |id: &NodeId| lane.route.hops().filter(|(near, _)| near == id).count();
                assert!(lane.route.nodes().iter().all(|id| feeds(id) <= 2), "{twins}");
                let depth = nodes.ilog2() as usize + 1;
                assert!(lane.route.depth() <= depth + 1, "{nodes}: {}", lane.route.depth());
            }
            let blocks = one.blocks.len() + other.blocks.len();
            assert_eq!(blocks, twins.layout.blocks());
        }
        let names = ["n1".to_owned(), "n2".to_owned()];
        let wide = |rails| Plan::broadcast(Layout::fitting(1_000_000), &names, rails).unwrap();
        assert_eq!(wide(32).twinned().unwrap().lanes.len(), 64);
        assert_eq!(wide(33).twinned(), Err(PlanError::Lanes(66)));
    }
}
