//! The search for the fastest plan of a broadcast: orders, chains, trees and twins, lanes, and
//! sizes of blocks, all judged by [`copy`].
//!
//! The best order of a chain is a Hamiltonian path (NP-hard). Up to [`EXACT`] nodes all orders are
//! tried. Otherwise a few orders that keep neighbours together are improved by random changes that
//! 2-opt and or-opt make (Croes 1958, Or 1976), for a number of trials that does not grow with the
//! number of nodes. The search is deterministic.

use std::cmp::Ordering;

use garland_core::plan::{LANES_MAX, Layout, Plan, RouteShape};
use garland_core::splitmix::SplitMix;
use garland_topology::NodeId;

use super::copies::{CopyRun, CopyTry, Costs, copy};
use super::network::{Network, NoWay, Use};
use super::processors::Work;
use super::wires::Wires;

/// The maximum number of nodes of which all orders are tried.
const EXACT: usize = 6;

/// The number of hops that are simulated to improve the orders of one shape, for each second that
/// the copy takes: a search must not take longer than it saves. It takes about a twentieth of the
/// copy.
const HOPS: f64 = 30_000.0;

/// The times of copies, in seconds, between which the number of hops grows.
const SEARCHED: (f64, f64) = (0.05, 1.0);

/// The time that a processor of today takes to simulate one hop of a copy, in seconds.
pub const SIMULATED_HOP: f64 = 10e-6;

/// The number of copies that are simulated before orders are improved: shapes, orders to begin
/// with, and sizes of blocks.
const COPIES: usize = 60;

/// The search before a copy takes at most this share of the time that it can save.
pub const SEARCH_SHARE: f64 = 0.1;

/// The maximum number of nodes of which all pairs are compared.
const NEAREST: usize = 64;

/// A shape's orders are improved if its best known order takes at most this many times the time of
/// the fastest plan so far.
const WORTH: f64 = 2.0;

/// The shapes of routes that are tried, but for the star.
const ROUTES: [RouteShape; 7] = [
    RouteShape::Chain,
    RouteShape::Twins,
    RouteShape::Tree(2),
    RouteShape::Tree(3),
    RouteShape::Tree(4),
    RouteShape::Tree(6),
    RouteShape::Tree(8),
];

/// The block sizes that are tried, in bytes.
const BLOCKS: [u32; 4] = [64 << 10, 256 << 10, 1 << 20, 4 << 20];

/// A plan is preferred to a simpler plan only if it takes less than this share of the simpler
/// plan's time.
const BETTER: f64 = 0.98;

/// A tree, or two, are preferred to a chain only below this share: a chain loads the network less.
const BETTER_TREE: f64 = 0.96;

/// Other sizes of blocks are preferred to the usual one only below this share: what nodes have of a
/// file is known by blocks of one size, so it should be the same in each copy.
const BETTER_BLOCK: f64 = 0.9;

/// A broadcast of which the fastest plan is searched.
#[derive(Clone, Debug)]
pub struct Broadcast<'a> {
    /// What connects the nodes.
    pub wires: Wires<'a>,
    /// The indices of the nodes in `wires`: the head, then the others as they are listed.
    pub places: &'a [NodeId],
    /// The number of bytes.
    pub length: u64,
    /// The costs in addition to wires and disks.
    pub costs: Costs,
    /// The only order that is tried, and orders that the search begins with.
    pub order: OrderChoice,
    /// The shapes of routes that are tried.
    pub route: RouteShapes,
    /// The numbers of lanes that are tried, the usual one first.
    pub lanes: Vec<u16>,
    /// The usual size of blocks in bytes.
    pub block_size: u32,
    /// Whether other sizes of blocks are tried, too.
    pub any_block: bool,
}

/// The orders that a search may choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderChoice {
    /// As the nodes are listed.
    Listed,
    /// Any; the search begins with these, as indices into the listed nodes, among others.
    Any(Vec<Vec<usize>>),
}

/// The shapes of routes that a search may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteShapes {
    /// Chains, trees, and twins.
    Any,
    /// Trees.
    Tree,
    /// This one.
    Only(RouteShape),
}

/// A plan that was simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// The order of the nodes, as indices into the listed ones.
    pub order: Vec<usize>,
    /// The shape of the routes.
    pub route: RouteShape,
    /// The number of lanes, of which twins make two each.
    pub lanes: u16,
    /// The size of a block in bytes.
    pub block_size: u32,
    /// The simulated copy.
    pub run: CopyRun,
}

