//! The result objects that `--json` prints, as `docs/results.md` promises them.

use garland_testkit::{Garland, RunOutput, Scratch, random_file};
use serde_json::{Value, json};

/// What every object begins with, in the order that people read it.
const HEAD: [&str; 6] = ["schema", "run", "command", "elapsed_ns", "phases", "limit"];

/// The object that `arguments` print, figures and names that differ from run to run replaced, and
/// its phases proven to sum to the whole.
#[track_caller]
fn object(scratch: &Scratch, arguments: &[&str]) -> String {
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), scratch);
    let said = garland.run(&[&["--json"], arguments].concat()).with_code(0);
    let mut value = parse(&said);
    assert_begins_in_order(&said.out);
    let sum: u64 = phases(&value).iter().filter_map(|phase| phase["ns"].as_u64()).sum();
    assert_eq!(Some(sum), value["elapsed_ns"].as_u64(), "the phases don't sum to the whole");
    let command = value["command"].as_array_mut().expect("a result has its command");
    command[0] = json!("garland");
    let folder = scratch.folder().display().to_string();
    still(&mut value, &folder);
    lines(&value)
}

/// A line for each field and for each item of a list of objects: the head first, then by name.
fn lines(value: &Value) -> String {
    let fields = value.as_object().expect("it is an object");
    let rest = fields.keys().map(String::as_str).filter(|field| !HEAD.contains(field));
    let mut text = String::new();
    for field in HEAD.into_iter().chain(rest) {
        match &fields[field] {
            Value::Array(items) if items.iter().any(Value::is_object) => {
                items.iter().for_each(|item| text += &format!("{field}[] {item}\n"));
            }
            other => text += &format!("{field} {other}\n"),
        }
    }
    text
}

#[track_caller]
fn parse(said: &RunOutput) -> Value {
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error} in {}", said.out))
}

#[track_caller]
fn assert_begins_in_order(text: &str) {
    let places = HEAD.map(|field| text.find(&format!("\n  \"{field}\": ")));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
    assert!(text.starts_with("{\n  \"schema\": \"garland."), "{text}");
}

fn phases(value: &Value) -> &[Value] {
    value["phases"].as_array().expect("a result has phases")
}

/// Replaces what differs from run to run.
fn still(value: &mut Value, folder: &str) {
    const FIGURES: &[&str] = &[
        "ns",
        "begin_ns",
        "elapsed_ns",
        "rate",
        "stream_rate",
        "memory",
        "cpu_ns",
        "opening_ns",
        "run",
        "keeper",
        "age",
        "age_s",
        "release",
        "sent",
        "received",
        "log",
        "rootless",
        "root",
        "whole_s",
        "predicted_s",
        "predicted",
        "emulated",
        "median",
        "busy",
        "worst",
        "carried",
        "stream_s",
        "mean",
        "most",
    ];
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                // A lab's topology is documented where it is read.
                let is_figure = FIGURES.contains(&name.as_str()) && !field.is_object();
                if (is_figure && !field.is_null()) || name == "topology" || name == "topologies" {
                    *field = json!(name.to_uppercase());
                } else {
                    still(field, folder);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| still(item, folder)),
        Value::String(text) => *text = text.replace(folder, "SCRATCH"),
        _ => {}
    }
}

