//! What a real copy has recorded, through other programs' eyes.

use std::collections::BTreeMap;
use std::fs;

use garland_core::trace::Trace;
use garland_testkit::{Scratch, random_file};
use serde_json::Value;

use super::formats::{by_published_schema, sums_of};
use super::garland;
use super::made::sums;

#[test]
fn sums_are_those_of_the_traces_and_causes_those_of_the_ledger() {
    let scratch = Scratch::new("export-real");
    let garland = garland(&scratch);
    random_file(&scratch.path("file"), 32 << 20, 5);
    let _ = garland.run(&["cp", "file", "local[1-3]:/copy"]).with_code(0);
    let words = ["trace", "export", "--format", "perfetto", "-o", "out.pftrace"];
    let _ = garland.run(&words).with_code(0);
    let decoded = by_published_schema(&scratch.path("out.pftrace"));
    assert_eq!((&decoded["unknown"], &decoded["disorder"]), (&0.into(), &0.into()));
    let [run] = &garland.runs()[..] else { panic!("one run is kept") };
    let traces: Vec<Trace> = fs::read_dir(run.join("trace"))
        .unwrap()
        .map(|entry| Trace::decode(&fs::read(entry.unwrap().path()).unwrap()).unwrap().0)
        .collect();
    assert_eq!(traces.len(), 4);
    assert_eq!(sums_of(&decoded), sums(traces.iter()));
    assert!(decoded["flows"].as_u64() > Some(0), "blocks that were sent and received");
    assert_eq!(decoded["early"], 0, "blocks that came before they were sent");

    let explained = garland.run(&["explain", "--json"]).with_code(0);
    let explained: Value = serde_json::from_str(&explained.out).unwrap();
    let mut rows: BTreeMap<String, u64> = BTreeMap::new();
    for row in explained["rows"].as_array().unwrap() {
        let cause = row["cause"].as_str().unwrap().to_owned();
        *rows.entry(cause).or_default() += row["ns"].as_u64().unwrap();
    }
    let causes = decoded["causes"].as_object().unwrap().iter();
    let causes: BTreeMap<String, u64> =
        causes.map(|(cause, ns)| (cause.clone(), ns.as_u64().unwrap())).collect();
    rows.retain(|_, ns| *ns > 0);
    assert_eq!(causes, rows);
}
