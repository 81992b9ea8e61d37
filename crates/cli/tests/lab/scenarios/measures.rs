//! Gets, and copies within and between nodes.

use garland_testkit::{Garland, Scratch};

use crate::scenarios::{only, predictions, run};

const BALANCE: &str = "\
version = 1
name = \"balance\"
question = \"Does it run?\"
source = \"a test\"
topologies = [\"switch100\"]
[job]
kind = \"balance\"
sizes = [\"400kB\"]
scale = 0.5
remote = [0, 1, 2]
block = \"16KiB\"
disk = \"2MB/s\"
[[job.wire]]
name = \"local\"
pairs = [[\"n2\", \"srv\"], [\"n3\", \"n4\"]]
[job.upgrade]
topology = \"switch100\"
remote = [0]
[emulation]
error = 0.01
reason = \"a test\"
[[published]]
topology = \"switch100\"
wire = \"local\"
size = \"400kB\"
best = 2
rate = \"3.0\"
";

const PING: &str = "\
version = 1
name = \"ping\"
question = \"Does it run?\"
source = \"a test\"
topologies = [\"star.toml\"]
[job]
kind = \"ping\"
from = \"n1\"
to = \"srv\"
transports = [\"tcp\", \"shm\"]
wait = \"block\"
count = 300
sizes = [0, 8]
deep_size = 8
in_flight = [1, 4]
[emulation]
error = 0.01
reason = \"a test\"
[[published]]
bytes = 8
in_flight = 1
us = \"2.35\"
rate = \"3.40\"
";

#[test]
fn gets_stand_beside_the_published_ones() {
    let scratch = Scratch::new("scenario-ping");
    let result = run(&scratch, PING);
    let lines: Vec<_> = only(&result)["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let each = row["each_ns"].as_f64().unwrap();
            assert!(each > 0.0 && row["count"].as_u64() >= Some(300), "{row}");
            (
                row["transport"].as_str().unwrap(),
                row["size"].as_u64().unwrap(),
                row["in_flight"].as_u64().unwrap(),
            )
        })
        .collect();
    let of =
        |name| [(name, 0, 1), (name, 4, 1), (name, 8, 1), (name, 8, 1), (name, 8, 2), (name, 8, 4)];
    assert_eq!(lines, [of("tcp"), of("shm")].concat());
    // In shared memory nothing is in flight.
    predictions(&result, 1);
    let measures = result["measures"].as_array().unwrap();
    let shown = |one: &serde_json::Value| {
        assert!(one["runs"][0]["value"].as_f64() > Some(0.0), "{one}");
        one["what"].as_str().unwrap().to_owned()
    };
    let names: Vec<_> = measures.iter().map(shown).collect();
    assert_eq!(names, ["8 bytes, 1 in flight", "8 bytes, 1 in flight, rate"]);
    // What can't be done is refused before a lab is built.
    let path = scratch.path("wrong.toml");
    std::fs::write(&path, PING.replace("bytes = 8", "bytes = 16")).expect("it can be written");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let said = garland.run(&["scenario", "run", &path.display().to_string()]).with_code(2);
    assert!(
        said.err.contains("16 bytes, 1 in flight is published, but not measured"),
        "{}",
        said.err
    );
}

#[test]
fn copies_within_and_between_nodes_stand_beside_their_disks_and_wires() {
    let scratch = Scratch::new("scenario-balance");
    // Programs beside it can make the processors the limit; in one of a few runs the disks are.
    let is_undisturbed = |result: &serde_json::Value| {
        let table = only(result);
        let rate = |at: usize| table["upgrades"][at]["rate"].as_f64();
        let rows = table["rows"].as_array().unwrap();
        rows.iter().all(|row| row["resource"] == "disk") && rate(0) > rate(1).map(|it| 1.3 * it)
    };
    let mut runs = (0..4).map(|_| run(&scratch, BALANCE));
    let result = runs.find(is_undisturbed).expect("disks are the limit in one of four runs");
    let rows = only(&result)["rows"].as_array().unwrap();
    let remote: Vec<_> = rows.iter().map(|row| &row["remote"]).collect();
    assert_eq!(remote, [0, 1, 2]);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("no {key}: {row}"));
        assert_eq!(row["size"], 200_000, "half, as the file says");
        assert!(number("rate") < number("bound"), "{row}");
    }
    for (row, [predicted, _]) in rows.iter().zip(predictions(&result, 5)) {
        assert!((predicted / (row["bound"].as_f64().unwrap() / 1e6) - 1.0).abs() < 0.01, "{row}");
    }
    // A remote copy has two disks.
    assert!((rows[0]["bound"].as_f64().unwrap() - 2e6).abs() < 1.0, "{}", rows[0]);
    assert!((rows[2]["bound"].as_f64().unwrap() - 4e6).abs() < 1.0, "{}", rows[2]);
    let tried = only(&result)["upgrades"].as_array().unwrap();
    let faster: Vec<_> = tried.iter().map(|one| &one["faster"]).collect();
    assert_eq!(faster, ["disks", "wires"]);
}
