//! Links that stand between agents that stay: opened by `garland up`, used by the next copy, and
//! nobody's loss when they break.

use std::collections::BTreeSet;
use std::time::Duration;

use garland_sys::clock;
use garland_testkit::{Garland, Process, Scratch, soon, until};
use serde_json::Value;

use crate::copy::{assert_copied, garland_in, locals, source};

const NODES: usize = 4;

/// Agents that stay on four nodes.
#[track_caller]
fn up(garland: &Garland<'_>, scratch: &Scratch) -> Value {
    let roots = scratch.path("roots");
    let roots = roots.to_str().expect("a scratch folder has a plain name");
    garland.run(&["up", "--json", "--local-root", roots, "local[1-4]"]).with_code(0).json()
}

/// How many links each node keeps, by `garland status`.
fn links(garland: &Garland<'_>) -> Vec<u64> {
    let said = garland.run(&["status", "--json", "local[1-4]"]);
    let nodes = said.json()["nodes"].as_array().expect("a status has nodes").clone();
    nodes.iter().map(|node| node["links"].as_u64().unwrap_or(0)).collect()
}

#[track_caller]
fn await_links(garland: &Garland<'_>, wanted: [u64; NODES]) {
    until(&format!("the links {wanted:?}, not {:?}", links(garland)), || links(garland) == wanted);
}

/// The sockets of a process, by the kernel's numbers.
fn sockets(process: &Process) -> BTreeSet<String> {
    let entries = std::fs::read_dir(format!("/proc/{}/fd", process.pid));
    let entries = entries.expect("the agent runs").flatten();
    let targets = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let names = targets.map(|target| target.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("socket:")).collect()
}

#[track_caller]
fn copy(garland: &Garland<'_>, scratch: &Scratch, nodes: &str) {
    let from = source(scratch, 5 << 20);
    let _ = garland.cp(&["source.bin", &format!("{nodes}:/x")]).with_code(0);
    assert_copied(scratch, locals(NODES), "x", &from);
}

#[track_caller]
fn down(garland: &Garland<'_>, scratch: &Scratch) {
    let _ = garland.run(&["down", "local[1-4]"]).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn copies_use_the_links_that_up_opened_and_leave_them_as_they_were() {
    let scratch = Scratch::new("chain");
    let garland = garland_in(&scratch);
    let result = up(&garland, &scratch);
    let opened = result["nodes"].as_array().expect("nodes").iter();
    let opened: Vec<_> = opened.map(|node| node["links"].as_u64()).collect();
    assert_eq!(opened, [Some(1), Some(1), Some(1), Some(0)]);
    let agents: Vec<Process> = locals(NODES).map(|node| garland.agent(&node)).collect();
    await_links(&garland, [1, 1, 1, 0]);
    // What `status` and `up` left behind on the agents is closed first.
    until("one link at each end of the chain", || sockets(&agents[3]).len() == 2);
    // From the first copy on an agent has a door for who looks what it does (`garland top`).
    copy(&garland, &scratch, "local[1-4]");
    // A port, a door, and a link to each neighbour.
    until("no other socket", || agents.iter().map(|agent| sockets(agent).len()).eq([3, 4, 4, 3]));
    let before: Vec<_> = agents.iter().map(sockets).collect();
    for _ in 0..3 {
        copy(&garland, &scratch, "local[1-4]");
    }
    await_links(&garland, [1, 1, 1, 0]);
    for (agent, before) in agents.iter().zip(&before) {
        until("the same sockets as before", || sockets(agent) == *before);
    }
    down(&garland, &scratch);
}

#[test]
fn another_order_opens_links_of_its_own_which_stay_too() {
    let scratch = Scratch::new("chain-order");
    let garland = garland_in(&scratch);
    let _ = up(&garland, &scratch);
    copy(&garland, &scratch, "local4,local[1-3]");
    await_links(&garland, [1, 1, 1, 1]);
    copy(&garland, &scratch, "local[1-4]");
    await_links(&garland, [1, 1, 1, 1]);
    down(&garland, &scratch);
}

#[test]
fn links_end_with_either_agent_and_come_back_with_the_next_up() {
    let scratch = Scratch::new("chain-dead");
    let garland = garland_in(&scratch);
    let _ = up(&garland, &scratch);
    garland.agent("local2").kill();
    await_links(&garland, [0, 0, 1, 0]);
    let _ = up(&garland, &scratch);
    await_links(&garland, [1, 1, 1, 0]);
    copy(&garland, &scratch, "local[1-4]");
    down(&garland, &scratch);
}

#[test]
fn a_copy_that_was_interrupted_costs_its_links_and_nothing_more() {
    let scratch = Scratch::new("chain-interrupt");
    let garland = garland_in(&scratch);
    let _ = up(&garland, &scratch);
    for ms in [0, 20, 60, 120] {
        // Longer when a link is waited for.
        soon("a copy after an interrupted one", Duration::from_secs(3), || {
            let _ = source(&scratch, 64 << 20);
            let running = garland.start_cp(&["source.bin", "local[1-4]:/y"]);
            std::thread::sleep(Duration::from_millis(ms));
            running.process().interrupt();
            let _ = running.end();
            let started = clock::now_ns();
            copy(&garland, &scratch, "local[1-4]");
            Duration::from_nanos(clock::now_ns() - started)
        });
    }
    // It takes what the interrupted ones have kept.
    let _ = garland.cp(&["source.bin", "local[1-4]:/y"]).with_code(0);
    down(&garland, &scratch);
}
