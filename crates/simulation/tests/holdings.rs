//! Nodes that have some of the blocks before the copy.

use garland_core::plan::{Layout, Plan};
use garland_simulation::{Run, Schedule, SinkKind, World, simulate};

const BLOCKS: u64 = 200;

fn run_with(has: &[u32]) -> Run {
    run_as(SinkKind::File, 1, has)
}

fn run_as(sink: SinkKind, lanes: u16, has: &[u32]) -> Run {
    let names: Vec<String> = (1..=has.len()).map(|n| format!("n{n}")).collect();
    let layout = Layout::new(BLOCKS * 4096, 4096).expect("4096 is allowed");
    let plan = Plan::broadcast(layout, &names, lanes).expect("there are nodes");
    let mut world = World::uniform(has.len(), 1_000_000);
    for (node, has) in world.nodes.iter_mut().zip(has) {
        (node.has, node.sink) = (*has, sink);
    }
    let run = simulate(&plan, &world, &Schedule { seed: 7, checked: true, mishaps: Vec::new() });
    for node in &run.nodes {
        assert!(node.is_ok() && node.identical == Some(true), "{node:?}");
    }
    run
}

#[test]
fn no_node_is_sent_blocks_that_it_has() {
    for has in [vec![500; 4], vec![0, 500, 1000, 970], vec![1000, 0, 1000], vec![1000; 20]] {
        let run = run_with(&has);
        assert_eq!(run.wasted, 0, "{has:?}");
    }
}

#[test]
fn a_node_with_some_of_a_tree_is_sent_the_rest_and_feeds_others() {
    for has in [vec![500; 4], vec![0, 500, 1000, 970], vec![1000, 0, 1000], vec![1000; 20]] {
        assert_eq!(run_as(SinkKind::Tree, 1, &has).wasted, 0, "{has:?}");
        // One lane may be ahead of blocks that another lane lacks; then some blocks are sent again.
        drop(run_as(SinkKind::Tree, 3, &has));
    }
}

#[test]
fn nodes_that_read_a_part_send_it_to_the_others_and_the_head_sends_nothing() {
    let layout = Layout::new(BLOCKS * 4096, 4096).expect("4096 is allowed");
    let names: Vec<String> = (1..=8).map(|n| format!("n{n}")).collect();
    let schedule = Schedule { seed: 7, checked: true, mishaps: Vec::new() };
    let took = |plan: &Plan, wire: u64| {
        let mut world = World::uniform(8, 1_000_000);
        world.link_rate = wire;
        let run = simulate(plan, &world, &schedule);
        for node in &run.nodes {
            assert!(node.is_ok() && node.identical == Some(true), "{node:?}");
        }
        assert_eq!(run.wasted, 0);
        run.finished_ns.expect("it ends")
    };
    let split = Plan::shared(layout, &names, 8, 1).expect("there are nodes");
    let chain = Plan::broadcast(layout, &names, 1).expect("there are nodes");
    // The head's own wire is almost unusable: sending everything over it would take a quarter of an
    // hour.
    let slow = took(&split, 1000);
    let usual = took(&chain, 1_000_000);
    assert!(slow < usual, "{slow} of {usual} ns");
}

#[test]
fn present_blocks_take_no_time() {
    let [nothing, half, all] = [0, 500, 1000].map(|has| {
        let run = run_with(&[has; 5]);
        run.finished_ns.expect("it ends")
    });
    // Not half: a node sometimes waits for blocks that the previous one lacks, too.
    assert!(half < nothing * 8 / 10, "{half} of {nothing} ns");
    assert!(all < nothing / 50, "{all} of {nothing} ns");
}

#[test]
fn a_node_in_the_middle_feeds_what_it_has_from_its_own_disk() {
    // The second node has the blocks that the last one lacks: the first hop carries nothing.
    let took = run_with(&[1000, 0]).finished_ns.expect("it ends");
    let whole = run_with(&[0, 0]).finished_ns.expect("it ends");
    assert!(took <= whole, "{took} of {whole} ns");
}