/// What a search found, and its effort.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    /// The best plan of each shape and block size, the best of all first.
    pub plans: Vec<Suggestion>,
    /// The number of hops that were simulated.
    pub hops: usize,
}

/// The shape of a plan: that of its routes, and lanes.
type Shape = (RouteShape, u16);

/// The merit of an order: its time in seconds, and how busy all resources are, which decides among
/// orders with the same bottleneck.
type Merit = (f64, f64);

impl Suggestion {
    /// Returns this plan for nodes with these names, as they are listed; `None` if there is no such
    /// plan.
    #[must_use]
    pub fn plan(&self, length: u64, names: &[String]) -> Option<Plan> {
        let layout = Layout::new(length, self.block_size).ok()?;
        let names: Vec<String> = self.order.iter().map(|&at| names[at].clone()).collect();
        Plan::broadcast(layout, &names, self.lanes).ok()?.shaped(self.route).ok()
    }

    /// Whether the nodes have the order in which they are listed.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.order.is_sorted()
    }
}

impl Broadcast<'_> {
    /// Returns the best plan of each shape and block size, the best of all first. Of plans that
    /// take nearly as long as the fastest one, that is the simplest: a chain, as listed as far as
    /// possible, the usual lanes and blocks.
    ///
    /// # Errors
    /// If no plan reaches all nodes.
    pub fn suggest(&self) -> Result<Vec<Suggestion>, NoWay> {
        Ok(self.search(usize::MAX)?.plans)
    }

    /// Searches the best plan as [`suggest`](Self::suggest) does, for a copy that waits for it: the
    /// search takes at most [`SEARCH_SHARE`] of what it can save. If that is too little to try
    /// shapes and orders, the only plan is the usual one, as listed, unless that reaches not all
    /// nodes.
    ///
    /// # Errors
    /// If no plan reaches all nodes.
    pub fn suggest_in_time(&self) -> Result<Searched, NoWay> {
        let Ok(usual) = self.usual() else { return self.search(usize::MAX) };
        let hops = self.worthwhile_hops(&usual.plans[0].run);
        let least = COPIES * self.lanes.len() * usual.plans[0].order.len();
        if least > hops {
            return Ok(usual);
        }
        self.search(hops)
    }

    /// Returns how many hops are simulated in the time that a search may take, if a copy without
    /// it were `run`.
    #[must_use]
    pub fn worthwhile_hops(&self, run: &CopyRun) -> usize {
        let saving = (run.seconds - run.set_up - self.floor()).max(0.0);
        (SEARCH_SHARE * saving / SIMULATED_HOP) as usize
    }

    /// Searches the best plan, with so many simulated hops at most if they suffice to try all
    /// shapes.
    fn search(&self, hops_max: usize) -> Result<Searched, NoWay> {
        let begun = self.begun()?;
        let (_, order, shape) = &begun[0];
        let nodes = order.len();
        let mut hops = begun.len() * nodes;
        // Each shape is also tried as listed, and with a better order.
        let shapes = self.routes().len() * self.lanes.len();
        let mut left = hops_max.saturating_sub(hops + 3 * shapes * nodes);
        // Where nothing can be much faster, as in most copies, no search takes time.
        let stream = self.run(order, *shape, self.block_size)?.stream;
        let is_searched =
            matches!(self.order, OrderChoice::Any(_)) && stream * BETTER > self.floor();
        let mut fastest = begun.first().map_or(f64::INFINITY, |(merit, ..)| merit.0);
        let mut plans = Vec::new();
        let mut seen = Vec::new();
        for (merit, order, shape) in begun {
            if seen.contains(&shape) {
                continue;
            }
            seen.push(shape);
            let mut orders = vec![order];
            if is_searched && merit.0 <= fastest * WORTH {
                // The faster a shape is as it begins, the more of the effort is for it.
                let trials = self.trials(merit, nodes).min(left / 2 / nodes);
                let (better, improved) = self.improved(merit, orders[0].clone(), shape, trials);
                hops += trials * nodes;
                left -= trials * nodes;
                fastest = fastest.min(better.0);
                orders.push(improved);
            }
            orders.push(self.listed());
            for (at, order) in orders.iter().enumerate() {
                if !orders[..at].contains(order) {
                    let all = BLOCKS.len() * nodes;
                    let is_any = self.any_block && all <= left;
                    let with_blocks = self.with_blocks(order, shape, is_any);
                    hops += with_blocks.len() * nodes;
                    left -= if is_any { all } else { 0 };
                    plans.extend(with_blocks);
                }
            }
        }
        Ok(Searched { plans: self.ranked(plans), hops })
    }

    /// Returns the usual plan as listed: of the shapes that may be chosen a chain, or else the
    /// fastest one.
    ///
    /// # Errors
    /// If it does not reach all nodes.
    fn usual(&self) -> Result<Searched, NoWay> {
        let order = self.listed();
        let lanes = self.lanes[0];
        let block_size = self.block_size;
        let routes = match self.route {
            RouteShapes::Any => vec![RouteShape::Chain],
            RouteShapes::Tree | RouteShapes::Only(_) => self.routes(),
        };
        let hops = routes.len() * order.len();
        let mut fastest: Option<Suggestion> = None;
        let mut lost = None;
        for route in routes {
            match self.run(&order, (route, lanes), block_size) {
                Ok(run) if fastest.as_ref().is_none_or(|it| run.seconds < it.run.seconds) => {
                    let order = order.clone();
                    fastest = Some(Suggestion { order, route, lanes, block_size, run });
                }
                Ok(_) => {}
                Err(way) => lost = Some(way),
            }
        }
        let plan = fastest.ok_or_else(|| lost.unwrap_or_else(no_nodes))?;
        Ok(Searched { plans: vec![plan], hops })
    }

    /// Returns all shapes with the orders that a search begins with, the fastest first.
    fn begun(&self) -> Result<Vec<(Merit, Vec<usize>, Shape)>, NoWay> {
        let orders = self.beginnings();
        let mut begun = Vec::new();
        let mut lost = None;
        for route in self.routes() {
            for shape in self.lanes.iter().map(|&lanes| (route, lanes)) {
                for order in &orders {
                    match self.merit(order, shape) {
                        Ok(merit) => begun.push((merit, order.clone(), shape)),
                        Err(way) => lost = Some(way),
                    }
                }
            }
        }
        // The sort is stable, so the simplest shape stays first among equals.
        begun.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
        if begun.is_empty() { Err(lost.unwrap_or_else(no_nodes)) } else { Ok(begun) }
    }

    /// Simulates the plan with this order, route, number of lanes and block size.
    ///
    /// # Errors
    /// When there is no route for a hop.
    pub fn run(&self, order: &[usize], shape: Shape, block: u32) -> Result<CopyRun, NoWay> {
        let (route, lanes) = shape;
        let layout = Layout::new(self.length, block).map_err(|_| no_nodes())?;
        let names = vec![String::new(); order.len()];
        let plan = Plan::broadcast(layout, &names, lanes).map_err(|_| no_nodes())?;
        let plan = plan.shaped(route).map_err(|_| no_nodes())?;
        let places: Vec<NodeId> = std::iter::once(self.places[0])
            .chain(order.iter().map(|&at| self.places[at + 1]))
            .collect();
        copy(&CopyTry { wires: self.wires, plan: &plan, places: &places, costs: self.costs })
    }

    fn listed(&self) -> Vec<usize> {
        (0..self.places.len() - 1).collect()
    }

    /// Returns the shapes of routes to try, the usual one first.
    fn routes(&self) -> Vec<RouteShape> {
        let nodes = self.places.len() - 1;
        let star = (nodes > 1).then_some(RouteShape::Tree(nodes));
        let lanes = self.lanes.iter().copied().max().unwrap_or(1);
        let is_possible = |route: &RouteShape| match route {
            RouteShape::Chain => true,
            RouteShape::Tree(fanout) => *fanout < nodes,
            RouteShape::Twins => nodes > 2 && lanes <= LANES_MAX / 2,
        };
        let all = ROUTES.into_iter().filter(is_possible).chain(star);
        let is_tree = |route: &RouteShape| nodes == 1 || matches!(route, RouteShape::Tree(_));
        match self.route {
            // Who limits links means nodes, and twins have two links from and to a node.
            RouteShapes::Any if self.costs.link.is_finite() => {
                all.filter(|route| *route != RouteShape::Twins).collect()
            }
            RouteShapes::Any => all.collect(),
            RouteShapes::Tree => all.filter(is_tree).collect(),
            RouteShapes::Only(RouteShape::Tree(fanout)) => {
                vec![RouteShape::of_fanout(fanout.clamp(1, nodes.max(1)))]
            }
            RouteShapes::Only(route) => vec![route],
        }
    }

    fn merit(&self, order: &[usize], shape: Shape) -> Result<Merit, NoWay> {
        let run = self.run(order, shape, self.block_size)?;
        let load = run.busy.iter().map(|(_, share)| share * share).sum::<f64>().sqrt();
        Ok((run.seconds, load * run.stream))
    }

    /// Returns the orders that a search begins with.
    fn beginnings(&self) -> Vec<Vec<usize>> {
        let mut all = vec![self.listed()];
        if let OrderChoice::Any(others) = &self.order {
            let numbers = self.wires.neighbourhoods(self.places);
            let mut near = self.listed();
            near.sort_by_key(|&at| (numbers[at + 1] != numbers[0], numbers[at + 1]));
            let nearest = (self.places.len() <= NEAREST).then(|| self.nearest()).flatten();
            for order in others.iter().cloned().chain([near]).chain(nearest) {
                if !all.contains(&order) {
                    all.push(order);
                }
            }
        }
        all
    }

    /// Returns the order in which each node is followed by the node to which a byte costs least,
    /// the time on all wires together; `None` if there is a pair without a route.
    fn nearest(&self) -> Option<Vec<usize>> {
        let mut network = Network::new();
        let mut left = self.listed();
        let mut at = self.places[0];
        let mut order = Vec::new();
        while !left.is_empty() {
            let hops: Vec<_> = left.iter().map(|&next| (at, self.places[next + 1])).collect();
            let uses = self.wires.uses(&mut network, &hops, None).ok()?;
            let cost = |&(place, weight): &Use| weight / network.capacity_of(place);
            let costs: Vec<f64> = uses.iter().map(|uses| uses.iter().map(cost).sum()).collect();
            let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
            let next = left.remove(costs.iter().position(|cost| *cost <= least * 1.0001)?);
            at = self.places[next + 1];
            order.push(next);
        }
        Some(order)
    }

    /// Returns a time in which no plan can send everything, in seconds: each node receives all
    /// bytes from some node, and nodes that share processors do the same work in every plan.
    fn floor(&self) -> f64 {
        let mut network = Network::new();
        let mut slowest: f64 = 0.0;
        for &to in self.places.iter().skip(1).take_while(|_| self.places.len() <= NEAREST) {
            let others = self.places.iter().filter(|from| **from != to);
            let hops: Vec<_> = others.map(|&from| (from, to)).collect();
            let Ok(uses) = self.wires.uses(&mut network, &hops, None) else { return 0.0 };
            let disk = self.wires.disk(&mut network, to);
            let cost = |&(place, weight): &Use| weight / network.capacity_of(place);
            let costs = uses.iter().map(|uses| uses.iter().map(cost).fold(0.0, f64::max));
            let least = costs.fold(f64::INFINITY, f64::min);
            let least = least * self.costs.payload.ratio;
            slowest = slowest.max(least).max(disk.as_ref().map_or(0.0, cost));
        }
        let lanes = f64::from(self.lanes.iter().max().copied().unwrap_or(1));
        let feeds = |at: usize| usize::from(at + 1 < self.places.len());
        let work = self.places.iter().enumerate();
        let work = work.map(|(at, &node)| self.wires.work(node, at == 0, feeds(at)));
        let processors = self.costs.processors.filter(|processors| processors.is_shared);
        let payload = self.costs.payload;
        let work: Vec<Work> = work.collect();
        let uses = processors.map(|shared| shared.uses(&mut network, &work, &payload));
        let busy = uses.and_then(|uses| uses.last().copied());
        let busy = busy.map_or(0.0, |(place, weight)| weight / network.capacity_of(place));
        slowest = slowest.max(payload.ratio / self.costs.link);
        let blocks = self.length.div_ceil(u64::from(self.block_size)) as f64;
        self.length as f64 * busy.max(slowest / lanes) + self.costs.block * blocks / lanes
    }

    /// Returns how many orders of a shape are tried to improve one with this merit.
    fn trials(&self, merit: Merit, nodes: usize) -> usize {
        let hops = HOPS * merit.0.clamp(SEARCHED.0, SEARCHED.1);
        if nodes <= EXACT { (1..=nodes).product() } else { (hops as usize / nodes).max(8) }
    }

    /// Searches orders of a shape that are better than `order`, with so many trials.
    fn improved(
        &self,
        merit: Merit,
        order: Vec<usize>,
        shape: Shape,
        trials: usize,
    ) -> (Merit, Vec<usize>) {
        let nodes = order.len();
        // All orders of a star send the same bytes over the same wires.
        if nodes < 2 || matches!(shape.0, RouteShape::Tree(fanout) if fanout >= nodes) {
            return (merit, order);
        }
        let all = if nodes <= EXACT { all_orders(nodes) } else { Vec::new() };
        // If there is no time for all of them, those near the best one are tried.
        let all = if trials < all.len() { Vec::new() } else { all };
        let mut random = SplitMix(nodes as u64);
        let mut best = (merit, order);
        for trial in 0..trials {
            let next = all.get(trial).cloned().unwrap_or_else(|| changed(&best.1, &mut random));
            // Equally good orders are taken, too: the way to a better one may go through them.
            if let Ok(merit) = self.merit(&next, shape)
                && merit <= best.0
            {
                best = (merit, next);
            }
        }
        best
    }

    /// Returns the plans with this order and shape, and the usual block size or, if `is_any`, all.
    fn with_blocks(&self, order: &[usize], shape: Shape, is_any: bool) -> Vec<Suggestion> {
        let (route, lanes) = shape;
        let others = BLOCKS.into_iter().filter(|size| is_any && *size != self.block_size);
        let blocks = std::iter::once(self.block_size).chain(others);
        let of = |block_size: u32| {
            let run = self.run(order, shape, block_size).ok()?;
            Some(Suggestion { order: order.to_vec(), route, lanes, block_size, run })
        };
        blocks.filter_map(of).collect()
    }

    /// Sorts plans by their times, and puts the best of all first.
    fn ranked(&self, mut plans: Vec<Suggestion>) -> Vec<Suggestion> {
        plans.sort_by(|a, b| a.run.seconds.total_cmp(&b.run.seconds));
        let mut fastest = plans[0].run.seconds;
        let is_usual = |plan: &Suggestion| plan.block_size == self.block_size;
        let usual = plans.iter().find(|plan| is_usual(plan)).map(|plan| plan.run.seconds);
        let stays = usual.is_some_and(|seconds| seconds * BETTER_BLOCK <= fastest);
        fastest = usual.filter(|_| stays).unwrap_or(fastest);
        let effort = |plan: &Suggestion| {
            let others = plan.lanes != self.lanes[0];
            let block = plan.block_size != self.block_size;
            let leaps = plan.order.windows(2).filter(|ends| ends[1] < ends[0]).count();
            (
                plan.route != RouteShape::Chain,
                leaps,
                others,
                block,
                ROUTES.iter().position(|route| *route == plan.route),
            )
        };
        let is_near = |plan: &Suggestion| {
            let better = if plan.route == RouteShape::Chain { BETTER_TREE } else { BETTER };
            plan.run.seconds * better <= fastest
        };
        let may_be = |plan: &Suggestion| is_near(plan) && (!stays || is_usual(plan));
        let near = plans.iter().enumerate().filter(|(_, plan)| may_be(plan));
        let first = near.min_by_key(|(at, plan)| (effort(plan), *at)).map_or(0, |(at, _)| at);
        plans[..=first].rotate_right(1);
        plans
    }
}

/// The error if there is nobody to reach.
fn no_nodes() -> NoWay {
    NoWay { from: "the head".to_owned(), to: "its nodes".to_owned() }
}

/// Returns all orders of `count` nodes in lexicographic order.
fn all_orders(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        let longer = |order: Vec<usize>| {
            let left = (0..count).filter(|node| !order.contains(node)).collect::<Vec<_>>();
            left.into_iter().map(move |node| [&order[..], &[node]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// Returns an order with one random change: a part is reversed, a part is moved, or two nodes are
/// exchanged.
fn changed(order: &[usize], random: &mut SplitMix) -> Vec<usize> {
    let mut order = order.to_vec();
    let one = random.below(order.len());
    let other = random.below(order.len());
    let low = one.min(other);
    let high = one.max(other);
    match random.below(3) {
        0 => order[low..=high].reverse(),
        1 => {
            let length = 1 + random.below((order.len() - high).min(3));
            order[low..high + length].rotate_right(length);
        }
        _ => order.swap(low, high),
    }
    order
}
