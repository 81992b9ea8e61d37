//! Streams: nodes that pass bytes on in order, in whatever order several lanes deliver them. The
//! simulator itself checks the order of writes.

use garland_core::plan::{Layout, Plan};
use garland_simulation::{Mishap, NodeRun, Run, Schedule, SinkKind, What, World, simulate};

const RATE: u64 = 1_000_000;
const BLOCKS: u64 = 300;
const BLOCK: u64 = 4096;

/// Copies 300 blocks, which take one second, to `receivers` streams over `lanes` lanes. Their
/// writers have 24 buffers each, like an agent's for blocks of 1 MiB; `change` modifies the world.
fn copy(receivers: usize, lanes: u16, mishaps: Vec<Mishap>, change: impl Fn(&mut World)) -> Run {
    let names: Vec<String> = (1..=receivers).map(|n| format!("n{n}")).collect();
    let layout = Layout::new(BLOCKS * BLOCK, 4096).expect("a layout");
    let plan = Plan::broadcast(layout, &names, lanes).expect("a plan");
    let mut world = World::uniform(receivers, RATE / u64::from(lanes));
    world.slice = 512;
    world.room = 24;
    world.limit_ns = 600_000_000_000;
    world.nodes.iter_mut().for_each(|node| node.sink = SinkKind::Stream);
    change(&mut world);
    let run = simulate(&plan, &world, &Schedule { seed: 3, checked: true, mishaps });
    let whole = run.nodes.iter().all(|node| node.is_ok() && node.identical == Some(true));
    assert!(whole, "every stream is whole: {run:?}");
    run
}

fn seconds(run: &Run) -> f64 {
    run.finished_ns.expect("it isn't stuck") as f64 / 1e9
}

fn at(at: u64, what: What) -> Mishap {
    Mishap { at, what }
}

#[test]
fn several_lanes_make_one_stream_and_no_block_is_sent_twice() {
    let one = seconds(&copy(5, 1, Vec::new(), |_| {}));
    for lanes in [2, 3, 5] {
        let run = copy(5, lanes, Vec::new(), |_| {});
        assert_eq!(run.wasted, 0, "{lanes} lanes");
        assert!(seconds(&run) < one * 1.1, "{lanes} lanes: {} s, one: {one} s", seconds(&run));
    }
}

#[test]
fn a_lane_that_runs_ahead_waits_for_the_other() {
    // Each break costs the lane a third of a second, in which the other lane could send all its
    // blocks.
    let breaks = [1, 5, 9].map(|tenths| at(tenths * 100_000_000, What::Break(1, 3)));
    let run = copy(5, 2, breaks.to_vec(), |_| {});
    assert!(run.wasted < BLOCKS / 2, "{} blocks came twice or for nothing", run.wasted);
    assert!(seconds(&run) < 2.5, "{} s", seconds(&run));
}

#[test]
fn repairs_in_one_lane_are_not_stuck_behind_the_other() {
    // A changed block in each lane, at neighbouring nodes, so that each node waits for another lane
    // than the next one.
    for first in [10, 20, 51, 120] {
        for (near, far) in [(1, 2), (2, 1), (2, 3), (4, 5)] {
            let flips = [(first, near), (first + 7, far), (first + 30, near), (first + 31, far)];
            let flips = flips.map(|(index, to)| at(0, What::Flip { index, to }));
            let run = copy(5, 2, flips.to_vec(), |_| {});
            assert!(seconds(&run) < 1.4, "{first}, {near}, {far}: {} s", seconds(&run));
            // With fewer buffers than a repair needs, blocks are dropped and sent again.
            let run = copy(5, 2, flips.to_vec(), |world| world.room = 3);
            assert!(seconds(&run) < 4.0, "{first}, {near}, {far}: {} s", seconds(&run));
        }
    }
}

#[test]
fn a_slow_reader_delays_only_its_own_stream() {
    for lanes in [1, 2] {
        let slow = |world: &mut World| {
            // Long enough for a judgement: 30 s.
            world.link_rate /= 30;
            world.nodes[2].disk_rate = RATE / 300;
        };
        let run = copy(5, lanes, Vec::new(), slow);
        let others = run.nodes.iter().enumerate().filter(|(place, _)| *place != 2);
        let last = others.filter_map(|(_, node)| node.committed_ns).max().expect("they are done");
        let node: &NodeRun = &run.nodes[2];
        assert!(node.detached, "{lanes} lanes");
        let undisturbed = (BLOCKS * BLOCK) as f64 / (RATE / 30) as f64;
        assert!((last as f64) < undisturbed * 1.1e9, "{lanes} lanes: {} s", last as f64 / 1e9);
        let reader = (BLOCKS * BLOCK) as f64 / (RATE / 300) as f64;
        assert!(seconds(&run) < reader * 1.1, "{lanes} lanes: {} s", seconds(&run));
    }
}
