//! Whether suggested plans are the best ones, over random networks: `cargo xtask truth suggest`.
//!
//! `GARLAND_TRUTH_RUNS` is the number of networks, `GARLAND_TRUTH_SEED` their seed.

use garland_core::plan::{Layout, Plan, RouteShape};
use garland_predict::{
    Broadcast, CopyTry, Costs, Measured, OrderChoice, RouteShapes, SEARCH_SHARE, SIMULATED_HOP,
    Suggestion, Wires, copy,
};
use garland_testkit::{Chance, env_number, random_network};
use garland_topology::file::parse;
use garland_topology::shapes::{Basis, switch};
use garland_topology::{Medium, Topology, Uplink};

/// The longest time that a suggested plan may take, relative to the best order that was found.
const NEAR: f64 = 1.05;

/// The number of networks unless it is given.
const RUNS: u64 = 6;

/// The number of random orders with which plans for more nodes than six are compared.
const ORDERS: usize = 500;

/// A network, and the nodes in a random order: the head first, then the others as they are listed.
struct Case {
    topology: Topology,
    places: Vec<usize>,
    length: u64,
    about: String,
}

impl Case {
    fn draw(seed: u64, number: u64) -> Self {
        let mut chance = Chance::new(seed, number);
        let text = random_network(&mut chance);
        let read = parse(&text, "x.toml").unwrap_or_else(|error| panic!("{text}{error}"));
        let topology = read.topology;
        let mut places: Vec<usize> = (0..topology.nodes.len()).collect();
        chance.shuffle(&mut places[1..]);
        let length = 1 << (16 + chance.below(13));
        let shape = text.lines().nth(2).unwrap_or_default();
        let about = format!("{number}: {shape}, {} nodes, {length} bytes", places.len() - 1);
        Self { topology, places, length, about }
    }

    fn broadcast(&self) -> Broadcast<'_> {
        Broadcast {
            wires: Wires::Drawn(&self.topology),
            places: &self.places,
            length: self.length,
            costs: Costs::USUAL,
            order: OrderChoice::Any(Vec::new()),
            route: RouteShapes::Any,
            lanes: vec![1],
            block_size: Layout::fitting(self.length).block_size,
            any_block: true,
        }
    }

    /// Returns the time of the plan of the best chain or tree among these orders.
    fn best_of(&self, orders: &[Vec<usize>]) -> f64 {
        let nodes = self.places.len() - 1;
        let broadcast = self.broadcast();
        let block = Layout::fitting(self.length).block_size;
        let of_fanouts = [1, 2, 3, 4, nodes].map(RouteShape::of_fanout);
        let routes = || of_fanouts.into_iter().chain([RouteShape::Twins]);
        let plans = orders.iter().flat_map(|order| routes().map(move |route| (order, route)));
        let runs = plans.filter_map(|(order, route)| broadcast.run(order, (route, 1), block).ok());
        runs.map(|run| run.seconds).fold(f64::INFINITY, f64::min)
    }
}

fn every_order(count: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![vec![]];
    for node in 0..count {
        let with = |order: Vec<usize>| {
            (0..=order.len()).map(move |at| [&order[..at], &[node], &order[at..]].concat())
        };
        orders = orders.into_iter().flat_map(with).collect();
    }
    orders
}

fn random_orders(count: usize, chance: &mut Chance) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut next = || {
        chance.shuffle(&mut order);
        order.clone()
    };
    (0..ORDERS).map(|_| next()).collect()
}

#[test]
fn suggested_plans_are_near_the_best_of_all_orders() {
    let runs = env_number("GARLAND_TRUTH_RUNS").unwrap_or(RUNS);
    let seed = env_number("GARLAND_TRUTH_SEED").unwrap_or(1);
    let mut missed = Vec::new();
    for run in 1..=runs {
        let case = Case::draw(seed, run);
        let nodes = case.places.len() - 1;
        let suggested = case.broadcast().suggest().unwrap().remove(0);
        let orders = match nodes {
            ..=6 => every_order(nodes),
            _ => random_orders(nodes, &mut Chance::new(seed, run)),
        };
        let best = case.best_of(&orders);
        let listed = case.best_of(&[(0..nodes).collect()]);
        let share = suggested.run.seconds / best;
        println!(
            "{}: as listed {listed:.3} s, best of {} {best:.3} s, suggested {:.3} s ({share:.3}), {}",
            case.about,
            orders.len(),
            suggested.run.seconds,
            suggested.route
        );
        if share > NEAR {
            missed.push(case.about.clone());
        }
        assert_eq!(again(&case, &suggested), suggested.run.seconds, "{}", case.about);
    }
    assert!(missed.is_empty(), "seed {seed}: {missed:?}");
}

