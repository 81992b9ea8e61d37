//! Forecasts from kept runs: those of real copies, and those that a run can leave behind.

use std::fs;
use std::path::PathBuf;

use garland_testkit::{Garland, Scratch, random_file};
use serde_json::{Value, json};

use crate::forecast::{at, garland, told};

/// A run's folder with this text as its result.
fn kept(scratch: &Scratch, name: &str, result: &str) -> String {
    let folder: PathBuf = scratch.path(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("result.json"), result).unwrap();
    format!("./{name}")
}

fn copy(nodes: usize, seconds: f64) -> Value {
    let ends = vec![json!({ "name": "n", "verdict": "ok" }); nodes];
    json!({ "schema": "garland.cp/2", "elapsed_ns": (seconds * 1e9) as u64, "bytes": 1 << 30, "nodes": ends })
}

#[test]
fn runs_of_real_copies_become_points() {
    let scratch = Scratch::new("forecast-real");
    random_file(&scratch.path("file"), 4 << 20, 3);
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let mut runs = Vec::new();
    for nodes in [1, 2, 4] {
        let to = format!("local[1-{nodes}]:/of-{nodes}");
        let said = garland.cp(&["--json", "file", &to]).with_code(0).json();
        runs.push((nodes, said["run"].as_str().unwrap().to_owned(), said["elapsed_ns"].as_u64()));
    }
    let names: Vec<&str> = runs.iter().map(|(_, name, _)| name.as_str()).collect();
    let said = garland.run(&[&["forecast", "--nodes", "8", "--json"], &names[..]].concat());
    // How long local copies take is the machine's affair: they may be quicker with more nodes.
    if said.code == 2 {
        assert!(said.err.contains("these runs differ in more than the"), "{}", said.err);
        return;
    }
    let result = said.with_code(0).json();
    assert_eq!((&result["work"], &result["bytes"]), (&json!("growing"), &json!(4 << 20)));
    for (point, (nodes, name, elapsed)) in result["points"].as_array().unwrap().iter().zip(&runs) {
        assert_eq!((&point["nodes"], &point["source"]), (&json!(nodes), &json!(name)));
        let seconds = point["seconds"].as_f64().unwrap();
        assert!((seconds * 1e9 - elapsed.unwrap() as f64).abs() < 1e3);
    }
}

#[test]
fn a_copys_chain_is_forecast_over_its_topology() {
    let scratch = Scratch::new("forecast-chain");
    let times = [(1, 9.5), (2, 9.6), (4, 9.8), (8, 10.2)];
    let runs: Vec<String> = times
        .iter()
        .map(|(n, time)| kept(&scratch, &format!("of-{n}"), &copy(*n, *time).to_string()))
        .collect();
    let names: Vec<&str> = runs.iter().map(String::as_str).collect();
    let over = ["--topology", "switch", "--rate", "1gbit", "--nodes", "8,16"];
    let result = told(&scratch, &[&["forecast"], &names[..], &over].concat());
    let seconds = at(&result, 16)["seconds"].as_f64().unwrap();
    assert!((seconds - 11.0).abs() < 0.05, "{seconds}");
    let simulated = result["simulated"][0]["seconds"].as_f64().unwrap();
    assert!((simulated - 9.13).abs() < 0.02, "{simulated}");
    // The wires of a tenth of the rate can't have done that.
    let over = ["--topology", "switch", "--rate", "100mbit"];
    let said = garland(&scratch, &[&["forecast"], &names[..], &over].concat()).with_code(2);
    assert!(said.err.contains("n0 eth0 out alone needs"), "{}", said.err);
}

#[test]
fn runs_that_say_too_little_are_named() {
    let scratch = Scratch::new("forecast-kept");
    let fine = kept(&scratch, "fine", &copy(1, 9.0).to_string());
    let refused = |result: &str, expected: &str| {
        let other = kept(&scratch, "other", result);
        let said = garland(&scratch, &["forecast", &fine, &other]).with_code(2);
        assert!(said.err.contains(expected), "{expected}\n{}", said.err);
    };
    refused("{\"schema\": \"garland.cp", "is not a valid result");
    refused("[]", "is not a valid result");
    refused(
        &json!({ "schema": "garland.ping/2", "elapsed_ns": 1 }).to_string(),
        "cannot forecast from",
    );
    refused(&json!({ "schema": "garland.cp/7", "elapsed_ns": 1 }).to_string(), "garland.cp/7");
    let mut half = copy(2, 9.1);
    half["bytes"] = json!(1 << 29);
    refused(&half.to_string(), "are not runs of the same work");
    let mut died = copy(2, 9.1);
    died["nodes"][1]["verdict"] = json!("dead");
    refused(&died.to_string(), "all points are at 1 nodes");
    let farm = json!({ "schema": "garland.farm/2", "elapsed_ns": 1, "total": 5.0, "jobs": 3, "done": 3, "nodes": [] });
    refused(&farm.to_string(), "are not runs of the same work");
    fs::remove_file(scratch.path("other").join("result.json")).unwrap();
    let said = garland(&scratch, &["forecast", &fine, "./other"]).with_code(2);
    assert!(said.err.contains("has no result.json"), "{}", said.err);
}