#[test]
fn cp() {
    let scratch = Scratch::new("result-cp");
    random_file(&scratch.path("f"), 100_000, 1);
    insta::assert_snapshot!(object(&scratch, &["cp", "f", "local1:/x"]), @r#"
    schema "garland.cp/2"
    run "RUN"
    command ["garland","--json","cp","f","local1:/x"]
    elapsed_ns "ELAPSED_NS"
    phases[] {"name":"set-up","ns":"NS"}
    phases[] {"name":"first byte","ns":"NS"}
    phases[] {"name":"stream","ns":"NS"}
    phases[] {"name":"drain","ns":"NS"}
    phases[] {"name":"fsync","ns":"NS"}
    phases[] {"name":"teardown","ns":"NS"}
    limit null
    agents_started true
    already 0
    bytes 100000
    comparison[] {"begin_ns":"BEGIN_NS","node":"local1","ns":"NS"}
    congestion "cubic"
    direction "out"
    faults []
    in_place false
    interrupted false
    nodes[] {"already":0,"bytes":100000,"checksum":null,"cpu_ns":"CPU_NS","detached":false,"memory":"MEMORY","name":"local1","opening_ns":"OPENING_NS","rate":"RATE","reason":null,"removed":0,"reopened":0,"verdict":"ok","verified":false}
    rate "RATE"
    sent_bytes 100032
    shared false
    stages[] {"mean":"MEAN","most":"MOST","node":null,"stage":"read"}
    stages[] {"mean":"MEAN","most":"MOST","node":null,"stage":"ready"}
    stages[] {"mean":"MEAN","most":"MOST","node":"local1","stage":"write"}
    stream_rate "STREAM_RATE"
    tree null
    unread []
    unusable []
    "#);
}

#[test]
fn exec() {
    let scratch = Scratch::new("result-exec");
    insta::assert_snapshot!(object(&scratch, &["exec", "local1", "--", "echo", "x"]), @r#"
    schema "garland.exec/2"
    run "RUN"
    command ["garland","--json","exec","local1","--","echo","x"]
    elapsed_ns "ELAPSED_NS"
    phases[] {"name":"set-up","ns":"NS"}
    phases[] {"name":"command","ns":"NS"}
    phases[] {"name":"teardown","ns":"NS"}
    limit null
    nodes[] {"exit_code":0,"name":"local1","reason":null,"stderr":"","stdout":"x\n","verdict":"ok"}
    "#);
}

#[test]
fn up_status_and_down() {
    let scratch = Scratch::new("result-up");
    insta::assert_snapshot!(object(&scratch, &["up", "local1"]), @r#"
    schema "garland.up/2"
    run "RUN"
    command ["garland","--json","up","local1"]
    elapsed_ns "ELAPSED_NS"
    phases[] {"name":"set-up","ns":"NS"}
    phases[] {"name":"start","ns":"NS"}
    phases[] {"name":"link","ns":"NS"}
    limit null
    nodes[] {"links":0,"log":"LOG","name":"local1","reason":null,"unreachable":[],"verdict":"ok"}
    "#);
    insta::assert_snapshot!(object(&scratch, &["status"]), @r#"
    schema "garland.status/2"
    run null
    command ["garland","--json","status"]
    elapsed_ns "ELAPSED_NS"
    phases[] {"name":"set-up","ns":"NS"}
    phases[] {"name":"ask","ns":"NS"}
    limit null
    nodes[] {"age_s":"AGE_S","links":0,"log":"LOG","name":"local1","reason":null,"release":"RELEASE","unreachable":[],"verdict":"ok"}
    "#);
    insta::assert_snapshot!(object(&scratch, &["down", "local[1-2]"]), @r#"
    schema "garland.down/2"
    run null
    command ["garland","--json","down","local[1-2]"]
    elapsed_ns "ELAPSED_NS"
    phases[] {"name":"set-up","ns":"NS"}
    phases[] {"name":"end","ns":"NS"}
    limit null
    nodes[] {"links":null,"log":null,"name":"local1","reason":null,"unreachable":[],"verdict":"ok"}
    nodes[] {"links":null,"log":null,"name":"local2","reason":"no agent was up","unreachable":[],"verdict":"skipped"}
    "#);
}

#[test]
fn labs() {
    let scratch = Scratch::new("result-lab");
    insta::assert_snapshot!(object(&scratch, &["lab", "up", "--nodes", "1"]), @r#"
    schema "garland.lab-up/2"
    run null
    command ["garland","--json","lab","up","--nodes","1"]
    elapsed_ns "ELAPSED_NS"
    phases[] {"name":"build","ns":"NS"}
    limit null
    check null
    lab {"age":"AGE","delay":null,"delay_by":null,"keeper":"KEEPER","media":[{"carried":"CARRIED","lost":0,"name":"switch","stations":2}],"nodes":[{"address":"10.88.0.10","name":"n0","nics":[{"lost":0,"medium":"switch","name":"eth0","received":"RECEIVED","sent":"SENT"}],"processes":[],"root":"ROOT"},{"address":"10.88.0.11","name":"n1","nics":[{"lost":0,"medium":"switch","name":"eth0","received":"RECEIVED","sent":"SENT"}],"processes":[],"root":"ROOT"}],"rootless":"ROOTLESS","spec":{"name":"lab","roots":null,"topology":"TOPOLOGY"}}
    "#);
    insta::assert_snapshot!(object(&scratch, &["lab", "status"]), @r#"
    schema "garland.lab-status/2"
    run null
    command ["garland","--json","lab","status"]
    elapsed_ns "ELAPSED_NS"
    phases[] {"name":"ask","ns":"NS"}
    limit null
    labs[] {"age":"AGE","delay":null,"delay_by":null,"keeper":"KEEPER","media":[{"carried":"CARRIED","lost":0,"name":"switch","stations":2}],"nodes":[{"address":"10.88.0.10","name":"n0","nics":[{"lost":0,"medium":"switch","name":"eth0","received":"RECEIVED","sent":"SENT"}],"processes":[],"root":"ROOT"},{"address":"10.88.0.11","name":"n1","nics":[{"lost":0,"medium":"switch","name":"eth0","received":"RECEIVED","sent":"SENT"}],"processes":[],"root":"ROOT"}],"rootless":"ROOTLESS","spec":{"name":"lab","roots":null,"topology":"TOPOLOGY"}}
    "#);
    insta::assert_snapshot!(object(&scratch, &["lab", "down"]), @r#"
    schema "garland.lab-down/2"
    run null
    command ["garland","--json","lab","down"]
    elapsed_ns "ELAPSED_NS"
    phases[] {"name":"end","ns":"NS"}
    limit null
    lab "lab"
    was_up true
    "#);
}

#[test]
fn scenarios() {
    let scratch = Scratch::new("result-scenarios");
    let shown = object(&scratch, &["scenario", "list"]);
    let (head, scenarios) = shown.split_once("scenarios[] ").expect("there are scenarios");
    insta::assert_snapshot!(head, @r#"
    schema "garland.scenario-list/2"
    run null
    command ["garland","--json","scenario","list"]
    elapsed_ns "ELAPSED_NS"
    phases[] {"name":"read","ns":"NS"}
    limit null
    "#);
    for field in ["name", "question", "source", "topologies", "job", "published", "answer"] {
        assert!(scenarios.contains(&format!("\"{field}\":")), "{field} in {scenarios}");
    }
}

const SCENARIO: &str = r#"
version = 1
name = "small"
question = "Does it run?"
source = "a test"

[topology]
shape = "switch"
nodes = 1
rate = "1gbit"

[job]
kind = "broadcast"
bytes = "1MB"
receivers = [1]
steps = ["cold"]

[emulation]
error = 0.01
reason = "a test"

[[published]]
receivers = 1
seconds = "1.0 - 2.0"
rate = "1.0"

[[statement]]
what = "a figure"
published = "7m18s"
figure = "what nothing measures"
"#;

#[test]
fn a_topology() {
    let scratch = Scratch::new("result-net-show");
    let star = "version = 1\n[topology]\nshape = \"star\"\nnodes = 2\nrate = \"100mbit\"\n";
    std::fs::write(scratch.path("star.toml"), star).expect("it can be written");
    let shown = object(&scratch, &["net", "show", "star.toml", "--svg", "star.svg"]);
    for line in [
        "schema \"garland.net-show/2\"\nrun null\n",
        "phases[] {\"name\":\"read\",\"ns\":\"NS\"}\nphases[] {\"name\":\"compute\",\"ns\":\"NS\"}\n",
        "bounds[] {\"by_chance\":null,\"each\":[94148244.473342,94148244.473342],",
        "\"cables\":{\"crossed\":2}",
        "price 0\n",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    let svg = std::fs::read_to_string(scratch.path("star.svg")).expect("it is drawn");
    assert!(svg.starts_with("<svg xmlns=") && svg.contains(">n2</text>"), "{svg}");
}

#[test]
fn sizes_of_stars() {
    let scratch = Scratch::new("result-net-size");
    let star = ["net", "size", "--card-slots", "1", "--onboard", "1", "--cable-price", "2.50"];
    insta::assert_snapshot!(object(&scratch, &star), @r#"
    schema "garland.net-size/2"
    run null
    command ["garland","--json","net","size","--card-slots","1","--onboard","1","--cable-price","2.50"]
    elapsed_ns "ELAPSED_NS"
    phases[] {"name":"compute","ns":"NS"}
    limit null
    clusters[] {"cables":2,"cards":1,"cluster":"one star","nics":4,"nodes":3,"nodes_per_join":0.0,"price":500,"servers":1}
    clusters[] {"cables":3,"cards":2,"cluster":"two, joined by a wire","nics":6,"nodes":4,"nodes_per_join":1.0,"price":750,"servers":2}
    clusters[] {"cables":3,"cards":0,"cluster":"two, joined by a faster card","nics":6,"nodes":4,"nodes_per_join":0.0,"price":750,"servers":2}
    ports 2
    prices {"cable":250,"card":0,"faster":0,"nic":0}
    server {"onboard":1,"ports":1,"slots":1}
    "#);
}

#[test]
fn a_scenario() {
    let scratch = Scratch::new("result-scenario");
    std::fs::write(scratch.path("small.toml"), SCENARIO).expect("it can be written");
    let text = object(&scratch, &["scenario", "run", "--quick", "small.toml"]);
    // A machine that is busy with other tests makes the copy void.
    let agreement = r#"agreement {"count":1,"median":"MEDIAN","void":0,"worst":"WORST"}"#;
    let text = text.replace("agreement null", agreement).replace(",\"void\":true", "");
    insta::assert_snapshot!(text, @r#"
    schema "garland.scenario/4"
    run "RUN"
    command ["garland","--json","scenario","run","--quick","small.toml"]
    elapsed_ns "ELAPSED_NS"
    phases[] {"name":"set-up","ns":"NS"}
    phases[] {"name":"copies","ns":"NS"}
    phases[] {"name":"teardown","ns":"NS"}
    limit null
    agreement {"count":1,"median":"MEDIAN","void":0,"worst":"WORST"}
    broken null
    grades null
    measures []
    predicted_from ["wires: the rates of the topology's file, less the headers of Ethernet, IP and TCP","processors: what a byte costs, measured on this machine without any copy, at first use","set-up: the same commands with a file of one byte, before the copies","disks: those of the topology's file; where it has none, files are in this machine's memory","dolly's sync: the file's length by the rate of the condition's disk"]
    predictions[] {"emulated":"EMULATED","predicted":"PREDICTED","unit":"s","what":"garland, cold to 1"}
    repetitions[] {"bytes":1000000,"limit_s":0.008497237569060774,"refused":[],"rows":[{"busy":"BUSY","equal":true,"predicted_s":"PREDICTED_S","receivers":1,"short_s":null,"stream_s":"STREAM_S","tool":"cold","whole_s":"WHOLE_S","with":null}],"scale":1.0}
    scenario {"emulation":{"error":0.01,"reason":"a test"},"job":{"bytes":"1MB","kind":"broadcast","receivers":[1],"steps":["cold"]},"name":"small","published":[{"rate":"RATE","receivers":1,"seconds":"1.0 - 2.0","tool":"pipes"}],"question":"Does it run?","source":"a test","statement":[{"figure":"what nothing measures","published":"7m18s","what":"a figure"}],"topologies":"TOPOLOGIES"}
    statements[] {"fact":null,"grade":null,"measured":"","published":"7m18s","runs":[],"standing":"counted","statement":{"figure":{"published":"7m18s","resolution":0.5}},"unit":"","verdict":"ungraded","what":"a figure","with":[]}
    "#);
    scratch.assert_nothing_left();
}
