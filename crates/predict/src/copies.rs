//! Simulates a copy with its plan: each lane is one flow over its whole route.

use std::collections::BTreeMap;

use garland_core::plan::{Lane, NodeId as PlanNode, Plan};
use garland_topology::NodeId;

use super::fluid::Fluid;
use super::network::{Network, NoWay, Use};
use super::payload::Payload;
use super::processors::{ProcessorLimit, Processors, Work};
use super::wires::Wires;

/// The number of slices in which a relay forwards a block.
const SLICES: u32 = 4;
/// The maximum length of a slice in bytes.
const SLICE_MAX: u32 = 64 << 10;

/// The number of bytes on the wire per byte of payload, with headers and acknowledgements.
const FRAMED: f64 = 1.08;

/// The round trips over a hop before its first byte: TCP connects, both ends greet each other, and
/// the receiver answers what it is asked to take. All hops do it at the same time.
const OPENING: f64 = 3.0;

/// The bytes that TCP sends before the first acknowledgement: ten full segments (RFC 6928).
const FIRST_WINDOW: f64 = 14_480.0;

/// The costs of a copy in addition to wires and disks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The time of starting, greeting and ending that does not depend on the number of nodes, in
    /// seconds.
    pub fixed: f64,
    /// The additional time of starting and ending per node, in seconds.
    pub each: f64,
    /// The time from the arrival of data at a node to its forwarding, in seconds.
    pub hop: f64,
    /// The rate at which the head can read and seal, in bytes per second; infinite if not limited.
    pub seal: f64,
    /// The rate at which a node can receive, open and write, in bytes per second; infinite if not
    /// limited.
    pub open: f64,
    /// The time that a block takes at both ends in addition to its bytes, for its header and system
    /// calls, in seconds.
    pub block: f64,
    /// The processors; `None` if they do not limit the copy.
    pub processors: Option<Processors>,
    /// The form of the bytes on wires.
    pub payload: Payload,
    /// The limit of each link between two nodes in bytes per second; infinite if there is none.
    pub link: f64,
}

impl Costs {
    /// The costs by which plans are compared: an opened block is written at 2 GB/s.
    pub const USUAL: Self = Self {
        fixed: 0.0,
        each: 0.0,
        hop: 1e-4,
        seal: f64::INFINITY,
        open: 2e9,
        block: 20e-6,
        processors: None,
        payload: Payload::USUAL,
        link: f64::INFINITY,
    };
}

impl Default for Costs {
    /// Returns costs of 0 except for a tenth of a millisecond per hop.
    fn default() -> Self {
        Self { open: f64::INFINITY, block: 0.0, ..Self::USUAL }
    }
}

/// The input of a simulated copy.
#[derive(Clone, Copy, Debug)]
pub struct CopyTry<'a> {
    /// What connects the nodes.
    pub wires: Wires<'a>,
    /// The plan of the copy.
    pub plan: &'a Plan,
    /// The indices of the plan's nodes in `wires`, in the order of the plan.
    pub places: &'a [NodeId],
    /// The costs in addition to wires and disks.
    pub costs: Costs,
}

/// The result of a simulated copy. All times are in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyRun {
    /// The duration of the copy: `set_up` + `fill` + `stream` + `drain`.
    pub seconds: f64,
    /// The time for starting and ending, from the costs.
    pub set_up: f64,
    /// The time until the first slice reaches the last node.
    pub fill: f64,
    /// The time from the end of `fill` until all bytes have been sent.
    pub stream: f64,
    /// The time in which a node receives, opens and writes the last block.
    pub drain: f64,
    /// The name of the busiest resource; `None` if no resource has a rate.
    pub limit: Option<String>,
    /// The name of each resource and the fraction of `stream` in which it was busy, 0 to 1; the
    /// busiest first.
    pub busy: Vec<(String, f64)>,
}

/// The use of wires and disks by a lane's route.
struct RouteUse {
    /// The use of each resource per byte that passes through the lane.
    all: Vec<Use>,
    /// How often a byte that is sent passes the medium that it passes most often, at least once.
    passes: f64,
}

