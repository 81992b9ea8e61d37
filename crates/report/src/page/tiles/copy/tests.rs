use serde_json::json;

use super::*;

fn sheet(result: Value) -> Sheet {
    Sheet { result, ..Sheet::default() }
}

#[test]
fn failed_nodes_come_before_slow_ones_and_few_reasons_are_named() {
    let dead = |at: usize, reason: &str| json!({ "name": format!("n{at}"), "verdict": "dead", "reason": reason });
    let slow = json!({ "name": "n8", "verdict": "ok", "slow": { "rate": 1_000_000, "others": 9_000_000 } });
    let mut nodes = vec![slow.clone(), json!({ "name": "n9", "verdict": "ok" })];
    nodes.extend((1..4).map(|at| dead(at, "<silent>")));
    let told = attention(&json!({ "nodes": nodes })).unwrap();
    assert!(told.contains("4 of 5") && told.contains("tile bad"), "{told}");
    let dead_at = told.find("<b>n[1-3]</b> dead: &lt;silent&gt;");
    let slow_at = told.find("<b>n8</b> fed on the side");
    assert!(dead_at.is_some() && dead_at < slow_at, "{told}");
    nodes.extend((10..16).map(|at| dead(at, &format!("reason {at}"))));
    let told = attention(&json!({ "nodes": nodes })).unwrap();
    assert!(
        told.contains("10 of 11") && !told.contains("n8") && told.contains("in the table"),
        "{told}"
    );
    assert!(attention(&json!({ "nodes": [slow] })).unwrap().contains("tile warn"));
    let fine = json!({ "nodes": [{ "name": "n1", "verdict": "ok" }] });
    assert!(attention(&fine).unwrap().contains(">none<"));
}

#[test]
fn a_copy_that_reached_no_node_begins_with_the_reason_and_advises_nothing() {
    let failed = json!({ "name": "n1", "verdict": "failed", "reason": "no room" });
    let result = json!({ "schema": "garland.cp/2", "elapsed_ns": 10, "nodes": [failed],
        "phases": [{ "name": "set-up", "ns": 9 }] });
    let tiles = of(&sheet(result)).collect::<String>();
    let attention = tiles.find("no room");
    assert!(attention.is_some() && attention < tiles.find(">Time<"), "{tiles}");
    assert!(!tiles.contains("Cost most"), "{tiles}");
}

#[test]
fn the_time_is_compared_with_the_limit_only_if_that_is_known() {
    let told = time(
        &json!({ "elapsed_ns": 10_000_000_000_u64, "rate": 7_000_000, "limit": { "rate": 14_000_000, "achieved": 0.5, "source": "wires" } }),
    );
    assert!(told.as_ref().unwrap().contains("5.00 s would do"), "{told:?}");
    assert!(told.unwrap().contains("width: 50.0%"));
    assert!(!time(&json!({ "elapsed_ns": 10, "limit": null })).unwrap().contains("would do"));
    assert_eq!(time(&json!({ "elapsed_ns": 0 })), None);
}