#[test]
fn farms_bring_their_jobs_and_bytes() {
    let scratch = Scratch::new("forecast-farms");
    let farm = |nodes: usize, total: f64| {
        let ends = vec![json!({ "name": "n", "verdict": "ok" }); nodes];
        let record = json!({ "job": 1, "bytes_in": 1_000_000, "bytes_out": 250_000,
            "started": 1.0, "ended": 9.95 });
        json!({ "schema": "garland.farm/2", "elapsed_ns": 1, "total": total, "jobs": 24, "done": 24,
            "nodes": ends, "records": vec![record; 24] })
    };
    let times = [(1, 241.0), (2, 121.2), (4, 61.0), (8, 31.1)];
    let runs: Vec<String> = times
        .iter()
        .map(|(n, t)| kept(&scratch, &format!("f{n}"), &farm(*n, *t).to_string()))
        .collect();
    let names: Vec<&str> = runs.iter().map(String::as_str).collect();
    let over = ["--topology", "hub", "--rate", "10mbit", "--nodes", "16,24"];
    let result = told(&scratch, &[&["forecast"], &names[..], &over].concat());
    let busy = result["limits"][0]["seconds"].as_f64().unwrap();
    assert!((busy - 30e6 * 8.0 / (10e6 * 1448.0 / 1583.0)).abs() < 0.1, "{busy}");
    // 24 jobs on 16 nodes are two rounds, as on 12.
    let times = [16, 24].map(|nodes| at(&result, nodes)["seconds"].as_f64().unwrap());
    assert!(times[0] < 31.1 && times[1] < times[0] && times[1] > busy - 1.0, "{times:?}");
    // The records say what each job is, so that the simulator can run them.
    let simulated = result["simulated"].as_array().unwrap();
    let notes = result["notes"].to_string();
    assert!(simulated.len() == 2 || notes.contains("the simulator is"), "{simulated:?} {notes}");
}

#[test]
fn nodes_of_a_lab_share_its_processors_and_those_have_a_knee() {
    let scratch = Scratch::new("forecast-emulated");
    let count = std::thread::available_parallelism().unwrap().get() as f64;
    // Each of 24 jobs computes for 2 s in 4 s.
    let farm = |nodes: usize, total: f64, lab: &str| {
        let ends: Vec<_> = (1..=nodes)
            .map(|node| json!({ "name": format!("{lab}n{node}"), "verdict": "ok" }))
            .collect();
        let record = json!({ "job": 1, "started": 1.0, "ended": 5.0, "cpu": 2.0 });
        json!({ "schema": "garland.farm/2", "elapsed_ns": 1, "total": total, "jobs": 24, "done": 24,
            "nodes": ends, "records": vec![record; 24] })
    };
    // As many nodes as keep the processors half busy.
    let of = |lab: &str| {
        let runs = [1, 2].map(|half| {
            let nodes = half * count as usize;
            let name = format!("{lab}{nodes}").replace(':', "");
            kept(&scratch, &name, &farm(nodes, 96.0 / nodes as f64, lab).to_string())
        });
        let once = &runs[0];
        let twice = &runs[1];
        let more = format!("{},{}", 4 * count as usize, 8 * count as usize);
        let words = ["forecast", once.as_str(), twice.as_str(), "--nodes", more.as_str()];
        garland(&scratch, &[&words[..], &["--json"]].concat())
    };
    let result = of("lab:").with_code(0).json();
    let limit = &result["limits"][0];
    assert_eq!(limit["name"], "processors of this machine", "{result}");
    let busy = limit["seconds"].as_f64().unwrap();
    assert!((busy - 48.0 / count).abs() < 1e-6, "{result}");
    assert_eq!(result["forecast"]["knee"]["resource"], "processors of this machine");
    let seconds = at(&result, 8 * count as u32)["seconds"].as_f64().unwrap();
    assert!(seconds > 0.99 * 48.0 / count, "more nodes have no more processors: {seconds} s");
    // Nothing is assumed of other machines, and without a limit two node counts are too few.
    let said = of("").with_code(2);
    assert!(said.err.contains("node counts"), "{}", said.err);
}

#[test]
fn what_a_launcher_takes_for_each_node_is_its_own_knee() {
    let scratch = Scratch::new("forecast-launcher");
    let counts = [1, 2, 4, 8];
    let runs = counts.map(|nodes| {
        let mut result = copy(nodes, 9.0 + 0.2 * nodes as f64);
        let set_up = 500_000_000 + 190_000_000 * nodes as u64;
        let all = result["elapsed_ns"].as_u64().unwrap();
        result["phases"] = json!([{ "name": "set-up", "ns": set_up },
            { "name": "stream", "ns": all - set_up }]);
        kept(&scratch, &format!("l{nodes}"), &result.to_string())
    });
    let names: Vec<&str> = runs.iter().map(String::as_str).collect();
    let result = told(&scratch, &[&["forecast"], &names[..], &["--nodes", "16"]].concat());
    let knee = &result["forecast"]["knee"];
    assert!(knee["resource"].as_str().unwrap().contains("launcher"), "{knee}");
}
