//! Known faults: the right one first. This machine may do other things meanwhile, so each is looked
//! at again if the answer isn't right; `show` looks once.

use garland_testkit::Scratch;

use crate::explain::cases::{
    Case, LOSSY, SLOW_FSYNC, SLOW_HEAD, SLOW_SINK, SLOW_SOURCE, STARVED, THROTTLED,
};
use crate::explain::stage::{Stage, first_fault, without_cause};

/// No more of the time than this may have no cause.
const UNKNOWN: f64 = 0.05;

/// The first fault is the right one, and nearly all of the time has a cause.
#[track_caller]
fn assert_first(stage: &Stage<'_>, case: &Case) {
    let explained = stage.explained_until(case.to, case.mebibytes, case.options, |explained| {
        case.wanted.contains(&first_fault(explained).as_str()) && without_cause(explained) < UNKNOWN
    });
    let name = case.name;
    let found = first_fault(&explained);
    let wanted = case.wanted;
    assert!(wanted.contains(&found.as_str()), "{name}: {found} isn't {wanted:?}: {explained:#}");
    assert!(without_cause(&explained) < UNKNOWN, "{name}: {explained:#}");
}

#[test]
fn injected_stalls_are_found_at_their_nodes() {
    let scratch = Scratch::in_memory("explain-stalls");
    let stage = Stage::new(&scratch, "");
    assert_first(&stage, &SLOW_SOURCE);
    assert_first(&stage, &SLOW_FSYNC);
    let idle_sender = Case {
        name: "idle sender",
        options: &["--inject", "pause:500ms/10MiB"],
        wanted: &["pause head"],
        ..SLOW_FSYNC
    };
    assert_first(&stage, &idle_sender);
    let late_answer = Case {
        name: "late answer",
        options: &["--inject", "control:n2:900ms"],
        wanted: &["final acknowledgement n2"],
        ..SLOW_FSYNC
    };
    assert_first(&stage, &late_answer);
}

#[test]
fn slow_disks_are_found_wherever_they_are() {
    let scratch = Scratch::in_memory("explain-disks");
    let stage = Stage::new(&scratch, "");
    // Too slow for the others: it is fed afterwards, and is late alone.
    let case = Case {
        name: "slow sink disk among others",
        topology: "",
        to: "lab:n[1-3]:/x",
        mebibytes: 96,
        options: &["--inject", "sink-disk:n2:500ms/10MiB"],
        wanted: &["sink disk n2"],
        ..SLOW_SINK
    };
    assert_first(&stage, &case);
    let all = ["n1", "n2", "n3"].map(|node| format!("sink-disk:{node}:400ms/8MiB"));
    let all: Vec<&str> = all.iter().flat_map(|fault| ["--inject", fault]).collect();
    let is_found = |explained: &_| first_fault(explained).starts_with("sink disk");
    let explained = stage.explained_until(case.to, 64, &all, is_found);
    assert!(is_found(&explained), "{explained:#}");
}

#[test]
fn who_writes_what_others_have_sent_long_ago_is_found() {
    let scratch = Scratch::in_memory("explain-sink");
    assert_first(&SLOW_SINK.stage(&scratch), &SLOW_SINK);
}

#[test]
fn slow_wires_are_found_by_their_hop() {
    let scratch = Scratch::in_memory("explain-wires");
    assert_first(&THROTTLED.stage(&scratch), &THROTTLED);
}

#[test]
fn lossy_wires_are_found_by_their_hop() {
    let scratch = Scratch::in_memory("explain-loss");
    let stage = LOSSY.stage(&scratch);
    let is_found = |explained: &_| LOSSY.wanted.contains(&first_fault(explained).as_str());
    let explained = stage.explained_until(LOSSY.to, LOSSY.mebibytes, LOSSY.options, is_found);
    assert!(is_found(&explained), "{explained:#}");
    let resent = explained["resent"].as_array().unwrap().iter();
    let shares = resent.map(|resent| resent["share"].as_f64().unwrap());
    assert!(shares.fold(0.0, f64::max) > 0.005, "{explained:#}");
}

#[test]
fn a_node_that_lacks_a_processor_is_found() {
    let scratch = Scratch::in_memory("explain-starved");
    assert_first(&STARVED.stage(&scratch), &STARVED);
}

#[test]
fn a_head_that_lacks_a_processor_is_found() {
    let scratch = Scratch::in_memory("explain-head");
    assert_first(&SLOW_HEAD.stage(&scratch), &SLOW_HEAD);
}
