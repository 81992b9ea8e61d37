//! Plans: broadcasts (chains through all nodes, one lane per rail), stripes (one lane per server),
//! and their reverse.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};
use thiserror::Error;

use super::{HEAD, Lane, LaneBlocks, Layout, NodeId, Route, Stripes};

/// The version of a saved plan.
const PLAN_VERSION: u32 = 1;

/// The maximum number of lanes of a plan.
pub const LANES_MAX: u16 = 64;

/// A node of a plan. Its index in the plan is its `NodeId`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedNode {
    /// The node's name in the node list.
    pub name: String,
}

/// The plan of a copy: lanes over the blocks of one source. The first node is the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of the format; plans of other versions are refused.
    #[serde(deserialize_with = "known")]
    pub version: u32,
    /// The length of the source, and its division into blocks.
    pub layout: Layout,
    /// The nodes, head first; a node's index is its `NodeId`.
    pub nodes: Vec<PlannedNode>,
    /// The lanes; each block belongs to exactly one of them.
    pub lanes: Vec<Lane>,
    /// Whether the first node after the head in each lane reads the lane's blocks from the source
    /// itself, instead of receiving them from the head.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shared: bool,
    /// Why the lanes are trees, as text for the user; `None` if they are chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn known<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    match u32::deserialize(from)? {
        PLAN_VERSION => Ok(PLAN_VERSION),
        other => Err(de::Error::custom(format!(
            "the plan has version {other}, this garland reads version {PLAN_VERSION}: \
             use the garland that wrote it"
        ))),
    }
}

/// The error for an impossible plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The plan has no receivers.
    #[error("the node list is empty")]
    NoNodes,
    /// The plan has this number of lanes, which is out of range.
    #[error("the plan has {0} lanes: it must have 1 to 64")]
    Lanes(u16),
    /// The number of servers (first value) differs from the number of stripes (second value).
    #[error("{0} servers for {1} stripes: each stripe needs one server")]
    Servers(usize, u16),
}

fn check(names: &[String], rails: u16) -> Result<(), PlanError> {
    match (names, rails) {
        ([], _) => Err(PlanError::NoNodes),
        (_, 1..=LANES_MAX) => Ok(()),
        _ => Err(PlanError::Lanes(rails)),
    }
}

impl Plan {
    /// Returns the plan of a broadcast of `layout` from the head through `names`, in their order,
    /// over `rails` lanes. Lane k carries the k-th of every `rails` blocks, over the nodes' k-th
    /// address.
    ///
    /// # Errors
    /// If there are no nodes, or not 1 to 64 rails.
    pub fn broadcast(layout: Layout, names: &[String], rails: u16) -> Result<Self, PlanError> {
        check(names, rails)?;
        let end = layout.blocks();
        let route = Route::chain((0..).map(NodeId).take(names.len() + 1));
        let lane = |rail: u16| Lane {
            blocks: LaneBlocks { first: rail.into(), run: 1, step: rails.into(), end },
            rail,
            route: route.clone(),
        };
        Ok(Self::with_lanes(layout, names, (0..rails).map(lane).collect()))
    }

    /// Returns the plan of a broadcast of a source that some nodes can read themselves, such as a
    /// file on a shared file system. Up to `readers` of the nodes `names`, clamped to 1 to 64, each
    /// read one part of the source. A part is a lane from its reader through all nodes; the head
    /// sends the blocks that the reader cannot read. Lane k uses the nodes' address k modulo
    /// `rails`.
    ///
    /// # Errors
    /// If there are no nodes, or not 1 to 64 rails.
    pub fn shared(
        layout: Layout,
        names: &[String],
        readers: u16,
        rails: u16,
    ) -> Result<Self, PlanError> {
        let nodes = names.len();
        let most = layout.blocks().min(nodes as u64).max(1);
        let parts = most.min(u64::from(readers.clamp(1, 64)));
        let run = layout.blocks().div_ceil(parts).max(1);
        // Runs are rounded up to whole blocks, so fewer parts may be enough.
        let parts = layout.blocks().div_ceil(run).max(1);
        let plain = Self::broadcast(layout, names, rails)?;
        let lane = |part: u64| {
            let first = part as usize * nodes / parts as usize;
            let round = (first..nodes).chain(0..first).map(|place| place as u32 + 1);
            let end = layout.blocks().min((part + 1) * run);
            Lane {
                blocks: LaneBlocks { first: part * run, run, step: run, end },
                rail: (part % u64::from(rails)) as u16,
                route: Route::chain(std::iter::once(HEAD).chain(round.map(NodeId))),
            }
        };
        Ok(Self { lanes: (0..parts).map(lane).collect(), is_shared: true, ..plain })
    }