/// Simulates a copy.
///
/// # Errors
/// When there is no route for a hop.
pub fn copy(copy: &CopyTry<'_>) -> Result<CopyRun, NoWay> {
    let mut network = Network::colliding();
    let routes: Vec<RouteUse> = copy
        .plan
        .lanes
        .iter()
        .map(|lane| copy.route(&mut network, lane))
        .collect::<Result<_, _>>()?;
    let layout = &copy.plan.layout;
    let all = copy.plan.lanes.iter().map(|lane| lane.blocks.len()).sum::<u64>().max(1) as f64;
    let bytes = |lane: &Lane| layout.length as f64 * lane.blocks.len() as f64 / all;
    let busy: Vec<Vec<Use>> =
        copy.plan.lanes.iter().map(|lane| copy.work(&mut network, lane)).collect();
    let mut fluid = Fluid::new(&network);
    for (number, (lane, uses)) in copy.plan.lanes.iter().zip(&routes).enumerate() {
        fluid.flow(number, bytes(lane), [&uses.all[..], &busy[number]].concat());
    }
    while fluid.next(None).is_some() {}
    let busy = fluid.busy(fluid.now);
    let flowing = fluid.now;
    let slow_starts = copy
        .plan
        .lanes
        .iter()
        .map(|lane| slow_start(bytes(lane), flowing, 2.0 * copy.farthest(lane)));
    let blocks = copy.costs.block * all / copy.plan.lanes.len().max(1) as f64;
    let stream = flowing + slow_starts.fold(0.0, f64::max) + blocks;
    let limit = busy.first().filter(|(_, share)| *share > 0.0).map(|(name, _)| name.clone());
    let fill = copy.fill(&network, &routes);
    let block = f64::from(layout.block_size).min(layout.length as f64);
    let drain = if copy.costs.open.is_finite() { block / copy.costs.open } else { 0.0 };
    let receivers = copy.plan.nodes.len().saturating_sub(1) as f64;
    let set_up = copy.costs.fixed + copy.costs.each * receivers;
    Ok(CopyRun {
        seconds: set_up + fill + stream + drain,
        set_up,
        fill,
        stream,
        drain,
        limit,
        busy,
    })
}

/// Returns the rates at which the processors of each machine would limit a copy if nothing else
/// did, the lowest first; none without a model of processors.
#[must_use]
pub fn processor_limits(copy: &CopyTry<'_>) -> Vec<ProcessorLimit> {
    let Some(processors) = copy.costs.processors else { return Vec::new() };
    let all = copy.plan.lanes.iter().map(|lane| lane.blocks.len()).sum::<u64>().max(1) as f64;
    // The seconds for which each machine is busy per byte of the copy.
    let mut busy: BTreeMap<Option<usize>, f64> = BTreeMap::new();
    for lane in &copy.plan.lanes {
        let nodes = lane.route.nodes();
        let share = lane.blocks.len() as f64 / all;
        for used in processors.costs_of(&copy.lane_work(lane), &copy.costs.payload) {
            let node = used.node.map(|at| nodes[at].index());
            *busy.entry(node).or_default() += share * used.cost / used.count;
        }
    }
    let mut limits: Vec<ProcessorLimit> = busy
        .into_iter()
        .filter(|(_, seconds)| *seconds > 0.0)
        .map(|(node, seconds)| ProcessorLimit { node, rate: 1.0 / seconds })
        .collect();
    limits.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    limits
}

