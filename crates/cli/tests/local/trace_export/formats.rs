//! All formats have what the traces have.

use std::collections::BTreeMap;
use std::fs;

use garland_testkit::Scratch;
use serde_json::Value;

use super::garland_in;
use super::made::{BLOCKS, Sums, run, sums, traces};

/// What is in a file of JSON trace events. Times are nanoseconds.
#[derive(Default)]
pub struct Timeline {
    /// The names of the processes, in their order.
    pub processes: Vec<String>,
    pub stages: Sums,
    /// The time of each cause on the critical path.
    pub causes: BTreeMap<String, i64>,
    /// The last value of each counter.
    pub counters: BTreeMap<String, u64>,
    /// Slices that begin before the last one of their row ended.
    pub overlaps: usize,
    /// When the sending of each block began, at the earliest that the clocks' errors allow.
    sent: BTreeMap<String, i64>,
    /// When the receiving of each block ended, at the latest that the clocks' errors allow.
    received: BTreeMap<String, i64>,
}

impl Timeline {
    pub fn parse(text: &str) -> Self {
        let file: Value = serde_json::from_str(text).expect("it is JSON");
        let mut timeline = Self::default();
        let mut ends: BTreeMap<(u64, u64), i64> = BTreeMap::new();
        // A flow's event comes after that of its slice.
        let mut slice = &Value::Null;
        for event in file["traceEvents"].as_array().expect("it has events") {
            let name = event["name"].as_str().expect("events have names").to_owned();
            match event["ph"].as_str() {
                Some("M") if name == "process_name" => {
                    timeline.processes.push(event["args"]["name"].as_str().unwrap().to_owned());
                }
                Some("X") => {
                    slice = event;
                    let row = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
                    let last = ends.insert(row, ns(&event["ts"]) + ns(&event["dur"]));
                    timeline.overlaps += usize::from(last > Some(ns(&event["ts"])));
                    timeline.add(name, event);
                }
                Some("i") => timeline.add(name, event),
                Some("C") => {
                    let value = event["args"].as_object().unwrap().values().next();
                    timeline.counters.insert(name, value.unwrap().as_u64().unwrap());
                }
                Some("s") => {
                    let earliest = ns(&slice["ts"]) - clock_error(slice);
                    timeline.sent.insert(event["id"].to_string(), earliest);
                }
                Some("f") => {
                    let latest = ns(&slice["ts"]) + ns(&slice["dur"]) + clock_error(slice);
                    timeline.received.insert(event["id"].to_string(), latest);
                }
                _ => {}
            }
        }
        timeline
    }

    /// Adds an event's time or sums to those of its cause or stage.
    fn add(&mut self, name: String, event: &Value) {
        if event["cat"] == "cause" {
            *self.causes.entry(name).or_default() += ns(&event["dur"]);
            return;
        }
        let sum = self.stages.entry(name).or_default();
        for (sum, field) in sum.iter_mut().zip(["busy_ns", "bytes", "blocks"]) {
            *sum += event["args"][field].as_u64().unwrap();
        }
    }

    /// Returns the number of blocks that were sent and received.
    pub fn flows(&self) -> usize {
        self.sent.keys().filter(|id| self.received.contains_key(*id)).count()
    }

    /// Returns the number of blocks of which only the sending or only the receiving is there.
    pub fn loose_ends(&self) -> usize {
        self.sent.len() + self.received.len() - 2 * self.flows()
    }

    /// Returns the number of blocks that were received before they were sent.
    pub fn early(&self) -> usize {
        self.sent
            .iter()
            .filter(|(id, sent)| self.received.get(*id).is_some_and(|at| at < sent))
            .count()
    }
}

/// Returns nanoseconds, which are in the file as microseconds.
fn ns(micros: &Value) -> i64 {
    (micros.as_f64().expect("times are numbers") * 1000.0).round() as i64
}

fn clock_error(slice: &Value) -> i64 {
    slice["args"]["clock_error_ns"].as_i64().unwrap_or(0)
}

fn wanted() -> Sums {
    sums(traces().iter().map(|(_, trace)| trace))
}

#[test]
fn a_timeline_has_the_rows_flows_and_counters_of_the_traces() {
    let scratch = Scratch::new("export-timeline");
    run(&scratch);
    let words = ["trace", "export", "./run", "--format", "chrome", "-o", "out.json"];
    let said = garland_in(&scratch).run(&words).with_code(1);
    assert!(said.out.contains("skipped n3: it left no trace"), "{}", said.out);
    let timeline = Timeline::parse(&fs::read_to_string(scratch.path("out.json")).unwrap());
    assert_eq!(timeline.overlaps, 0, "slices of one row that overlap");
    assert_eq!(timeline.stages, wanted());
    assert_eq!(timeline.processes, ["head", "n1", "n2"]);
    assert_eq!(timeline.early(), 0, "came before they were sent: clocks differ by days");
    // From the head to n1 and from there to n2; what n3 received nobody knows.
    let blocks = BLOCKS as usize;
    assert_eq!((timeline.flows(), timeline.loose_ends()), (2 * blocks, blocks));
    assert_eq!(timeline.counters["link to n1, lane 0: bytes"], 40 << 20);
    assert_eq!(timeline.counters["clock of n2: round trip"], 250_000);
}

#[test]
fn chrome_and_csv_have_the_same_sums() {
    let scratch = Scratch::new("export-texts");
    run(&scratch);
    let export = |format: &str| {
        let said = garland_in(&scratch).run(&["trace", "export", "./run", "--format", format]);
        let said = said.with_code(1);
        assert_eq!(said.err, "skipped n3: it left no trace\n");
        said.out.clone()
    };
    assert_eq!(Timeline::parse(&export("chrome")).stages, wanted());
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
    let said = garland_in(&scratch).run(&words).with_code(1);
    let result: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(result["schema"], "garland.trace-export/2");
    assert_eq!(result["bytes"], fs::metadata(scratch.path("out.csv")).unwrap().len());
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
