//! How long undisturbed copies take: the chain's length must hardly matter.

use garland_core::plan::{Layout, Plan};
use garland_sim::{NodeRun, Run, Schedule, World, simulate};

/// 1 Gbit/s in bytes a second.
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
