//! The ten faults one by one, two of them at a time, and healthy copies: who is named first, and
//! how much has no name. All of them take minutes: `make soak` sets `GARLAND_EXPLAIN=all`; else it
//! is a few of them.

use garland_testkit::Scratch;
use serde_json::Value;

use crate::explain::cases::{COMBINED, Case, TEN};
use crate::explain::stage::{Stage, faults, first_fault, without_cause};

/// No more than this share of the time may have no cause.
const UNKNOWN: f64 = 0.05;

/// Healthy copies: how long, and how.
const HEALTHY: [(u64, &[&str]); 10] = [
    (96, &[]),
    (64, &["--no-encrypt"]),
    (48, &["--no-fsync"]),
    (128, &[]),
    (80, &["--block-size", "256KiB"]),
    (64, &[]),
    (112, &["--no-encrypt", "--no-fsync"]),
    (72, &["--block-size", "4MiB"]),
    (96, &[]),
    (160, &[]),
];

fn all() -> bool {
    std::env::var_os("GARLAND_EXPLAIN").is_some_and(|asked| asked == "all")
}

/// What is wrong with an answer; nothing if all is right.
fn wrong(explained: &Value, is_right: bool) -> Option<String> {
    let unknown = without_cause(explained);
    let said =
        if faults(explained).is_empty() { "none".to_owned() } else { faults(explained).join(", ") };
    println!("  {said}; {:.1} % without a cause", unknown * 100.0);
    let rows = &explained["rows"];
    if !is_right {
        Some(format!("{said}: {rows:#}"))
    } else if unknown >= UNKNOWN {
        Some(format!("{:.1} % has no cause: {rows:#}", unknown * 100.0))
    } else {
        None
    }
}

/// A case's answer, on a lab of its own. In a soak once must do; else this machine may do other
/// things.
fn tried(case: &Case, is_right: impl Fn(&Value) -> bool) -> Option<String> {
    println!("{}", case.name);
    let scratch = Scratch::in_memory("explain-show");
    let stage = case.stage(&scratch);
    let mut found = None;
    for _ in 0..if all() { 1 } else { 3 } {
        let explained = case.explained(&stage);
        found = wrong(&explained, is_right(&explained));
        if found.is_none() {
            break;
        }
    }
    found.map(|wrong| format!("{}: {wrong}", case.name))
}

#[test]
fn ten_faults_are_named_first() {
    let chosen = if all() { &TEN[..] } else { &TEN[3..4] };
    let is_first =
        |case: &Case, explained: &Value| case.wanted.contains(&first_fault(explained).as_str());
    let wrong = chosen.iter().filter_map(|case| tried(case, |explained| is_first(case, explained)));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.len() <= usize::from(all()), "{}", wrong.join("\n"));
}

#[test]
fn two_faults_at_a_time_are_both_named() {
    let chosen = if all() { &COMBINED[..] } else { &COMBINED[..1] };
    for case in chosen {
        let both = |explained: &Value| {
            let named = faults(explained);
            named.len() == 2 && case.wanted.iter().all(|wanted| named.iter().any(|is| is == wanted))
        };
        assert_eq!(tried(case, both), None);
    }
}

#[test]
fn healthy_copies_accuse_nobody() {
    let chosen = if all() { &HEALTHY[..] } else { &HEALTHY[1..2] };
    let scratch = Scratch::in_memory("explain-well");
    let stage = Stage::new(&scratch, "");
    for (mebibytes, options) in chosen {
        println!("healthy, {mebibytes} MiB {}", options.join(" "));
        let explained = stage.explained(*mebibytes, options);
        let objections = wrong(&explained, faults(&explained).is_empty());
        assert_eq!(objections, None, "{mebibytes} MiB {}", options.join(" "));
    }
}
