//! A healthy cluster accuses nobody.

use garland_testkit::{Scratch, env_number};

use crate::wires::stage::{Stage, faults};

/// How often it is measured: `GARLAND_WIRES_RUNS`, which `make soak` sets.
fn runs() -> u64 {
    env_number("GARLAND_WIRES_RUNS").unwrap_or(2)
}

#[test]
fn nobody_is_accused_in_many_runs_nor_compared_with_the_one_before() {
    let scratch = Scratch::new("wires-healthy");
    let stage = Stage::new(&scratch);
    for run in 0..runs() {
        let result = stage.measure();
        assert_eq!(faults(&result), [], "run {run}: {:#}", result["faults"]);
        assert_eq!(result["directions"].as_array().map(Vec::len), Some(132), "run {run}");
        assert_eq!(result["baseline"].is_null(), run == 0, "run {run}");
        let account = &result["directions"][0]["tcp"];
        assert!(account["busy_ns"].as_u64() > Some(0), "run {run}: {account}");
    }
    stage.end();
}
