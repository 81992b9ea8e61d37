//! Nodes with slow wires or machines: they cost the others little, and no node is called slow if
//! all are alike.

use garland_core::plan::{Layout, Plan};
use garland_simulation::{NodeRun, NodeWorld, Run, Schedule, World, simulate};

/// 1 Gbit/s in bytes per second.
const GIGABIT: u64 = 125_000_000;

const NODES: usize = 20;

/// Copies 2 GiB to twenty nodes; `make` changes some of them.
fn copy(make: impl Fn(usize, &mut NodeWorld)) -> Run {
    let names: Vec<String> = (1..=NODES).map(|n| format!("n{n}")).collect();
    let plan = Plan::broadcast(Layout::fitting(2 << 30), &names, 1).expect("a plan");
    let mut world = World::uniform(NODES, GIGABIT);
    (1..).zip(&mut world.nodes).for_each(|(number, node)| make(number, node));
    let run = simulate(&plan, &world, &Schedule::default());
    assert!(run.nodes.iter().all(NodeRun::is_ok), "every node has the file in the end");
    run
}

fn slow(run: &Run) -> Vec<usize> {
    let nodes = (1..).zip(&run.nodes);
    nodes.filter(|(_, node)| node.slow.is_some()).map(|(number, _)| number).collect()
}

/// Returns the seconds until the last node, not counting those of `but`, had all blocks.
fn others(run: &Run, but: &[usize]) -> f64 {
    let nodes = (1..).zip(&run.nodes).filter(|(number, _)| !but.contains(number));
    let last = nodes.map(|(_, node)| node.complete_ns.expect("it has all")).max();
    last.expect("there are others") as f64 / 1e9
}

#[test]
fn a_wire_at_a_tenth_costs_the_others_a_twentieth_at_most() {
    let quiet = others(&copy(|_, _| ()), &[]);
    for at in [1, 7, NODES] {
        let run = copy(|number, node| {
            if number == at {
                node.wire_rate = GIGABIT / 10;
            }
        });
        let took = others(&run, &[at]);
        println!("n{at} at a tenth: the others {took:.2} s, else {quiet:.2} s");
        assert_eq!(slow(&run), [at], "n{at}");
        assert!(took <= quiet * 1.05, "n{at}: {took:.2} s instead of {quiet:.2} s");
    }
}

#[test]
fn two_slow_nodes_are_both_found() {
    let run = copy(|number, node| {
        if [5, 6].contains(&number) {
            node.wire_rate = GIGABIT / 10;
        }
    });
    assert_eq!(slow(&run), [5, 6]);
}

#[test]
fn a_node_behind_a_slow_one_is_not_called_slow() {
    for at in 1..NODES {
        let run = copy(|number, node| {
            if number == at {
                node.wire_rate = GIGABIT / 5;
            }
        });
        assert_eq!(slow(&run), [at]);
    }
}

#[test]
fn a_machine_that_decrypts_slowly_is_found_as_well() {
    let run = copy(|number, node| {
        if number == 9 {
            node.cpu_rate = GIGABIT / 8;
        }
    });
    assert_eq!(slow(&run), [9]);
}

#[test]
fn no_node_is_slow_if_all_are_alike() {
    assert_eq!(slow(&copy(|_, _| ())), [0; 0]);
    // A little slower than the rest is not slow.
    let run = copy(|number, node| {
        if number == 4 {
            node.wire_rate = GIGABIT * 7 / 10;
        }
    });
    assert_eq!(slow(&run), [0; 0]);
    // All machines lack CPU time.
    assert_eq!(slow(&copy(|_, node| node.cpu_rate = GIGABIT / 8)), [0; 0]);
}

#[test]
fn a_head_that_is_slower_than_its_nodes_tries_none_of_them() {
    let run = copy(|_, node| node.wire_rate = 4 * GIGABIT);
    assert_eq!(slow(&run), [0; 0]);
    assert_eq!(run.wasted, 0, "blocks that were sent twice");
}
