//! Copies over several topologies, one or several at once.

use garland_testkit::{Garland, Scratch};
use serde_json::Value;

use crate::{STAR, predictions, run};

const COPY: &str = "\
version = 1
name = \"copy\"
question = \"Does it run?\"
source = \"a test\"
answer = \"It does.\"
topologies = [\"star.toml\", \"switch100\"]
[job]
kind = \"copy\"
bytes = \"10MB\"
scale = 0.1
to = \"n2\"
by = [\"cp\", \"mount\"]
[tolerance]
least_of_bound = 0.1
[[published]]
topology = \"switch100\"
seconds = 2.0
rate = 5.0
";

const PAIRS: &str = "\
version = 1
name = \"pairs\"
question = \"Does it run?\"
source = \"a test\"
answer = \"It does.\"
topologies = [\"star.toml\", \"switch100\"]
[job]
kind = \"pairs\"
bytes = \"1MB\"
counts = [1, 2]
[[job.wire]]
name = \"local\"
pairs = [[\"n2\", \"srv\"], [\"n4\", \"n3\"]]
[[job.wire]]
name = \"remote\"
pairs = [[\"n1\", \"n2\"], [\"n3\", \"srv\"]]
[tolerance]
least_of_bound = 0.1
";

/// Wires allow what they are; so near to it is nobody with a file this small.
fn assert_slower_than_wires(row: &Value) {
    let seconds = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("no {key}: {row}"));
    assert!(seconds("whole_s") > seconds("bound_s"), "{row}");
    assert!(seconds("bound_s") > 0.01, "{row}");
}

#[test]
fn a_copy_over_two_topologies_stands_beside_their_wires() {
    let scratch = Scratch::new("scenario-copy");
    let result = run(&scratch, COPY, 0);
    assert_eq!(result["bytes"], 1_000_000, "a tenth, as the file says");
    assert_eq!(result["reproduced"], true, "{result}");
    let rows = result["rows"].as_array().unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let names: Vec<_> =
        rows.iter().map(|row| text(row, "topology") + " " + &text(row, "by")).collect();
    assert_eq!(names, ["star cp", "star mount", "switch100 cp", "switch100 mount"]);
    for row in rows {
        assert_eq!(row["equal"], true);
        assert_slower_than_wires(row);
    }
    for (row, [predicted, _]) in rows.iter().zip(predictions(&result, 4)) {
        assert!(predicted > row["bound_s"].as_f64().unwrap(), "starting takes time: {row}");
    }
    let ratio = rows[0]["bound_s"].as_f64().unwrap() / rows[2]["bound_s"].as_f64().unwrap();
    assert!((ratio - 2.0).abs() < 1e-6, "{ratio}");
}

#[test]
fn what_was_published_above_its_wires_is_no_such_experiment() {
    let scratch = Scratch::new("scenario-miss");
    let result = run(&scratch, &COPY.replace("rate = 5.0", "rate = 12.5"), 4);
    assert_eq!(result["reproduced"], false);
    let miss = result["miss"].as_str().unwrap();
    assert!(miss.contains("switch100: the published 12.5 MiB/s is above the 11.2"), "{miss}");
}

#[test]
fn pairs_copy_at_once_where_their_wire_is() {
    let scratch = Scratch::new("scenario-pairs");
    let forwarded = PAIRS.replace("[\"n4\", \"n3\"]", "[\"n3\", \"n4\"]");
    // The star has no n4, and no pair without the head on one wire.
    let path = scratch.path("wrong.toml");
    std::fs::write(scratch.path("star.toml"), STAR).expect("it can be written");
    std::fs::write(&path, forwarded).expect("it can be written");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let said = garland.run(&["scenario", "run", &path.display().to_string()]).with_code(2);
    assert!(said.err.contains("star has no node n4"), "{}", said.err);

    let switch =
        PAIRS.replace("\"star.toml\", ", "").replace("[\"n1\", \"n2\"]", "[\"n4\", \"n2\"]");
    let result = run(&scratch, &switch, 0);
    let rows = result["rows"].as_array().unwrap();
    let shown = |row: &Value| (row["wire"].clone(), row["pairs"].clone());
    assert_eq!(
        rows.iter().map(shown).collect::<Vec<_>>(),
        [("local".into(), 1.into()), ("local".into(), 2.into())]
    );
    rows.iter().for_each(assert_slower_than_wires);
    predictions(&result, 2);

    let star = PAIRS.replace(", \"switch100\"", "").replace(", [\"n4\", \"n3\"]", "");
    let star = star.replace(", [\"n3\", \"srv\"]", "").replace("[1, 2]", "[1]");
    let result = run(&scratch, &star, 0);
    let wires: Vec<_> =
        result["rows"].as_array().unwrap().iter().map(|row| row["wire"].clone()).collect();
    assert_eq!(wires, ["local", "remote"]);
}
