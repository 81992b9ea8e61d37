//! All formats have what the traces have.

use std::path::Path;
use std::process::Command;

use garland_testkit::Scratch;
use serde_json::Value;

use super::garland;
use super::made::{BLOCKS, Sums, run, sums, traces};

/// What Perfetto's published schema makes of a file.
pub fn by_published_schema(file: &Path) -> Value {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("python3")
        .arg(package.join("tests/local/trace_export/decode.py"))
        .arg(file)
        .env("PYTHONPATH", package.join("../../target/python"))
        .output()
        .expect("python3 runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "make test installs the schema: {complaint}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// The sums in what [`by_published_schema`] gives.
pub fn sums_of(decoded: &Value) -> Sums {
    let stages = decoded["stages"].as_object().unwrap().iter();
    let sum = |stage: &Value| ["busy_ns", "bytes", "blocks"].map(|of| stage[of].as_u64().unwrap());
    stages.map(|(name, stage)| (name.clone(), sum(stage))).collect()
}

fn wanted() -> Sums {
    sums(traces().iter().map(|(_, trace)| trace))
}

#[test]
fn perfetto_by_the_published_schema() {
    let scratch = Scratch::new("export-perfetto");
    run(&scratch);
    let words = ["trace", "export", "./run", "--format", "perfetto", "-o", "out.pftrace"];
    let said = garland(&scratch).run(&words).with_code(1);
    assert!(said.out.contains("skipped n3: it left no trace"), "{}", said.out);
    let decoded = by_published_schema(&scratch.path("out.pftrace"));
    assert_eq!(decoded["unknown"], 0, "fields that the schema doesn't know");
    assert_eq!(decoded["disorder"], 0, "slices of one row that overlap");
    assert_eq!(sums_of(&decoded), wanted());
    assert_eq!(decoded["processes"], serde_json::json!(["head", "n1", "n2"]));
    assert_eq!(
        decoded["early"], 0,
        "blocks that came before they were sent: clocks differ by days"
    );
    // From the head to n1 and from there to n2; what n3 received nobody knows.
    assert_eq!((&decoded["flows"], &decoded["ends"]), (&(2 * BLOCKS).into(), &BLOCKS.into()));
    assert_eq!(decoded["counters"]["link to n1, lane 0: bytes"], 40 << 20);
    assert_eq!(decoded["counters"]["clock of n2: round trip"], 250_000);
}

#[test]
fn chrome_and_csv_have_the_same_sums() {
    let scratch = Scratch::new("export-texts");
    run(&scratch);
    let export = |format: &str| {
        let said = garland(&scratch).run(&["trace", "export", "./run", "--format", format]);
        let said = said.with_code(1);
        assert_eq!(said.err, "skipped n3: it left no trace\n");
        said.out.clone()
    };
    let chrome: Value = serde_json::from_str(&export("chrome")).unwrap();
    let mut found = Sums::new();
    for event in chrome["traceEvents"].as_array().unwrap() {
        if event["ph"] == "X" || event["ph"] == "i" {
            let sum = found.entry(event["name"].as_str().unwrap().to_owned()).or_default();
            for (sum, of) in sum.iter_mut().zip(["busy_ns", "bytes", "blocks"]) {
                *sum += event["args"][of].as_u64().unwrap();
            }
        }
    }
    assert_eq!(found, wanted());
    let csv = export("csv");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let columns = lines.next().unwrap();
    let place = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let places = ["busy_ns", "bytes", "blocks"].map(place);
    let mut found = Sums::new();
    for line in lines.filter(|line| line[place("kind")] != "sample") {
        let sum = found.entry(line[place("name")].to_owned()).or_default();
        for (sum, place) in sum.iter_mut().zip(places) {
            *sum += line[place].parse::<u64>().unwrap();
        }
    }
    assert_eq!(found, wanted());
}

#[test]
fn the_result_object_has_the_sums_too() {
    let scratch = Scratch::new("export-json");
    run(&scratch);
    let words = ["trace", "export", "./run", "--format", "csv", "-o", "out.csv", "--json"];
    let said = garland(&scratch).run(&words).with_code(1);
    let result: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(result["schema"], "garland.trace-export/2");
    assert_eq!(result["bytes"], std::fs::metadata(scratch.path("out.csv")).unwrap().len());
    let stages = result["stages"].as_array().unwrap().iter();
    let sum = |stage: &Value| ["busy_ns", "bytes", "blocks"].map(|of| stage[of].as_u64().unwrap());
    let found: Sums =
        stages.map(|stage| (stage["stage"].as_str().unwrap().to_owned(), sum(stage))).collect();
    assert_eq!(found, wanted());
    let errors = result["nodes"].as_array().unwrap().iter().map(|node| &node["clock_error_ns"]);
    let errors: Vec<Option<u64>> = errors.map(Value::as_u64).collect();
    // The round trips took 250 µs, so that offsets are wrong by half of that at most, and a little
    // more at the ends, where rates count.
    assert_eq!((errors[0], errors[3]), (Some(0), None));
    assert!(errors[1..3].iter().all(|error| (1..=150_000).contains(&error.unwrap())), "{errors:?}");
    let verdicts: Vec<_> = result["nodes"].as_array().unwrap().iter().collect();
    let named = verdicts.iter().map(|node| (node["name"].as_str(), node["verdict"].as_str()));
    let wanted = [("head", "ok"), ("n1", "ok"), ("n2", "ok"), ("n3", "skipped")];
    assert_eq!(
        named.collect::<Vec<_>>(),
        wanted.map(|(name, verdict)| (Some(name), Some(verdict)))
    );
}