/// Returns the time of a suggested plan, simulated as a plan.
fn again(case: &Case, suggested: &Suggestion) -> f64 {
    let name = |place: &usize| case.topology.nodes[*place].name.clone();
    let names: Vec<String> = case.places[1..].iter().map(name).collect();
    let plan: Plan = suggested.plan(case.length, &names).expect("it can be planned");
    let place = |name: &str| case.topology.node(name).expect("it is a node");
    let places: Vec<usize> = std::iter::once(case.places[0])
        .chain(plan.receivers().map(|(_, node)| place(&node.name)))
        .collect();
    let wires = Wires::Drawn(&case.topology);
    copy(&CopyTry { wires, plan: &plan, places: &places, costs: Costs::USUAL }).unwrap().seconds
}

/// Two switches with a trunk of 20 Mbit/s between them; nodes with odd numbers are on the other
/// one.
fn trunk(nodes: u32) -> Topology {
    let rate = |text: &str| text.parse().expect("a rate");
    let mut topology = switch(&Basis::numbered("try", nodes).at(rate("100mbit")), None);
    topology.media.push(Medium { name: "other".to_owned(), ..topology.media[0].clone() });
    topology.uplinks.push(Uplink { from: 0, to: 1, rate: Some(rate("20mbit")) });
    topology.nics.iter_mut().for_each(|nic| nic.medium = nic.node % 2);
    topology
}

fn broadcast<'a>(wires: Wires<'a>, places: &'a [usize], length: u64) -> Broadcast<'a> {
    Broadcast {
        wires,
        places,
        length,
        costs: Costs::USUAL,
        order: OrderChoice::Any(Vec::new()),
        route: RouteShapes::Any,
        lanes: vec![1],
        block_size: Layout::fitting(length).block_size,
        any_block: true,
    }
}

fn suggest(wires: Wires<'_>, nodes: usize) -> Suggestion {
    let places: Vec<usize> = (0..=nodes).collect();
    broadcast(wires, &places, 8 << 20).suggest().unwrap().remove(0)
}

#[test]
fn a_copy_does_not_wait_for_a_search_that_takes_longer_than_it_saves() {
    let rate = "1gbit".parse().expect("a rate");
    let plain = switch(&Basis::numbered("try", 21).at(rate), None);
    let crossed = trunk(21);
    let places = (0..=20).collect::<Vec<_>>();
    let plans = |topology: &Topology, length| {
        broadcast(Wires::Drawn(topology), &places, length).suggest_in_time().unwrap().plans
    };
    let is_searched = |topology: &Topology, length| plans(topology, length).len() > 1;
    assert!(!is_searched(&plain, 3) && !is_searched(&plain, 10 << 20));
    assert!(!is_searched(&crossed, 3) && is_searched(&crossed, 1 << 20));
    let usual = plans(&plain, 10 << 20).remove(0);
    assert!(usual.is_listed() && usual.route == RouteShape::Chain);
}

#[test]
fn a_search_takes_at_most_a_tenth_of_what_it_can_save() {
    let rate = "1gbit".parse().expect("a rate");
    let listed: Vec<usize> = (0..20).collect();
    let places: Vec<usize> = (0..=20).collect();
    let mut searched = 0;
    for topology in [switch(&Basis::numbered("try", 21).at(rate), None), trunk(21)] {
        for (route, shape) in [
            (RouteShapes::Any, RouteShape::Chain),
            (RouteShapes::Tree, RouteShape::Tree(2)),
            (RouteShapes::Only(RouteShape::Twins), RouteShape::Twins),
        ] {
            for length in [64 << 10, 1 << 20, 20 << 20, 256 << 20] {
                let broadcast =
                    Broadcast { route, ..broadcast(Wires::Drawn(&topology), &places, length) };
                let found = broadcast.suggest_in_time().unwrap();
                let run = broadcast.run(&listed, (shape, 1), broadcast.block_size).unwrap();
                let takes = found.hops as f64 * SIMULATED_HOP;
                let is_searched = found.plans.len() > 1;
                searched += u32::from(is_searched);
                // What is not searched is at most the shapes that were asked for, as listed.
                let fits = takes <= SEARCH_SHARE * (run.seconds - run.set_up);
                assert!(fits || !is_searched, "{route:?}, {length} bytes: {takes} s of {run:?}");
                assert!(is_searched || found.hops <= 8 * 20, "{route:?}: {}", found.hops);
            }
        }
    }
    assert!(searched > 4, "{searched}");
}