    /// Returns the blocks that a node reads from the source itself; `None` if it reads none.
    pub fn part_read_by(&self, node: NodeId) -> Option<LaneBlocks> {
        let lanes = self.lanes.iter().filter(|_| self.is_shared);
        let mut read = lanes.filter(|lane| lane.route.nodes().get(1) == Some(&node));
        read.next().map(|lane| lane.blocks)
    }

    /// Returns the plan of a copy from one node to another, or to itself, over `rails` lanes of one
    /// hop. The node `from` has the head's index.
    ///
    /// # Errors
    /// If there are not 1 to 64 rails.
    pub fn between(layout: Layout, from: &str, to: &str, rails: u16) -> Result<Self, PlanError> {
        let mut plan = Self::broadcast(layout, &[to.to_owned()], rails)?;
        plan.nodes[HEAD.index()].name = from.to_owned();
        Ok(plan)
    }

    /// Returns the plan of a copy of a file in `stripes` to the servers `names`, in their order.
    /// Each server has a lane of one hop with the units of its stripe. Lane k uses the servers'
    /// address k modulo `rails`.
    ///
    /// # Errors
    /// If there are no servers, fewer or more servers than stripes, or not 1 to 64 rails.
    pub fn striped(
        layout: Layout,
        stripes: Stripes,
        names: &[String],
        rails: u16,
    ) -> Result<Self, PlanError> {
        check(names, rails)?;
        if names.len() != usize::from(stripes.servers) {
            return Err(PlanError::Servers(names.len(), stripes.servers));
        }
        let lane = |number: u16| Lane {
            blocks: stripes.blocks(layout, number),
            rail: number % rails,
            route: Route::chain([HEAD, NodeId(u32::from(number) + 1)]),
        };
        Ok(Self::with_lanes(layout, names, (0..stripes.servers).map(lane).collect()))
    }

