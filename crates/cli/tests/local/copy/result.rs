//! What a copy says when all went well.

use garland_testkit::Scratch;

use crate::copy::{assert_copied, garland_in, locals, source, verdict};

#[test]
fn eight_files_equal_the_source_and_the_result_accounts_for_every_moment() {
    let scratch = Scratch::new("eight");
    let from = source(&scratch, 20_000_003);
    let said = garland_in(&scratch).cp(&["--json", "source.bin", "local[1-8]:/data/"]).with_code(0);
    assert_copied(&scratch, locals(8), "data/source.bin", &from);
    let result = said.json();
    assert_eq!(result["schema"], "garland.cp/2");
    assert_eq!(result["bytes"], 20_000_003);
    assert_eq!(result["interrupted"], false);
    assert_eq!(result["nodes"].as_array().map(Vec::len), Some(8));
    for node in locals(8) {
        assert_eq!(verdict(&result, &node), ("ok", ""));
    }
    let phases = result["phases"].as_array().expect("a result has phases");
    let names: Vec<_> = phases.iter().filter_map(|phase| phase["name"].as_str()).collect();
    assert_eq!(names, ["set-up", "first byte", "stream", "drain", "fsync", "teardown"]);
    let sum: u64 = phases.iter().filter_map(|phase| phase["ns"].as_u64()).sum();
    let elapsed = result["elapsed_ns"].as_u64().expect("a result has its time");
    assert!(sum.abs_diff(elapsed) < 1_000_000, "{sum} is not {elapsed}");
    scratch.assert_nothing_left();
}

#[test]
fn a_run_keeps_its_plan_its_result_and_its_agents_logs() {
    let scratch = Scratch::new("run");
    let _ = source(&scratch, 100_000);
    let garland = garland_in(&scratch);
    let said = garland.cp(&["--json", "source.bin", "local[1-2]:/x"]).with_code(0);
    let [run] = &garland.runs()[..] else { panic!("one run, not {:?}", garland.runs()) };
    assert_eq!(said.json()["run"], run.file_name().and_then(|name| name.to_str()).unwrap_or(""));
    for file in ["plan.json", "result.json", "local1.log", "local2.log"] {
        assert!(run.join(file).exists(), "{file}");
    }
    let kept = std::fs::read_to_string(run.join("result.json")).expect("it is kept");
    assert_eq!(kept.trim(), said.out.trim());
    scratch.assert_nothing_left();
}

#[test]
fn what_agents_use_of_memory_stays_within_the_promise() {
    const PROMISE: u64 = 64 << 20;
    let scratch = Scratch::new("memory");
    let _ = source(&scratch, 150_000_000);
    let said = garland_in(&scratch).cp(&["--json", "source.bin", "local[1-2]:/x"]).with_code(0);
    for node in said.json()["nodes"].as_array().expect("a result has nodes") {
        let memory = node["memory"].as_u64().expect("an agent reports its memory");
        assert!((1..=PROMISE).contains(&memory), "{node}");
    }
    scratch.assert_nothing_left();
}
