//! One copy to 2,000 nodes, of which some die.

use garland_core::plan::{Layout, Plan};
use garland_simulation::{Mishap, NodeRun, Random, Run, Schedule, What, World, simulate};

/// 10 Gbit/s in bytes per second.
const RATE: u64 = 1_250_000_000;

/// The number of nodes.
const NODES: u32 = 2000;

/// The number of nodes that die.
const DEATHS: usize = 20;

/// Copies 2 GiB to all nodes, by a chain or by a tree. Nodes die in the meantime, at random.
fn copy(fanout: Option<usize>) -> Run {
    let names: Vec<String> = (1..=NODES).map(|n| format!("n{n}")).collect();
    let layout = Layout::new(2 << 30, 4 << 20).expect("a layout");
    let plan = Plan::broadcast(layout, &names, 1).expect("a plan");
    let plan = if let Some(fanout) = fanout { plan.branching(fanout) } else { plan };
    let mut random = Random::new(7);
    let mut mishap = |_| Mishap {
        at: random.below(1_500_000_000),
        what: match (1 + random.below(NODES.into()) as u32, random.below(2)) {
            (node, 0) => What::Crash(node),
            (node, _) => What::Cut(node),
        },
    };
    let mishaps = (0..DEATHS).map(&mut mishap).collect();
    let schedule = Schedule { seed: 7, mishaps, ..Schedule::default() };
    simulate(&plan, &World::uniform(NODES as usize, RATE), &schedule)
}

/// The head's machine takes less than a tenth of a core. It is measured on a simulated copy, so
/// other programs only make it wait.
#[test]
fn two_thousand_nodes_cost_the_head_little_and_deaths_cost_only_the_dead() {
    for fanout in [None, Some(2)] {
        let run = copy(fanout);
        let seconds = run.finished_ns.expect("the run isn't stuck") as f64 / 1e9;
        let ok = run.nodes.iter().filter(|node| NodeRun::is_ok(node)).count();
        let head = run.head_ns as f64 / 1e9;
        println!(
            "{NODES} nodes, fan-out {fanout:?}: {ok} ok after {seconds:.2} s ({:.2} s by the wire), {} events; \
             the head's machine: {:.1} % of a core, {:.2} us a node and second",
            (2_u64 << 30) as f64 / RATE as f64,
            run.events,
            head / seconds * 100.0,
            head / seconds / f64::from(NODES) * 1e6,
        );
        assert!(ok >= NODES as usize - DEATHS, "{ok} of {NODES} are ok");
    }
}