#[test]
fn a_trunk_between_names_that_alternate_is_crossed_once() {
    let best = f64::from(8 << 20) * 8.0 / (20e6 * 1448.0 / 1538.0);
    for nodes in [6, 12, 40] {
        let topology = trunk(nodes);
        let seconds = suggest(Wires::Drawn(&topology), nodes as usize).run.seconds;
        assert!((1.0..1.05).contains(&(seconds / best)), "{nodes} nodes: {seconds} of {best}");
    }
}

#[test]
fn measured_rates_give_the_order_that_the_wires_would_give() {
    let nodes: usize = 8;
    let topology = trunk(8);
    let rate = |from: usize, to: usize| {
        let bits = garland_topology::bounds::max_min(&topology, &[(from, to)])[0];
        // The head was not measured. The others were, within 3 %.
        (from != to && from > 0 && to > 0)
            .then(|| bits / 8.0 * (1.0 - ((from + to) % 4) as f64 / 100.0))
    };
    let rates = (0..=nodes).map(|from| (0..=nodes).map(|to| rate(from, to)).collect()).collect();
    let names = (0..=nodes).map(|node| format!("n{node}")).collect();
    let measured = Measured::new(names, vec![rates]);
    let suggested = suggest(Wires::Measured(&measured), nodes);
    let crossings = suggested.order.windows(2).filter(|ends| ends[0] % 2 != ends[1] % 2).count();
    assert_eq!(crossings, 1, "{suggested:?}");
    let best = f64::from(8 << 20) * 8.0 / (20e6 * 1448.0 / 1538.0);
    assert!((suggested.run.seconds / best - 1.0).abs() < 0.05, "{suggested:?}");
    let alike = vec![vec![Some(1e7); nodes + 1]; nodes + 1];
    let names = (0..=nodes).map(|node| format!("n{node}")).collect();
    let equal = suggest(Wires::Measured(&Measured::new(names, vec![alike])), nodes);
    assert!(equal.is_listed() && equal.route == RouteShape::Chain, "{equal:?}");
}

#[test]
fn two_thousand_nodes_are_suggested_an_order_too() {
    let nodes: u32 = 2000;
    let topology = trunk(nodes);
    let suggested = suggest(Wires::Drawn(&topology), nodes as usize);
    let best = f64::from(8 << 20) * 8.0 / (20e6 * 1448.0 / 1538.0);
    assert!(suggested.run.stream < best * 4.0, "{}", suggested.run.seconds);
}

#[test]
fn twins_are_suggested_where_a_chain_is_long_and_a_tree_sends_too_much() {
    let rate = "1gbit".parse().expect("a rate");
    for (nodes, route) in [(8, RouteShape::Chain), (500, RouteShape::Twins)] {
        let topology = switch(&Basis::numbered("try", nodes).at(rate), None);
        let places: Vec<usize> = (0..=nodes as usize).collect();
        let broadcast = Broadcast {
            wires: Wires::Drawn(&topology),
            places: &places,
            length: 64 << 20,
            costs: Costs::USUAL,
            order: OrderChoice::Any(Vec::new()),
            route: RouteShapes::Any,
            lanes: vec![1],
            block_size: Layout::fitting(64 << 20).block_size,
            any_block: false,
        };
        let plans = broadcast.suggest().unwrap();
        assert_eq!(plans[0].route, route, "{nodes} nodes");
        let of =
            |route: RouteShape| plans.iter().find(|plan| plan.route == route).unwrap().run.seconds;
        println!(
            "{nodes}: chain {}, tree {}, twins {}",
            of(RouteShape::Chain),
            of(RouteShape::Tree(2)),
            of(RouteShape::Twins)
        );
    }
}
