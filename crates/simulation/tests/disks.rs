//! Slow disks: one slows its neighbours down only briefly, then its node is detached.

use garland_core::plan::{Layout, Plan};
use garland_simulation::{NodeRun, NodeWorld, Run, Schedule, World, simulate};

const GIGABIT: u64 = 125_000_000;

/// Copies 4 GiB over 1 Gbit/s to ten nodes; the disks of the `slow` ones have a tenth of that rate.
fn copy(slow: &[usize]) -> Run {
    copy_in(|place, node| {
        if slow.contains(&place) {
            node.disk_rate = GIGABIT / 10;
        }
    })
}

/// Copies 4 GiB over 1 Gbit/s to ten nodes that `make` configures, by index from 1.
fn copy_in(make: impl Fn(usize, &mut NodeWorld)) -> Run {
    let names: Vec<String> = (1..=10).map(|n| format!("n{n}")).collect();
    let plan = Plan::broadcast(Layout::fitting(4 << 30), &names, 1).expect("a plan");
    let mut world = World::uniform(10, GIGABIT);
    (1..).zip(&mut world.nodes).for_each(|(place, node)| make(place, node));
    let run = simulate(&plan, &world, &Schedule::default());
    assert!(run.nodes.iter().all(NodeRun::is_ok), "every node has the file in the end: {run:?}");
    run
}

/// Returns the seconds until the last of the nodes that are not `slow` had the file.
fn median_of_others(run: &Run, slow: &[usize]) -> f64 {
    let nodes = (1..).zip(&run.nodes).filter(|(place, _)| !slow.contains(place));
    let last = nodes.filter_map(|(_, node)| node.committed_ns).max().expect("they have the file");
    last as f64 / 1e9
}

#[test]
fn one_slow_disk_does_not_slow_the_others_down() {
    let undisturbed = median_of_others(&copy(&[]), &[]);
    for place in [1, 5, 10] {
        let run = copy(&[place]);
        let others = median_of_others(&run, &[place]);
        let slow = &run.nodes[place - 1];
        let alone = slow.committed_ns.expect("it has the file") as f64 / 1e9;
        println!(
            "slow disk at {place}: the others {others:.2} s, it {alone:.2} s, undisturbed {undisturbed:.2} s; {} blocks twice",
            run.wasted
        );
        assert!(others <= undisturbed * 1.05, "{others:.2} s instead of {undisturbed:.2} s");
        assert!(slow.detached && alone > others);
        // The disk, not the chain, determines when the node is done.
        let disk = (4u64 << 30) as f64 / (GIGABIT / 10) as f64;
        assert!(alone <= disk * 1.05, "{alone:.2} s with a disk that takes {disk:.2} s");
        assert_eq!(run.nodes.iter().filter(|node| node.detached).count(), 1);
    }
}

#[test]
fn beyond_the_quota_the_copy_has_the_rate_of_the_disks() {
    let run = copy(&[3, 7]);
    assert_eq!(run.nodes.iter().filter(|node| node.detached).count(), 1, "one may be detached");
    let disk = (4u64 << 30) as f64 / (GIGABIT / 10) as f64;
    let took = run.finished_ns.expect("it isn't stuck") as f64 / 1e9;
    println!("two slow disks: {took:.2} s, a disk takes {disk:.2} s");
    assert!(took <= disk * 1.1, "{took:.2} s");
}

fn detached(run: &Run) -> usize {
    run.nodes.iter().filter(|node| node.detached).count()
}

#[test]
fn a_machine_that_lacks_cpu_time_has_no_slow_disk() {
    for starved in [&[4][..], &[1, 5, 10], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]] {
        let run = copy_in(|place, node| {
            if starved.contains(&place) {
                node.cpu_rate = GIGABIT / 4;
            }
        });
        assert_eq!(detached(&run), 0, "{starved:?} are starved");
    }
}

#[test]
fn a_slow_disk_is_found_among_machines_that_lack_cpu_time() {
    let run = copy_in(|place, node| {
        node.cpu_rate = GIGABIT * 3 / 4;
        if place == 6 {
            node.disk_rate = GIGABIT / 10;
        }
    });
    assert!(run.nodes[5].detached && detached(&run) == 1);
    let others = median_of_others(&run, &[6]);
    let cpu = (4u64 << 30) as f64 / (GIGABIT * 3 / 4) as f64;
    assert!(others <= cpu * 1.08, "{others:.2} s where the CPUs take {cpu:.2} s");
}

#[test]
fn no_disk_is_called_slow_if_all_are() {
    let run = copy_in(|place, node| node.disk_rate = GIGABIT / 3 + place as u64 * 100_000);
    assert_eq!(detached(&run), 0);
    let took = run.finished_ns.expect("it isn't stuck") as f64 / 1e9;
    let disk = (4u64 << 30) as f64 / (GIGABIT / 3) as f64;
    assert!(took <= disk * 1.05, "{took:.2} s with disks that take {disk:.2} s");
}
