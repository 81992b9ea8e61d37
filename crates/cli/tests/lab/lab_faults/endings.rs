//! The head's death and the user's Ctrl-C, in the middle of a copy.

use garland_testkit::{Process, Scratch, until};

use crate::lab_faults::scale::chosen;
use crate::lab_faults::stage::Stage;

#[test]
fn a_killed_head_leaves_no_file_and_agents_that_say_so_and_work_on() {
    let scratch = Scratch::new("head");
    let stage = Stage::new(&scratch);
    let copy = stage.start(&[]);
    stage.await_moment(chosen("head", stage.scale.stream_ms() * 4 / 5));
    copy.process().kill();
    let _ = copy.end().with_code(128 + 9);
    stage.await_empty(stage.nodes());
    let files = logs(&stage);
    assert_eq!(files.len(), stage.scale.nodes as usize);
    for log in files {
        until(&format!("a word of the head's death in {log}"), || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            text.contains("the head is gone: /x is not committed")
        });
    }
    stage.copy_in_peace();
    stage.end();
}

#[test]
fn a_killed_head_takes_the_agents_that_it_started_with_it() {
    let scratch = Scratch::new("head-cold");
    let stage = Stage::without_agents(&scratch);
    let copy = stage.start(&[]);
    stage.await_moment(chosen("head-cold", stage.scale.stream_ms() * 4 / 5));
    copy.process().kill();
    let _ = copy.end().with_code(128 + 9);
    stage.await_empty(stage.nodes());
    for node in stage.nodes() {
        until(&format!("the end of the agent on {node}"), || stage.agent(&node).is_empty());
    }
    stage.end();
}

#[test]
fn after_ctrl_c_there_is_no_file_and_the_agents_are_idle() {
    let scratch = Scratch::new("ctrl-c");
    let stage = Stage::new(&scratch);
    let copy = stage.start(&[]);
    stage.await_moment(chosen("ctrl-c", stage.scale.stream_ms() * 4 / 5));
    copy.process().interrupt();
    let result = copy.end().with_code(130).json();
    assert_eq!(result["interrupted"], true);
    // Nothing to wait for: the command ends after its agents have cleaned up.
    stage.await_empty(stage.nodes());
    stage.copy_in_peace();
    let agents: Vec<Process> = stage.nodes().flat_map(|node| stage.agent(&node)).collect();
    assert_eq!(agents.len(), stage.scale.nodes as usize);
    let _ = stage.garland.run(&["down", &stage.list()]).with_code(0);
    for node in stage.nodes() {
        until(&format!("the end of the agent on {node}"), || stage.agent(&node).is_empty());
    }
    stage.end();
}

/// The log files that `garland status` names.
fn logs(stage: &Stage<'_>) -> Vec<String> {
    let status = stage.garland.run(&["status", "--json"]).with_code(0).json();
    let nodes = status["nodes"].as_array().expect("a status has nodes").iter();
    nodes.filter_map(|node| node["log"].as_str().map(str::to_owned)).collect()
}