    /// Reverses all lanes, for a copy towards the head. All lanes must be chains.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        let back = |lane: Lane| Lane { route: lane.route.reversed(), ..lane };
        self.lanes = self.lanes.into_iter().map(back).collect();
        self
    }

    fn write_route(&self, f: &mut fmt::Formatter<'_>, route: &Route) -> fmt::Result {
        let name = |id: &NodeId| self.nodes[id.index()].name.as_str();
        if route.is_chain() {
            let names: Vec<&str> = route.nodes().iter().map(name).collect();
            return writeln!(f, "  {}", names.join(" -> "));
        }
        let mut fed: BTreeMap<NodeId, Vec<&str>> = BTreeMap::new();
        route.hops().for_each(|(near, far)| fed.entry(near).or_default().push(name(&far)));
        for near in route.nodes() {
            if let Some(far) = fed.get(near) {
                writeln!(f, "  {} -> {}", name(near), far.join(", "))?;
            }
        }
        Ok(())
    }

    /// Sets the length of a stream in bytes, once it is known, and ends the lanes there.
    #[must_use]
    pub fn ended_at(mut self, length: u64) -> Self {
        self.layout = self.layout.ended_at(length);
        let end = self.layout.blocks();
        self.lanes.iter_mut().for_each(|lane| lane.blocks.end = lane.blocks.end.min(end));
        self
    }

    /// Moves all blocks to the first lane, and removes the other lanes.
    #[must_use]
    pub fn by_one_lane(mut self) -> Self {
        self.lanes.truncate(1);
        self.lanes.iter_mut().for_each(|lane| lane.blocks = LaneBlocks::all(self.layout.blocks()));
        self
    }

    /// Splits each lane into `ways` lanes of the same route and address, which take its blocks in
    /// turn: so that more threads of a node serve the same wire. The plan is returned unchanged if
    /// it would have too many lanes, and if the blocks of a lane come in runs: a node stores or
    /// reads such a run itself.
    #[must_use]
    pub fn split(mut self, ways: u16) -> Self {
        let is_fine = self.lanes.iter().all(|lane| lane.blocks.run == 1);
        let all = self.lanes.len() * usize::from(ways);
        if !is_fine || !(1..=usize::from(LANES_MAX)).contains(&all) {
            return self;
        }
        let part = |lane: &Lane, number: u16| {
            let LaneBlocks { first, step, .. } = lane.blocks;
            let first = first + u64::from(number) * step;
            let step = step * u64::from(ways);
            Lane { blocks: LaneBlocks { first, step, ..lane.blocks }, ..lane.clone() }
        };
        let parts = |lane| (0..ways).map(move |number| part(lane, number));
        self.lanes = self.lanes.iter().flat_map(parts).collect();
        self
    }

    /// Adds nodes that joined during the copy, at the end of every lane.
    #[must_use]
    pub fn joined_by<'a>(mut self, names: impl Iterator<Item = &'a str>) -> Self {
        for name in names {
            let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
            self.nodes.push(PlannedNode { name: name.to_owned() });
            self.lanes.iter_mut().for_each(|lane| lane.route.lengthen(id));
        }
        self
    }

    fn with_lanes(layout: Layout, names: &[String], lanes: Vec<Lane>) -> Self {
        let node = |name: &str| PlannedNode { name: name.to_owned() };
        let nodes = std::iter::once(node("head")).chain(names.iter().map(|name| node(name)));
        let version = PLAN_VERSION;
        let nodes = nodes.collect();
        Self { version, layout, nodes, lanes, is_shared: false, reason: None }
    }

    /// Returns the number of bytes in the lanes that contain this node.
    pub fn bytes_of(&self, node: NodeId) -> u64 {
        let last = self.layout.blocks().saturating_sub(1);
        let short = u64::from(self.layout.block_size - self.layout.block_length(last));
        let bytes = |lane: &Lane| {
            let whole = lane.blocks.len() * u64::from(self.layout.block_size);
            let ends = lane.blocks.ordinal(last).is_some();
            whole - if ends { short } else { 0 }
        };
        self.lanes.iter().filter(|lane| lane.route.contains(node)).map(bytes).sum()
    }

    /// Returns the number of lanes that contain this node.
    pub fn lanes_of(&self, node: NodeId) -> usize {
        self.lanes.iter().filter(|lane| lane.route.contains(node)).count()
    }

    /// Iterates over the nodes other than the head, in the plan's order.
    pub fn receivers(&self) -> impl Iterator<Item = (NodeId, &PlannedNode)> {
        (0..).map(NodeId).zip(&self.nodes).skip(1)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { length, block_size, open } = self.layout;
        if open {
            writeln!(f, "unknown length, in blocks of {block_size} bytes")?;
        } else {
            writeln!(f, "{length} bytes in {} blocks of {block_size} bytes", self.layout.blocks())?;
        }
        for (number, lane) in self.lanes.iter().enumerate() {
            let LaneBlocks { first, run, step, .. } = lane.blocks;
            let last = first + run - 1;
            let of = if run > 1 { format!("{first}-{last}") } else { first.to_string() };
            let rail = lane.rail;
            let count = if open { String::new() } else { format!("{} ", lane.blocks.len()) };
            let read = if self.is_shared { ", read by the first node" } else { "" };
            writeln!(f, "lane {number}: {count}blocks ({of}, +{step}), rail {rail}{read}")?;
            self.write_route(f, &lane.route)?;
        }
        if let Some(reason) = &self.reason {
            writeln!(f, "shape: {reason}")?;
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
        let one = plan.by_one_lane();
        assert_eq!((one.lanes.len(), one.bytes_of(NodeId(2))), (1, 10_000));
    }

    #[test]
    fn split_lanes_carry_each_block_once_over_the_same_addresses() {
        let names = ["n1".to_owned(), "n2".to_owned()];
        for (rails, ways) in [(1, 4), (2, 3), (1, 1)] {
            let plan = Plan::broadcast(Layout::new(100 * 4096, 4096).unwrap(), &names, rails);
            let plan = plan.unwrap().split(ways);
            assert_eq!(plan.lanes.len(), usize::from(rails * ways));
            let mut carried: Vec<u64> =
                plan.lanes.iter().flat_map(|lane| lane.blocks.indices()).collect();
            carried.sort_unstable();
            assert_eq!(carried, (0..100).collect::<Vec<_>>());
            for rail in 0..rails {
                let of_rail = plan.lanes.iter().filter(|lane| lane.rail == rail);
                assert_eq!(of_rail.count(), usize::from(ways), "{plan}");
            }
        }
        let layout = Layout::new(28_000, 4096).unwrap();
        let names: Vec<String> = (1..=3).map(|number| format!("n{number}")).collect();
        let parts = Plan::shared(layout, &names, 16, 1).unwrap();
        assert_eq!(parts.clone().split(2), parts, "a reader's part stays whole");
        let wide = Plan::broadcast(layout, &names, 40).unwrap();
        assert_eq!(wide.clone().split(2), wide, "more than 64 lanes");
    }

    #[test]
    fn who_sees_the_source_reads_a_part_of_it_for_all() {
        let names: Vec<String> = (1..=3).map(|number| format!("n{number}")).collect();
        let layout = Layout::new(28_000, 4096).unwrap();
        let plan = Plan::shared(layout, &names, 16, 1).unwrap();
        insta::assert_snapshot!(plan, @r"
        28000 bytes in 7 blocks of 4096 bytes
        lane 0: 3 blocks (0-2, +3), rail 0, read by the first node
          head -> n1 -> n2 -> n3
        lane 1: 3 blocks (3-5, +3), rail 0, read by the first node
          head -> n2 -> n3 -> n1
        lane 2: 1 blocks (6-8, +3), rail 0, read by the first node
          head -> n3 -> n1 -> n2
        ");
        assert_eq!(plan.part_read_by(NodeId(2)), Some(plan.lanes[1].blocks));
        let names: Vec<String> = (1..=40).map(|number| format!("n{number}")).collect();
        for (blocks, readers) in [(1, 16), (5, 16), (16, 16), (17, 16), (1000, 16), (1000, 64)] {
            let layout = Layout::new(blocks * 4096, 4096).unwrap();
            let plan = Plan::shared(layout, &names, readers, 2).unwrap();
            assert!(plan.lanes.len() <= usize::from(readers).min(40), "{}", plan.lanes.len());
            let mut carried: Vec<u64> =
                plan.lanes.iter().flat_map(|lane| lane.blocks.indices()).collect();
            carried.sort_unstable();
            assert_eq!(carried, (0..blocks).collect::<Vec<_>>());
            assert!(plan.lanes.iter().all(|lane| lane.blocks.is_sound(blocks)));
            let reads = |id: &NodeId| plan.part_read_by(*id).is_some();
            assert_eq!((1..=40).map(NodeId).filter(reads).count(), plan.lanes.len());
        }
    }

    #[test]
    fn a_lane_may_lead_to_a_partner_or_to_oneself() {
        let layout = Layout::new(10_000, 4096).unwrap();
        for to in ["n2", "n1"] {
            let plan = Plan::between(layout, "n1", to, 1).unwrap();
            let names: Vec<&str> = plan.nodes.iter().map(|node| node.name.as_str()).collect();
            assert_eq!(names, ["n1", to]);
            assert_eq!(plan.lanes[0].route.nodes(), [HEAD, NodeId(1)]);
        }
    }

    #[test]
    fn stripes_are_lanes_of_one_hop_there_and_back() {
        let names = ["io1".to_owned(), "io2".to_owned()];
        let stripes = Stripes::new(50_000, 8192, 2).unwrap();
        let plan = Plan::striped(stripes.layout(4096).unwrap(), stripes, &names, 1).unwrap();
        insta::assert_snapshot!(plan, @r"
        50000 bytes in 13 blocks of 4096 bytes
        lane 0: 7 blocks (0-1, +4), rail 0
          head -> io1
        lane 1: 6 blocks (2-3, +4), rail 0
          head -> io2
        ");
        assert_eq!([1, 2].map(|node| plan.bytes_of(NodeId(node))), [25_424, 24_576]);
        let back = plan.clone().reversed();
        assert_eq!(back.lanes[1].route.nodes(), [NodeId(2), HEAD]);
        assert_eq!(back.reversed(), plan);
        let three = Stripes::new(50_000, 8192, 3).unwrap();
        let layout = three.layout(4096).unwrap();
        assert_eq!(Plan::striped(layout, three, &names, 1), Err(PlanError::Servers(2, 3)));
    }

    #[test]
    fn a_stream_s_plan_has_an_end_when_that_is_known() {
        let names = ["n1".to_owned()];
        let plan = Plan::broadcast(Layout::open_ended(4096).unwrap(), &names, 2).unwrap();
        insta::assert_snapshot!(plan, @r"
        unknown length, in blocks of 4096 bytes
        lane 0: blocks (0, +2), rail 0
          head -> n1
        lane 1: blocks (1, +2), rail 1
          head -> n1
        ");
        let ended = plan.ended_at(10_000);
        let known = Plan::broadcast(Layout::new(10_000, 4096).unwrap(), &names, 2).unwrap();
        assert_eq!(ended, known);
    }

    #[test]
    fn a_plan_can_be_saved_and_read_again() {
        let plan = Plan::broadcast(Layout::fitting(5), &["n1".to_owned()], 1).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
        let other = text.replace("\"version\":1", "\"version\":2");
        let error = serde_json::from_str::<Plan>(&other).unwrap_err().to_string();
        assert!(error.contains("the plan has version 2, this garland reads version 1"), "{error}");
    }

    #[test]
    fn nobody_and_no_rails_are_refused() {
        assert_eq!(Plan::broadcast(Layout::fitting(5), &[], 1), Err(PlanError::NoNodes));
        let one = ["a".to_owned()];
        assert_eq!(Plan::broadcast(Layout::fitting(5), &one, 0), Err(PlanError::Lanes(0)));
    }
}
