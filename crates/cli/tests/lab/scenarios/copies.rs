//! Copies over several topologies, one or several at once.

use garland_testkit::{Garland, Scratch};
use serde_json::Value;

use crate::scenarios::{Ended, STAR, only, predictions, run, run_as};

const COPY: &str = "\
version = 1
name = \"copy\"
question = \"Does it run?\"
source = \"a test\"
topologies = [\"star.toml\", \"switch100\"]
[job]
kind = \"copy\"
bytes = \"10MB\"
scale = 0.1
to = \"n2\"
by = [\"cp\", \"mount\"]
[emulation]
error = 0.01
reason = \"a test\"
[[published]]
topology = \"switch100\"
seconds = \"0.86\"
rate = \"11.2\"
percent = \"100\"
[[statement]]
what = \"the copy over the switch\"
published = \"0.86\"
figure = \"switch100, time\"
[[statement]]
what = \"its rate\"
published = \"11.2\"
beside = true
figure = \"switch100, rate\"
[[statement]]
what = \"a figure\"
published = \"7m18s\"
figure = \"what nothing measures\"
";

const PAIRS: &str = "\
version = 1
name = \"pairs\"
question = \"Does it run?\"
source = \"a test\"
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
[emulation]
error = 0.01
reason = \"a test\"
";

/// A chain of pipes that takes a second more than its wire if programs start slowly. What was
/// published leaves half a second for whatever else the machine does: without slow starts it takes
/// 0.6 s, with them 1.6 s.
const CHAIN: &str = "\
version = 1
name = \"chain\"
question = \"Does it run?\"
source = \"a test\"
[topology]
shape = \"switch\"
nodes = 2
rate = \"100mbit\"
[job]
kind = \"broadcast\"
bytes = \"5MB\"
receivers = [2]
steps = [\"pipes\"]
[[job.condition]]
name = \"one page\"
source = \"a test\"
pipe = \"4KiB\"
block = \"8KiB\"
[[job.condition]]
name = \"slow starts\"
source = \"another test\"
start = \"500ms\"
[emulation]
error = 0.01
reason = \"a test\"
[[statement]]
what = \"time to 2\"
published = \"1.1 - 2.4\"
figure = \"pipe script to 2, time\"
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
    let result = run(&scratch, COPY);
    let table = only(&result);
    assert_eq!(table["bytes"], 1_000_000, "a tenth, as the file says");
    let rows = table["rows"].as_array().unwrap();
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
fn nine_short_repetitions_are_graded_and_all_are_shown() {
    let scratch = Scratch::new("scenario-grades");
    // A wire of 100 Mbit/s does not carry 10 MB in 0.1 s.
    let wrong = COPY.replace("by = [\"cp\", \"mount\"]", "by = [\"cp\"]");
    let wrong = wrong.replace("published = \"0.86\"", "published = \"0.1\"");
    let page = scratch.path("report.html");
    let result = run_as(&scratch, &wrong, &["-o", &page.display().to_string()]).with_code(4);
    // The first one decides: it takes less than 20 s, unless the machine is busy.
    let count = result["repetitions"].as_array().unwrap().len();
    assert!(count == 9 || count == 3, "{count}");
    predictions(&result, 2 * count);
    let statements = result["statements"].as_array().unwrap();
    let names: Vec<_> = statements.iter().map(|one| one["what"].as_str().unwrap()).collect();
    assert_eq!(names, ["the copy over the switch", "its rate", "a figure"]);
    assert_eq!(statements[0]["statement"]["figure"]["published"], "0.1");
    assert_eq!(statements[0]["runs"].as_array().unwrap().len(), count);
    assert_eq!(statements[1]["standing"], "extra", "it is shown beside");
    assert_eq!(statements[2]["grade"]["grade"], "not-measured");
    let grades = &result["grades"];
    assert_eq!((&grades["counted"], &grades["not_measured"]), (&2.into(), &1.into()), "{grades}");
    // Runs that this machine had no time to emulate are void, and prove nothing.
    if grades["void"] == 0 {
        assert_eq!(statements[0]["grade"]["grade"], "differs", "{}", statements[0]);
        assert!(statements[0]["grade"]["factor"].as_f64() > Some(5.0), "{}", statements[0]);
    }
    let page = std::fs::read_to_string(page).expect("a report");
    assert!(page.contains("<h2>2 independent comparable facts: 0 reproduced"), "{page}");
    assert!(result["scenario"]["answer"].is_null(), "the answer is what was measured");
}

#[test]
fn a_condition_of_the_time_explains_what_only_comes_with_it() {
    let scratch = Scratch::new("scenario-conditions");
    let Ended { code, result } = run_as(&scratch, CHAIN, &[]);
    let rows = result["repetitions"][0]["rows"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["with"].as_str()).collect();
    assert_eq!(
        names,
        [None, Some("one page"), Some("slow starts"), Some("one page + slow starts")]
    );
    assert!(rows.iter().all(|row| row["equal"] == true), "{result}");
    assert_eq!(result["repetitions"][0]["refused"], serde_json::json!([]));
    let time = &result["statements"][0];
    assert_eq!(time["with"].as_array().unwrap().len(), 3, "{time}");
    // Runs that this machine had no time to emulate are said to be void, and prove nothing: then
    // the statement is open.
    if time.to_string().contains("\"void\":true") {
        assert!(matches!(code, 0 | 4), "{code}: {time}");
        return;
    }
    assert_eq!((code, time["grade"]["by"].as_str()), (0, Some("slow starts")), "{time}");
    let more = rows[2]["whole_s"].as_f64().unwrap() - rows[0]["whole_s"].as_f64().unwrap();
    assert!((0.6..1.4).contains(&more), "two starts of half a second: {more}");
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
    let result = run(&scratch, &switch);
    let rows = only(&result)["rows"].as_array().unwrap();
    let shown = |row: &Value| (row["wire"].clone(), row["pairs"].clone());
    assert_eq!(
        rows.iter().map(shown).collect::<Vec<_>>(),
        [("local".into(), 1.into()), ("local".into(), 2.into())]
    );
    rows.iter().for_each(assert_slower_than_wires);
    predictions(&result, 2);

    let star = PAIRS.replace(", \"switch100\"", "").replace(", [\"n4\", \"n3\"]", "");
    let star = star.replace(", [\"n3\", \"srv\"]", "").replace("[1, 2]", "[1]");
    let result = run(&scratch, &star);
    let wires: Vec<_> =
        only(&result)["rows"].as_array().unwrap().iter().map(|row| row["wire"].clone()).collect();
    assert_eq!(wires, ["local", "remote"]);
}