impl CopyTry<'_> {
    /// Returns the use of wires and disks by a lane's route.
    fn route(&self, network: &mut Network, lane: &Lane) -> Result<RouteUse, NoWay> {
        let place = |node: PlanNode| self.places[node.index()];
        let hops: Vec<(NodeId, NodeId)> =
            lane.route.hops().map(|(near, far)| (place(near), place(far))).collect();
        let several = self.plan.lanes.iter().any(|lane| lane.rail > 0);
        let rail = several.then_some(usize::from(lane.rail));
        let taken = self.wires.uses(network, &hops, rail)?;
        let mut all = vec![0.0; network.len()];
        for (place, weight) in taken.into_iter().flatten() {
            all[place] += weight;
        }
        let passes = (all.iter().copied().fold(1.0, f64::max) / FRAMED).round().max(1.0);
        all.iter_mut().for_each(|weight| *weight *= self.costs.payload.ratio);
        let mut uses: Vec<Use> =
            all.into_iter().enumerate().filter(|(_, weight)| *weight > 0.0).collect();
        if self.costs.link.is_finite() && !hops.is_empty() {
            // Each hop of a lane has a link of its own, and all of them carry the same bytes.
            let link = network.add("limit of links", self.costs.link);
            uses.push((link, self.costs.payload.ratio));
        }
        let first = place(lane.route.first());
        let nodes = std::iter::once(first).chain(hops.iter().map(|(_, far)| *far));
        uses.extend(nodes.filter_map(|node| self.wires.disk(network, node)));
        // Reading and sealing on the head, and opening on the nodes, limit a lane like a wire.
        let slowest = self.costs.seal.min(self.costs.open);
        if slowest.is_finite() {
            let name = if self.costs.seal <= self.costs.open {
                "reading and sealing"
            } else {
                "receiving and opening"
            };
            uses.push((network.shared(name, slowest), 1.0));
        }
        Ok(RouteUse { all: uses, passes })
    }

    /// Returns the use of processors per byte that passes through a lane's route.
    fn work(&self, network: &mut Network, lane: &Lane) -> Vec<Use> {
        let Some(processors) = self.costs.processors else { return Vec::new() };
        processors.uses(network, &self.lane_work(lane), &self.costs.payload)
    }

    /// Returns the work of each node of a lane, in the order of the route.
    fn lane_work(&self, lane: &Lane) -> Vec<Work> {
        let mut feeds = vec![0; self.places.len()];
        lane.route.hops().for_each(|(near, _)| feeds[near.index()] += 1);
        let work = |node: &PlanNode| {
            let reads = *node == lane.route.first();
            self.wires.work(self.places[node.index()], reads, feeds[node.index()])
        };
        lane.route.nodes().iter().map(work).collect()
    }

    /// Returns the time until the first slice has passed the longest route, in seconds.
    fn fill(&self, network: &Network, routes: &[RouteUse]) -> f64 {
        let layout = &self.plan.layout;
        // Slices are cut from compressed blocks; here they have the length of what they contain.
        let ratio = self.costs.payload.ratio;
        let sent = f64::from(layout.block_size) * ratio / f64::from(SLICES);
        let slice = sent.clamp(1.0, f64::from(SLICE_MAX)) / ratio;
        let slice = slice.min(layout.length as f64);
        let of_lane = |(lane, uses): (&Lane, &RouteUse)| {
            let slowest =
                uses.all.iter().map(|&(place, weight)| weight / network.capacity()[place]);
            let byte = slowest.fold(0.0, f64::max);
            // While a chain fills, its hops do not yet compete for a shared medium. A head or relay
            // of a tree sends each slice several times from the start.
            let shared = if lane.route.is_chain() { uses.passes } else { 1.0 };
            let delay = self.delay(lane) + OPENING * 2.0 * self.farthest(lane);
            lane.route.depth() as f64 * (slice * byte / shared + self.costs.hop) + delay
        };
        self.plan.lanes.iter().zip(routes).map(of_lane).fold(0.0, f64::max)
    }

    /// Returns the delay of a lane's route in seconds, one way: from its first node to the one that
    /// it takes longest to.
    fn delay(&self, lane: &Lane) -> f64 {
        let hops: Vec<_> = lane.route.hops().collect();
        let delays = self.delays(&hops);
        // A node is after the one that feeds it.
        let mut away = vec![0.0; self.places.len()];
        for ((near, far), delay) in hops.iter().zip(delays) {
            away[far.index()] = away[near.index()] + delay;
        }
        away.into_iter().fold(0.0, f64::max)
    }

    /// Returns the longest delay of a hop of a lane in seconds, one way.
    fn farthest(&self, lane: &Lane) -> f64 {
        self.delays(&lane.route.hops().collect::<Vec<_>>()).into_iter().fold(0.0, f64::max)
    }

    /// Returns the delay of each of `hops` in seconds, one way.
    fn delays(&self, hops: &[(PlanNode, PlanNode)]) -> Vec<f64> {
        let place = |node: PlanNode| self.places[node.index()];
        let hops: Vec<_> = hops.iter().map(|&(near, far)| (place(near), place(far))).collect();
        self.wires.delays(&hops)
    }
}

/// Returns the time by which TCP's slow start makes a stream of `bytes` longer that takes `seconds`
/// at its full rate. In each round trip of `round_trip` seconds it sends twice as much as before.
/// Links of relays open their windows while the one before them does, so this counts once.
fn slow_start(bytes: f64, seconds: f64, round_trip: f64) -> f64 {
    if seconds <= 0.0 {
        return 0.0;
    }
    let rate = bytes / seconds;
    let mut window = FIRST_WINDOW;
    let mut sent = 0.0;
    let mut passed = 0.0;
    while window < rate * round_trip && sent + window < bytes {
        sent += window;
        passed += round_trip;
        window *= 2.0;
    }
    (passed - sent / rate).max(0.0)
}

