use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::Moment;
use crate::export::tests::example_traces;
use crate::format::Step;

fn sheet(result: Value) -> Sheet {
    Sheet {
        name: "20261122-cp".to_owned(),
        sources: Some("model.bin".to_owned()),
        result,
        explained: None,
        timeline: None,
        pictures: Vec::new(),
        racks: BTreeMap::new(),
        notes: Vec::new(),
    }
}

fn written(sheets: &[Sheet], forecast: Option<&Value>) -> String {
    let mut bytes = Vec::new();
    page(&mut bytes, sheets, forecast).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// The data that the page's scripts read.
fn embedded(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn copy() -> Value {
    json!({
        "schema": "garland.cp/2", "bytes": 1 << 30, "elapsed_ns": 9_500_000_000_u64, "rate": 113_000_000,
        "limit": { "rate": 117_700_000, "source": "TCP payload of the lab's wires", "achieved": 0.96 },
        "nodes": [{ "name": "n1", "verdict": "ok" }, { "name": "n2", "verdict": "dead" }],
        "phases": [{ "name": "stream", "ns": 9_500_000_000_u64 }],
    })
}

fn timeline() -> Timeline {
    let traces = example_traces();
    let mut timeline = Timeline::new(0, 10_000, traces.len());
    let on_head = |at_ns| Moment { at_ns, error_ns: None };
    for trace in &traces {
        timeline.node(trace, Some(5), &on_head, &Nics::default());
    }
    timeline
}

#[test]
fn summary_has_nodes_time_and_limit() {
    let page = written(&[sheet(copy())], None);
    assert!(page.contains("1.00 GiB to 1 of 2 nodes in 9.50 s"), "{}", &page[..6000]);
    assert!(page.contains("The run reached 96.0 % of it."));
    assert_eq!(embedded(&page)["runs"][0]["result"]["bytes"], 1 << 30);
    let racks = BTreeMap::from([("n1".to_owned(), "r1".to_owned())]);
    let page = written(&[Sheet { racks, ..sheet(copy()) }], None);
    assert_eq!(embedded(&page)["runs"][0]["racks"], json!({ "n1": "r1" }));
}

#[test]
fn the_account_stands_on_top_and_every_statement_has_its_grade() {
    let statement = |what: &str, grade: Value, verdict: &str| {
        json!({
            "what": what, "unit": "s", "published": "8.9 - 9.3", "measured": "7.4 7.4 7.5 (void)",
            "standing": "counted", "grade": grade, "verdict": verdict,
        })
    };
    let other = json!({ "grade": "differs", "why": "outside", "factor": 0.9 });
    let other = statement("the <chain>", other, "differs: 0.90 times");
    let found = statement("the hub", json!({ "grade": "reproduced" }), "reproduced");
    let fitted =
        json!({ "what": "the base", "standing": "fitted", "grade": { "grade": "differs" } });
    let of = |statements: Vec<Value>, grades: Value| {
        let scenario = json!({ "name": "dolly", "question": "How long?" });
        let result = json!({
            "schema": "garland.scenario/4", "scenario": scenario, "statements": statements,
            "grades": grades,
        });
        written(&[sheet(copy()), sheet(result)], None)
    };
    let grades = json!({ "counted": 2, "reproduced": 1, "differ": 1, "other_hardware": 3 });
    let page = of(vec![found, other, fitted], grades);
    let account = "<h2>2 independent comparable facts: 1 reproduced, 0 explained, 0 follow from 0 \
                   constants, 1 differ, 0 too noisy, 0 not measured; 3 of other hardware</h2>";
    assert!(page.contains(account), "{}", &page[..6000]);
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(at("<li>the &lt;chain&gt;: differs: 0.90 times</li>") < at("<td>the hub</td>"));
    assert!(
        at("<td>8.9 - 9.3</td><td>7.4 7.4 7.5 (void)</td><td>reproduced</td>") < at("to 1 of 2")
    );
    let ungraded = of(vec![statement("x", Value::Null, "ungraded")], Value::Null);
    assert!(ungraded.contains("Ungraded: made once") && !ungraded.contains("<li>the base"));
    assert!(!written(&[sheet(copy())], None).contains("aria-label=\"Grades\""));
}

#[test]
fn runs_that_differ_are_below_the_first_and_those_that_are_alike_beside_each_other() {
    let leads = |sheets: &[Sheet]| embedded(&written(sheets, None))["leads"].clone();
    let mut smaller = copy();
    smaller["bytes"] = json!(1 << 20);
    let page = written(&[sheet(copy()), sheet(smaller.clone())], None);
    assert!(
        page.contains("<h1>model.bin to 2 nodes: 1 failed, and 1 more run</h1>"),
        "{}",
        &page[..6000]
    );
    assert_eq!(leads(&[sheet(copy()), sheet(smaller)]), true);
    assert_eq!(leads(&[sheet(copy())]), true);
    assert_eq!(leads(&[sheet(copy()), sheet(copy())]), false);
    assert!(
        written(&[sheet(copy()), sheet(copy())], None).contains("<h1>2 runs side by side</h1>")
    );
    assert_eq!(leads(&[]), false);
}

#[test]
fn page_fetches_nothing() {
    let page = written(&[sheet(copy())], None);
    let (start, rest) = page.split_once("<body>").unwrap();
    assert!(start.contains("default-src 'none'"));
    for fetching in ["<script src", "<link rel=\"stylesheet\"", "@import", "url(http", "<img"] {
        assert!(!start.contains(fetching) && !rest.contains(fetching), "{fetching}");
    }
}

#[test]
fn names_cannot_break_out() {
    let evil = "</script><script>alert(1)</script>";
    let mut run =
        sheet(json!({ "schema": "garland.exec/2", "nodes": [{ "name": evil, "verdict": "ok" }] }));
    run.name = evil.to_owned();
    run.notes.push(evil.to_owned());
    let page = written(&[run], None);
    assert!(!page.contains("alert(1)</script>"));
    assert_eq!(embedded(&page)["runs"][0]["name"], evil);
}

#[test]
fn titles_and_tiles_are_escaped() {
    let evil = "<img src=x onerror=alert(1)>'\"";
    let place = json!({ "cause": evil, "node": evil, "ns": 5, "share": 0.5, "within": evil, "remedy": evil, "gain_ns": 7 });
    let mut run = sheet(json!({
        "schema": "garland.cp/2", "elapsed_ns": 10, "command": ["garland", evil],
        "limit": { "rate": 5, "source": evil, "achieved": 0.5 }, "phases": [{ "name": evil, "ns": 3 }],
        "nodes": [{ "name": evil, "verdict": evil, "reason": evil }],
    }));
    run.sources = Some(evil.to_owned());
    let phases_only = written(&[run.clone()], None);
    run.explained = Some(json!({ "rows": [place], "fix": place }));
    for page in [phases_only, written(&[run], None)] {
        let (body, _) = page.split_once("<script type=\"application/json\"").unwrap();
        assert!(!body.contains("<img") && !body.contains(evil), "{body}");
        let shown = body.matches("&lt;img src=x onerror=alert(1)&gt;&#39;").count();
        assert!(shown >= 7, "{shown}");
    }
}

#[test]
fn missing_and_unexpected_fields_still_make_a_page() {
    for result in [
        Value::Null,
        json!({}),
        json!({ "schema": 3 }),
        json!([1, 2]),
        json!({ "schema": "garland.x/9", "nodes": "many", "limit": { "rate": -1 } }),
    ] {
        let page = written(&[sheet(result)], None);
        assert!(page.ends_with("</html>\n"));
    }
    assert!(written(&[], None).contains("<title>0 runs side by side - Garland</title>"));
}

#[test]
fn a_timeline_has_bars_gaps_and_rates() {
    let mut told = timeline();
    let step = |begin_ns, end_ns, cause| Step {
        begin_ns,
        end_ns,
        cause,
        node: Some("n1".to_owned()),
        to: None,
        within: None,
    };
    told.path(&[step(0, 500, "wire"), step(500, 900, "wire"), step(900, 1000, "fsync")]);
    assert!(!told.is_empty());
    let page = written(&[Sheet { timeline: Some(told), ..sheet(copy()) }], None);
    let timeline = &embedded(&page)["runs"][0]["timeline"];
    assert_eq!(timeline["path"].as_array().unwrap().len(), 2);
    let head = &timeline["nodes"][0];
    assert!(head["rows"].as_array().unwrap().iter().any(|row| row["stage"] == "send"));
    let sent: u64 =
        head["rates"]["sent"].as_array().unwrap().iter().filter_map(Value::as_u64).sum();
    assert_eq!(sent, 300);
}

#[test]
fn a_thousand_nodes_stay_small() {
    let one = &example_traces()[0];
    let mut many = one.clone();
    let spans: Vec<_> = one.records.clone();
    many.records = (0..300).flat_map(|_| spans.clone()).collect();
    for (at, record) in many.records.iter_mut().enumerate() {
        if let garland_core::trace::Record::Span(span) = record {
            span.begin_ns += at as u64 * 20_000;
            span.end_ns += at as u64 * 20_000 + 9_000;
            span.bytes = 1 << 20;
        }
    }
    let mut told = Timeline::new(0, 40_000_000, 1000);
    let on_head = |at_ns| Moment { at_ns, error_ns: None };
    let nics = Nics { names: vec!["eth0".to_owned(), "eth1".to_owned()], of_lanes: vec![0] };
    for _ in 0..1000 {
        told.node(&many, Some(1000), &on_head, &nics);
    }
    let node = json!({ "name": "n0001", "verdict": "ok", "bytes": 1 << 30, "rate": 117_000_000, "memory": 1 << 25, "cpu_ns": 12_345_678 });
    let mut result = copy();
    result["nodes"] = Value::Array(vec![node; 1000]);
    let page = written(&[Sheet { timeline: Some(told), ..sheet(result) }], None);
    assert!(page.len() < 10_000_000, "{}", page.len());
}

#[test]
fn pairs_become_a_matrix_however_many_there_are() {
    let way = |from: usize, to: usize| json!({ "from": format!("n{from}"), "to": format!("n{to}"), "rate": 1e8 });
    let ways: Vec<Value> = (0..300)
        .flat_map(|from| (0..300).filter(move |to| *to != from).map(move |to| way(from, to)))
        .collect();
    let page = written(&[sheet(json!({ "schema": "garland.wires/2", "directions": ways }))], None);
    let heat = &embedded(&page)["runs"][0]["result"]["heat"];
    assert_eq!(heat["names"].as_array().unwrap().len(), 100);
    assert_eq!(heat["rates"][0][1], 1e8);
    assert!(page.len() < 1_000_000);
}

#[test]
fn a_farm_has_rows_for_the_copies_of_inputs_and_outputs() {
    let job = |staging: f64, staged_in: f64, started: f64| {
        json!({
            "node": "n1", "staging": staging, "staged_in": staged_in, "started": started,
            "ended": started + 1.0, "staged_out": started + 1.5,
        })
    };
    // The second job's inputs wait for those of the first; the third one's are copied later.
    let records = json!([job(0.0, 0.5, 0.5), job(0.1, 0.8, 1.5), job(2.0, 2.2, 2.5)]);
    let timeline = Timeline::of_jobs(&json!({ "records": records, "total": 4.0 })).unwrap();
    let page = written(&[Sheet { timeline: Some(timeline), ..sheet(json!({})) }], None);
    let rows = embedded(&page)["runs"][0]["timeline"]["nodes"][0]["rows"].take();
    let names: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["stage"].as_str().unwrap()).collect();
    assert_eq!(names, ["computing 1", "copying inputs", "returning outputs"]);
    assert_eq!(rows[1]["slices"].as_array().unwrap().len(), 2, "{rows}");
}
