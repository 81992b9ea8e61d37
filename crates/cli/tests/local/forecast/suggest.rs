//! Plans that are suggested.

use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::time::{Duration, SystemTime};

use garland_sys::process;
use garland_testkit::Scratch;
use serde_json::{Value, json};

use crate::forecast::{garland, told};

#[test]
fn large_files_go_down_a_chain_and_small_ones_to_many_branch() {
    let scratch = Scratch::new("suggest");
    let of = |bytes: &str, nodes: &str, more: &[&str]| {
        let words = ["plan", "suggest", bytes, "--nodes", nodes, "--rate", "1gbit", "--topology"];
        told(&scratch, &[&words[..], more].concat())
    };
    let chain = of("1GiB", "20", &["switch"]);
    assert_eq!(chain["plans"][0]["shape"], "chain");
    let seconds = chain["plans"][0]["seconds"].as_f64().unwrap();
    assert!((9.1..9.4).contains(&seconds), "{seconds}");
    assert!(chain["options"].as_str().unwrap().contains("--shape chain"));
    assert!(of("1MB", "500", &["switch"])["options"].as_str().unwrap().contains("--shape twins"));
    let rails = of("1GiB", "20", &["switch", "--nics", "2"]);
    assert!(rails["options"].as_str().unwrap().contains("--rails 2"), "{}", rails["why"]);
    // Nodes of an isolated star see the head only.
    let star = told(&scratch, &["plan", "suggest", "1GiB", "--topology", "p2p-star"]);
    assert!(star["plans"].as_array().unwrap().iter().all(|plan| plan["shape"] == "star"), "{star}");
    let text = garland(&scratch, &["plan", "suggest", "1GiB", "--topology", "hub10"]).with_code(0);
    assert!(text.out.contains("why     "), "{}", text.out);
    let none = garland(&scratch, &["plan", "suggest", "much", "--topology", "hub10"]);
    assert_eq!(none.code, 2);
}

#[test]
fn options_of_the_copy_change_its_time_and_are_printed() {
    let scratch = Scratch::new("suggest-options");
    let of = |rate: &str, more: &[&str]| {
        let words = ["plan", "suggest", "100MB", "--topology", "switch", "--nodes", "3", "--rate"];
        told(&scratch, &[&words[..], &[rate], more].concat())
    };
    let seconds = |told: &Value| told["plans"][0]["seconds"].as_f64().unwrap();
    let limited = of("1gbit", &["--bwlimit", "10MB/s"]);
    assert!((10.0..10.2).contains(&seconds(&limited)), "{limited}");
    assert_eq!(limited["plans"][0]["limit"], "limit of links");
    let options = limited["options"].as_str().unwrap();
    assert!(options.ends_with("--bwlimit 80000000bit"), "{options}");
    let plain = of("100mbit", &["--no-encrypt"]);
    assert!(plain["options"].as_str().unwrap().ends_with("--no-encrypt"));
}

/// Two switches with a slow trunk between them; the names of their nodes alternate.
const TRUNK: &str = r#"
version = 1
[topology]
shape = "explicit"
nodes = "n[0-6]"
rate = "100mbit"
medium = [{ name = "a", kind = "switch" }, { name = "b", kind = "switch" }]
uplink = [{ from = "a", to = "b", rate = "20mbit" }]
"#;

#[test]
fn an_order_that_crosses_a_trunk_once_is_suggested() {
    let scratch = Scratch::new("suggest-trunk");
    let nic = |node: usize| {
        let medium = ["a", "b"][node % 2];
        let address = node + 1;
        format!(
            "[[topology.nic]]\nnodes = \"n{node}\"\nmedium = \"{medium}\"\naddress = \"10.0.0.{address}/24\"\n"
        )
    };
    let text = format!("{TRUNK}{}", (0..=6).map(nic).collect::<String>());
    fs::write(scratch.path("trunk.toml"), text).expect("there is room");
    let result = told(&scratch, &["plan", "suggest", "8MiB", "--topology", "trunk.toml"]);
    let best = &result["plans"][0];
    assert_eq!(best["order"], "n2,n4,n6,n1,n3,n5", "{result}");
    // 8 MiB of payload over 20 Mbit/s take 3.57 s.
    assert!((3.57..3.8).contains(&best["seconds"].as_f64().unwrap()), "{result}");
    assert!(
        result["options"].as_str().unwrap().starts_with("--order 'n2,n4,n6,n1,n3,n5' "),
        "{result}"
    );
    assert!(result["why"].as_str().unwrap().contains("in the order of the list 10."), "{result}");
}

#[test]
fn what_wires_measured_in_the_last_day_decides_the_order_of_a_copy() {
    let scratch = Scratch::new("suggest-wires");
    let direction = |from: usize, to: usize| {
        let rate = if from % 2 == to % 2 { 11.7e6 } else { 2.3e6 };
        json!({"from": format!("local{from}"), "to": format!("local{to}"), "rate": rate})
    };
    let pairs = (1..=6).flat_map(|from| (1..=6).map(move |to| (from, to)));
    let pairs = pairs.filter(|(from, to)| from != to).map(|(from, to)| direction(from, to));
    let nodes: Vec<Value> = (1..=6).map(|node| json!({"name": format!("local{node}")})).collect();
    let result = json!({
        "schema": "garland.wires/2", "nodes": nodes, "directions": pairs.collect::<Vec<_>>()
    });
    let run = scratch.state().join(process::host_name()).join("runs/20200101-000000-wires-0000");
    // Others must not read the state directory.
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&run).expect("it can be made");
    fs::write(run.join("result.json"), result.to_string()).expect("there is room");
    File::create(scratch.path("source")).and_then(|file| file.set_len(64 << 20)).expect("room");
    let dry = |options: &[&str]| {
        let words = [&["cp", "--dry-run", "--json", "source", "local[1-6]:/x"], options].concat();
        garland(&scratch, &words).with_code(0).json()
    };
    let names = |plan: &Value| {
        let nodes = plan["nodes"].as_array().expect("a plan has nodes").iter().skip(1);
        nodes.map(|node| node["name"].as_str().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    let plan = dry(&[]);
    let order = ["local1", "local3", "local5", "local2", "local4", "local6"];
    assert_eq!(names(&plan), order, "{plan}");
    let suggested = told(&scratch, &["plan", "suggest", "64MiB", "local[1-6]"]);
    let options = suggested["options"].as_str().expect("a text").replace('\'', "");
    assert_eq!(dry(&options.split(' ').collect::<Vec<_>>()), plan, "{options}");
    assert_eq!(
        names(&dry(&["--order", "list"])),
        ["1", "2", "3", "4", "5", "6"].map(|it| format!("local{it}"))
    );
    // Long after that nobody knows how the wires are.
    let before = SystemTime::UNIX_EPOCH + Duration::from_hours(48);
    File::options()
        .append(true)
        .open(run.join("result.json"))
        .and_then(|file| file.set_modified(before))
        .expect("an old file");
    assert_eq!(names(&dry(&[]))[1], "local2");
    let said = garland(&scratch, &["plan", "suggest", "64MiB", "local[1-6]"]).with_code(2);
    assert!(said.err.contains("the wires between local[1-6] are not known"), "{}", said.err);
}