#[cfg(test)]
mod tests {
    use garland_core::plan::Layout;
    use garland_core::units::Nanos;
    use garland_topology::Topology;
    use garland_topology::bounds::max_min;
    use garland_topology::shapes::{Basis, Between, hub, rail, star, switch};

    use super::super::processors::CpuCosts;
    use super::*;

    fn plan_for(length: u64, nodes: u32, lanes: u16) -> Plan {
        let names: Vec<String> = (1..=nodes).map(|node| format!("n{node}")).collect();
        Plan::broadcast(Layout::fitting(length), &names, lanes).unwrap()
    }

    fn run(topology: &Topology, plan: &Plan) -> CopyRun {
        let places: Vec<NodeId> = (0..plan.nodes.len()).collect();
        let wires = Wires::Drawn(topology);
        copy(&CopyTry { wires, plan, places: &places, costs: Costs::default() }).unwrap()
    }

    fn basis(nodes: u32) -> Basis {
        Basis::numbered("try", nodes).at("100mbit".parse().unwrap())
    }

    #[test]
    fn a_chain_is_as_fast_as_one_wire_and_a_hub_carries_every_hop() {
        let switched = switch(&basis(5), None);
        let alone = 100e6 * 8.0 / max_min(&switched, &[(0, 1)])[0];
        let chain = run(&switched, &plan_for(100_000_000, 5, 1));
        assert!((chain.stream / alone - 1.0).abs() < 1e-6, "{chain:?}");
        let shared = run(&hub(&basis(5)), &plan_for(100_000_000, 5, 1));
        let of_hub = 100e6 * 8.0 / max_min(&hub(&basis(5)), &[(0, 1)])[0];
        assert!((shared.stream / (5.0 * of_hub) - 1.0).abs() < 1e-6, "{shared:?}");
        assert_eq!(shared.limit.as_deref(), Some("hub hub"));
    }

    #[test]
    fn compressed_bytes_take_less_of_wires_but_not_of_disks() {
        let mut topology = switch(&basis(4), None);
        let plan = plan_for(100_000_000, 4, 1);
        let places: Vec<NodeId> = (0..=4).collect();
        let run = |topology: &Topology, costs: Costs| {
            let wires = Wires::Drawn(topology);
            copy(&CopyTry { wires, plan: &plan, places: &places, costs }).unwrap()
        };
        let usual = run(&topology, Costs::default());
        let packed = Payload { ratio: 0.25, ..Payload::USUAL };
        let costs = Costs { payload: packed, ..Costs::default() };
        let fast = run(&topology, costs);
        assert!((usual.stream / fast.stream - 4.0).abs() < 1e-6, "{usual:?} {fast:?}");
        assert!((fast.fill / usual.fill - 1.0).abs() < 0.01, "{usual:?} {fast:?}");
        topology.nodes[2].disk = Some("20MB/s".parse().unwrap());
        assert!((run(&topology, costs).stream - 5.0).abs() < 1e-6);
    }

    #[test]
    fn delays_cost_round_trips_and_each_hop_of_a_chain_once() {
        let far = |millis: u64, nodes: u32| {
            let mut topology = switch(&basis(nodes), None);
            topology.media[0].delay = Nanos::from_millis(millis);
            topology
        };
        let seconds = |millis: u64, nodes: u32, length: u64| {
            run(&far(millis, nodes), &plan_for(length, nodes, 1)).seconds
        };
        // Three round trips, and the way to the last node.
        for nodes in [1, 3] {
            let more = seconds(100, nodes, 3) - seconds(0, nodes, 3);
            assert!((more - (0.6 + 0.1 * f64::from(nodes))).abs() < 1e-6, "{more}");
        }
        // Eight round trips until the window has the 2.35 MB that fill the wire, in which 3.7 MB
        // are sent.
        let more = seconds(100, 1, 100_000_000) - seconds(0, 1, 100_000_000);
        assert!((more - (0.6 + 0.1 + 1.6 - 0.314)).abs() < 0.01, "{more}");
        // Over a millisecond the window is open at once.
        let more = seconds(1, 1, 100_000_000) - seconds(0, 1, 100_000_000);
        assert!(more < 0.01, "{more}");
    }

