//! Single mishaps, and their exact results.

use garland_core::plan::{Layout, NodeId, Plan};
use garland_protocol::copy::{Fault, Verdict};
use garland_simulation::{Mishap, NodeRun, Run, Schedule, What, World, simulate};

const SECOND: u64 = 1_000_000_000;

/// Copies 64 blocks of 4 KiB to `receivers` nodes over two lanes: a quarter of a second if
/// undisturbed.
fn copy(receivers: usize, mishaps: Vec<Mishap>) -> Run {
    copy_at(500_000, receivers, mishaps)
}

fn copy_at(rate: u64, receivers: usize, mishaps: Vec<Mishap>) -> Run {
    let names: Vec<String> = (1..=receivers).map(|n| format!("n{n}")).collect();
    let plan = Plan::broadcast(Layout::new(64 * 4096, 4096).expect("a layout"), &names, 2);
    let mut world = World::uniform(receivers, rate);
    world.slice = 512;
    world.limit_ns = 600 * SECOND;
    let schedule = Schedule { seed: 1, checked: true, mishaps };
    simulate(&plan.expect("a plan"), &world, &schedule)
}

fn at(at: u64, what: What) -> Mishap {
    Mishap { at, what }
}

#[test]
fn a_flipped_bit_is_found_where_it_arrives() {
    for to in 1..=6 {
        for index in [0, 1, 30, 62, 63] {
            let run = copy(6, vec![at(0, What::Flip { index, to })]);
            assert!(run.nodes.iter().all(NodeRun::is_ok), "repaired everywhere: {run:?}");
            assert!(run.nodes.iter().all(|node| node.identical == Some(true)));
            let hop = Fault { index, from: NodeId(to - 1), to: NodeId(to) };
            assert_eq!(run.faults, [hop], "the hop is named, and no other");
        }
    }
}

#[test]
fn a_death_costs_less_than_two_seconds() {
    let undisturbed = copy(6, Vec::new()).finished_ns.expect("it isn't stuck");
    for what in [What::Crash, What::Cut, What::Stop] {
        for victims in [vec![1], vec![3], vec![6], vec![2, 3, 4], vec![1, 2, 3, 4, 5]] {
            let mishaps = victims.iter().map(|&node| at(undisturbed / 2, what(node))).collect();
            let run = copy(6, mishaps);
            for (number, node) in (1..).zip(&run.nodes) {
                let dead = matches!(node.verdict, Some(Verdict::Dead(_) | Verdict::Unknown(_)));
                assert_eq!(dead, victims.contains(&number), "node {number} of {victims:?}");
                assert!(dead || node.is_ok() && node.identical == Some(true));
            }
            // Silence is no proof of death for five seconds: the others go on after two, unless
            // most are silent.
            let is_silent = what(1) != What::Crash(1);
            let is_most = victims.len() > 3;
            let others = if is_silent && is_most { 7 } else { 2 };
            let all = if is_silent { 7 } else { 2 };
            let had = run.nodes.iter().filter_map(|node| node.committed_ns).max();
            let had = had.expect("the others have it").saturating_sub(undisturbed);
            assert!(had < others * SECOND, "{victims:?} cost the others {had}");
            let took = run.finished_ns.expect("it isn't stuck").saturating_sub(undisturbed);
            assert!(took < all * SECOND, "{victims:?} cost {took}");
        }
    }
}

#[test]
fn a_link_may_break_now_and_then_but_not_all_the_time() {
    let breaks = |every: u64| -> Vec<Mishap> {
        (1..16).map(|time| at(time * every, What::Break(0, 2))).collect()
    };
    // Undisturbed, the copy takes 131 s.
    let run = copy_at(1000, 3, breaks(12 * SECOND));
    assert!(run.nodes.iter().all(NodeRun::is_ok), "{run:?}");
    let run = copy_at(1000, 3, breaks(2 * SECOND));
    let Some(Verdict::Failed(reason)) = &run.nodes[1].verdict else { panic!("{run:?}") };
    assert!(reason.starts_with("n1 gave up the link to n2 after 3 tries: it "), "{reason}");
    assert!(run.nodes[0].is_ok() && run.nodes[2].is_ok(), "{run:?}");
}

#[test]
fn an_interrupted_copy_gives_everyone_a_verdict() {
    let run = copy(4, vec![at(SECOND / 10, What::Interrupt)]);
    let interrupted = Some(Verdict::Failed("interrupted".to_owned()));
    assert!(run.nodes.iter().all(|node| node.verdict == interrupted), "{run:?}");
    assert!(run.nodes.iter().all(|node| node.committed_ns.is_none()));
    assert_eq!(run.finished_ns, Some(SECOND / 10));
}

#[test]
fn the_same_schedule_gives_the_same_run() {
    let mishaps = vec![at(SECOND / 20, What::Crash(2)), at(SECOND / 10, What::Pause(3, 1000))];
    // The CPU time of the head differs.
    let run = |mishaps| Run { head_ns: 0, ..copy(5, mishaps) };
    assert_eq!(run(mishaps.clone()), run(mishaps));
}
