//! The duration of undisturbed copies, which must hardly depend on the length of the chain.

use std::time::Duration;

use garland_core::plan::{Layout, Pace, Plan};
use garland_simulation::{NodeRun, Run, Schedule, World, simulate};

/// 1 Gbit/s in bytes per second.
const GIGABIT: u64 = 125_000_000;

fn copy(length: u64, receivers: usize) -> Run {
    let names: Vec<String> = (1..=receivers).map(|n| format!("n{n}")).collect();
    let plan = Plan::broadcast(Layout::fitting(length), &names, 1).expect("a plan");
    let run = simulate(&plan, &World::uniform(receivers, GIGABIT), &Schedule::default());
    assert!(run.nodes.iter().all(NodeRun::is_ok), "every node has the file");
    assert_eq!((run.faults.len(), run.wasted), (0, 0));
    run
}

fn seconds(run: &Run) -> f64 {
    run.finished_ns.expect("the run isn't stuck") as f64 / 1e9
}

#[test]
fn twenty_nodes_take_as_long_as_the_wire() {
    let run = copy(1 << 30, 20);
    let limit = (1u64 << 30) as f64 / GIGABIT as f64;
    println!("1 GiB to 20 nodes: {:.3} s, the wire alone {limit:.3} s", seconds(&run));
    assert!(seconds(&run) <= limit * 1.01, "{:.3} s", seconds(&run));
    assert!(seconds(&run) >= limit, "nothing is faster than the wire");
}

#[test]
fn five_hundred_and_twelve_nodes_take_hardly_longer_than_two() {
    let two = seconds(&copy(10 << 30, 2));
    let many = copy(10 << 30, 512);
    let ratio = seconds(&many) / two;
    println!("10 GiB: T(512)/T(2) = {ratio:.4} ({two:.2} s), {} events", many.events);
    assert!(ratio <= 1.05, "T(512)/T(2) = {ratio:.4}");
}

/// The bound is that of a binomial tree in which each node sends everything to one other after
/// another: `ceil(log2 (n + 1)) (m/B + h)`; see `plan/shape.rs` for its origin.
#[test]
fn a_small_file_to_many_nodes_takes_a_tree() {
    let length = 1_000_000;
    let receivers = 512;
    let world = World::uniform(receivers, GIGABIT);
    let hop = Duration::from_nanos(world.latency_ns);
    let pace = Pace { rate: GIGABIT as f64, hop };
    let layout = Layout::fitting(length);
    let names: Vec<String> = (1..=receivers).map(|n| format!("n{n}")).collect();
    let chain = Plan::broadcast(layout, &names, 1).expect("a plan");
    let tree = pace.better_tree(layout, receivers).expect("a tree is better");
    let world = World { slice: layout.block_size / 4, ..world };
    let took = |plan: &Plan| {
        let run = simulate(plan, &world, &Schedule::default());
        assert!(run.nodes.iter().all(NodeRun::is_ok), "every node has the file");
        seconds(&run)
    };
    let by_chain = took(&chain);
    let by_tree = took(&chain.clone().shaped(tree.route).expect("a plan"));
    let rounds = f64::from(usize::BITS - receivers.leading_zeros());
    let bound = rounds * (length as f64 / GIGABIT as f64 + hop.as_secs_f64());
    println!("1 MB to 512: tree {by_tree:.4} s, chain {by_chain:.4} s, binomial {bound:.4} s");
    assert!(by_tree <= 1.5 * bound && by_tree < by_chain / 2.0);
}