    #[test]
    fn limited_links_limit_each_lane() {
        let topology = rail(&basis(3), 2);
        let costs = Costs { link: 2e6, ..Costs::default() };
        for lanes in [1, 2] {
            let plan = plan_for(1 << 26, 3, lanes);
            let wires = Wires::Drawn(&topology);
            let places = [0, 1, 2, 3];
            let run = copy(&CopyTry { wires, plan: &plan, places: &places, costs }).unwrap();
            let stream = f64::from(1 << 26) / 2e6 / f64::from(lanes);
            assert!((run.stream / stream - 1.0).abs() < 1e-6, "{run:?}");
            assert_eq!(run.limit.as_deref(), Some("limit of links"));
        }
    }

    #[test]
    fn processors_limit_a_copy_as_far_as_it_is_told_to_limit_it() {
        let topology = switch(&basis(2), None);
        let costs = CpuCosts { copy: 1e-9, hash: 2e-9, seal: 3e-9, stream: 4e-9 };
        let plan = plan_for(100_000_000, 2, 1);
        let of = |processors: Processors| {
            let costs = Costs { processors: Some(processors), ..Costs::default() };
            let wires = Wires::Drawn(&topology);
            processor_limits(&CopyTry { wires, plan: &plan, places: &[0, 1, 2], costs })
        };
        let apart = of(Processors { costs, count: 2.0, is_shared: false });
        // The node in the middle receives and sends.
        assert_eq!(apart.iter().map(|limit| limit.node).collect::<Vec<_>>(), [1, 0, 2].map(Some));
        assert!((apart[0].rate / (2.0 / 10e-9) - 1.0).abs() < 1e-9, "{apart:?}");
        let shared = of(Processors { costs, count: 2.0, is_shared: true });
        assert_eq!(shared.iter().map(|limit| limit.node).collect::<Vec<_>>(), [None]);
        assert!(shared[0].rate < apart[0].rate / 3.0, "{shared:?}");
    }

    #[test]
    fn a_tree_sends_everything_as_often_as_it_branches() {
        let topology = star(&basis(4), Between::Isolated);
        let each = run(&topology, &plan_for(100_000_000, 4, 1).branching(4));
        let alone = 100e6 * 8.0 / max_min(&topology, &[(0, 1)])[0];
        assert!((each.stream / alone - 1.0).abs() < 1e-6, "a star's wires are apart: {each:?}");
        let switched = run(&switch(&basis(4), None), &plan_for(100_000_000, 4, 1).branching(4));
        assert!((switched.stream / alone / 4.0 - 1.0).abs() < 1e-2, "{switched:?}");
        assert_eq!(switched.limit.as_deref(), Some("n0 eth0 out"));
        let places = [0, 1, 2, 3, 4];
        let chain = plan_for(1000, 4, 1);
        let wires = Wires::Drawn(&topology);
        let lost = CopyTry { wires, plan: &chain, places: &places, costs: Costs::default() };
        assert_eq!(copy(&lost), Err(NoWay { from: "n1".to_owned(), to: "n2".to_owned() }));
    }

    #[test]
    fn two_rails_are_twice_as_fast_and_a_slow_disk_is_named() {
        let one = run(&rail(&basis(6), 1), &plan_for(1 << 28, 6, 1));
        let mut topology = rail(&basis(6), 2);
        let two = run(&topology, &plan_for(1 << 28, 6, 2));
        assert!((one.stream / two.stream - 2.0).abs() < 0.01, "{one:?} {two:?}");
        topology.nodes[3].disk = Some("2MB/s".parse().unwrap());
        let slow = run(&topology, &plan_for(1 << 28, 6, 2));
        assert_eq!(slow.limit.as_deref(), Some("disk of n3"));
        assert!((slow.stream - f64::from(1 << 28) / 2e6).abs() < 1e-3);
    }

    #[test]
    fn ten_thousand_nodes_are_no_work() {
        let names: Vec<String> = (1..=10_000).map(|node| format!("n{node}")).collect();
        let plan = Plan::broadcast(Layout::fitting(1 << 30), &names, 1).unwrap();
        let basis = Basis::numbered("try", 10_000).at("1gbit".parse().unwrap());
        let chain = run(&switch(&basis, None), &plan);
        let wire = f64::from(1 << 30) / 117.7e6;
        assert!((chain.stream / wire - 1.0).abs() < 0.01, "{}", chain.stream);
        // 10 000 hops of a slice of 64 KiB, each with the delay of a node.
        let fill = 10_000.0 * (65_536.0 / 117.7e6 + 1e-4);
        assert!((chain.fill / fill - 1.0).abs() < 0.01, "{}", chain.fill);
    }
}
