//! Agents that are killed or hang in the middle of a copy.

use garland_testkit::{Scratch, Wire};

use crate::copy::{assert_copied, await_middle, garland_in, locals, source, verdict};

const NODES: usize = 8;

/// What happens to an agent.
#[derive(Clone, Copy, PartialEq)]
enum Blow {
    Kill,
    Stop,
}

/// A copy to eight nodes of which those in `victims` are struck in its middle: the others have the
/// file, the dead are named.
#[track_caller]
fn survives(name: &str, blow: Blow, victims: &[&str], more: &[&str]) {
    let scratch = Scratch::new(name);
    let from = source(&scratch, 16 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(400));
    let arguments = [&["--json"], more, &["source.bin", "local[1-8]:/x"]].concat();
    let copy = garland.start_cp(&arguments);
    await_middle(&scratch, "local8", &from, 0);
    for victim in victims {
        let agent = garland.agent(victim);
        match blow {
            Blow::Kill => agent.kill(),
            Blow::Stop => agent.stop(),
        }
    }
    let result = copy.end().with_code(1).json();
    let is_victim = |node: &String| victims.contains(&node.as_str());
    for node in locals(NODES) {
        let (verdict, reason) = verdict(&result, &node);
        if is_victim(&node) {
            assert_eq!(verdict, "dead", "{node}: {reason}");
            assert!(blow == Blow::Kill || reason.contains("no message from its agent"), "{reason}");
            assert!(!scratch.root(&node).join("x").exists(), "{node}");
        } else {
            assert_eq!((verdict, reason), ("ok", ""), "{node}");
        }
    }
    assert_copied(&scratch, locals(NODES).filter(|node| !is_victim(node)), "x", &from);
    // The dead couldn't remove their own partial files; nobody else has one.
    for partial in scratch.partial_files() {
        let is_dead = victims.iter().any(|victim| partial.starts_with(format!("roots/{victim}")));
        assert!(is_dead, "{}", partial.display());
    }
    scratch.assert_nobody_left();
}

#[test]
fn a_killed_node_in_the_middle() {
    survives("kill-4", Blow::Kill, &["local4"], &[]);
}

#[test]
fn the_first_node_killed() {
    survives("kill-1", Blow::Kill, &["local1"], &[]);
}

#[test]
fn the_last_node_killed() {
    survives("kill-8", Blow::Kill, &["local8"], &[]);
}

#[test]
fn three_nodes_killed_at_once() {
    survives("kill-3", Blow::Kill, &["local1", "local4", "local5"], &[]);
}

#[test]
fn three_nodes_killed_over_two_clear_lanes() {
    let more = ["--rails", "2", "--no-encrypt"];
    survives("kill-lanes", Blow::Kill, &["local2", "local7", "local8"], &more);
}

#[test]
fn inner_nodes_of_both_twins_killed() {
    survives("kill-twins", Blow::Kill, &["local4", "local5"], &["--shape", "twins"]);
}

#[test]
fn inner_nodes_of_a_tree_killed() {
    survives("kill-tree", Blow::Kill, &["local1", "local6"], &["--shape", "tree"]);
}

#[test]
fn an_inner_node_of_a_tree_that_hangs() {
    survives("stop-tree", Blow::Stop, &["local5"], &["--shape", "tree", "--rails", "2"]);
}

#[test]
fn a_node_that_hangs() {
    survives("stop-4", Blow::Stop, &["local4"], &[]);
}

#[test]
fn the_last_node_hangs_over_two_lanes() {
    survives("stop-8", Blow::Stop, &["local8"], &["--rails", "2"]);
}

#[test]
fn enough_survivors_are_enough() {
    let scratch = Scratch::new("min-ok");
    let _ = source(&scratch, 100_000);
    std::fs::create_dir_all(scratch.root("local2").join("x/source.bin")).expect("it can be made");
    let garland = garland_in(&scratch);
    let to = ["source.bin", "local[1-3]:/x"];
    let _ = garland.cp(&[&["--min-ok", "2"], &to[..]].concat()).with_code(0);
    let _ = garland.cp(&[&["--min-ok", "3"], &to[..]].concat()).with_code(1);
    let _ = garland.cp(&to).with_code(1);
    scratch.assert_nothing_left();
}

#[test]
fn all_nodes_killed_is_nothing_done() {
    let scratch = Scratch::new("kill-all");
    let from = source(&scratch, 40 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(200));
    let copy = garland.start_cp(&["--json", "source.bin", "local[1-3]:/x"]);
    await_middle(&scratch, "local3", &from, 0);
    let agents = ["local1", "local2", "local3"].map(|node| garland.agent(node));
    agents.iter().for_each(garland_testkit::Process::kill);
    let result = copy.end().with_code(3).json();
    assert!(locals(3).all(|node| verdict(&result, &node).0 == "dead"), "{result}");
    scratch.assert_nobody_left();
}
