//! What a real copy has recorded, as other programs read it.

use std::collections::BTreeMap;
use std::fs;

use garland_core::trace::Trace;
use garland_testkit::{Scratch, random_file};
use serde_json::Value;

use super::formats::Timeline;
use super::garland_in;
use super::made::sums;

#[test]
fn sums_are_those_of_the_traces_and_causes_those_of_the_ledger() {
    let scratch = Scratch::new("export-real");
    let garland = garland_in(&scratch);
    random_file(&scratch.path("file"), 32 << 20, 5);
    let _ = garland.run(&["cp", "file", "local[1-3]:/copy"]).with_code(0);
    let words = ["trace", "export", "--format", "chrome", "-o", "out.json"];
    let _ = garland.run(&words).with_code(0);
    let timeline = Timeline::parse(&fs::read_to_string(scratch.path("out.json")).unwrap());
    assert_eq!(timeline.overlaps, 0, "slices of one row that overlap");
    let [run] = &garland.runs()[..] else { panic!("one run is kept") };
    let traces: Vec<Trace> = fs::read_dir(run.join("trace"))
        .unwrap()
        .map(|entry| Trace::decode(&fs::read(entry.unwrap().path()).unwrap()).unwrap().0)
        .collect();
    assert_eq!(traces.len(), 4);
    assert_eq!(timeline.stages, sums(traces.iter()));
    assert!(timeline.flows() > 0, "blocks that were sent and received");
    assert_eq!(timeline.early(), 0, "blocks that came before they were sent");

    let explained = garland.run(&["explain", "--json"]).with_code(0);
    let explained: Value = serde_json::from_str(&explained.out).unwrap();
    let mut rows: BTreeMap<String, i64> = BTreeMap::new();
    for row in explained["rows"].as_array().unwrap() {
        let cause = row["cause"].as_str().unwrap().to_owned();
        *rows.entry(cause).or_default() += row["ns"].as_i64().unwrap();
    }
    rows.retain(|_, ns| *ns > 0);
    assert_eq!(timeline.causes, rows);
}
