//! The JSON trace events of Chrome's tracing, which Perfetto and many other programs read.
//!
//! Source: "Trace Event Format", Google, 2016. Times are microseconds, here with three decimals. A
//! slice is a complete event (`X`), a flow is a pair of `s` and `f`, and a counter's value is a
//! `C`.

use std::fmt;
use std::io::{self, Write};

use garland_core::trace::Lost;
use serde::Serialize;

use crate::details::{self, NAMES, Value};
use crate::format::{Counter, Flow, Format, Process, Row, Slice, Step, Unit};

/// A file of trace events that is being written.
pub(crate) struct Chrome<'a> {
    output: &'a mut dyn Write,
    /// Whether an event has been written: the next event then needs a comma before it.
    begun: bool,
}

impl<'a> Chrome<'a> {
    /// Writes the start of a file.
    pub(crate) fn begin(output: &'a mut dyn Write) -> io::Result<Self> {
        output.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
        Ok(Self { output, begun: false })
    }

    fn event(&mut self, event: fmt::Arguments<'_>) -> io::Result<()> {
        let comma = if self.begun { ",\n" } else { "" };
        self.begun = true;
        write!(self.output, "{comma}{{{event}}}")
    }

    /// Writes the metadata event `name` of a process or, if given, of its thread `row`.
    fn about(
        &mut self,
        process: &Process,
        row: Option<&Row>,
        name: &str,
        value: &str,
    ) -> io::Result<()> {
        let pid = process.pid;
        let tid = row.map_or(0, Row::tid);
        self.event(format_args!(
            r#""ph":"M","pid":{pid},"tid":{tid},"name":"{name}","args":{{{value}}}"#
        ))
    }

    fn flow(&mut self, process: &Process, row: &Row, begin_ns: u64, flow: Flow) -> io::Result<()> {
        // The end of a flow binds to its enclosing slice, as the start always does.
        let kind = if flow.arrives { r#""ph":"f","bp":"e""# } else { r#""ph":"s""# };
        let id = flow.id;
        let pid = process.pid;
        let tid = row.tid();
        let ts = Micros(begin_ns);
        self.event(format_args!(
            r#"{kind},"id":"{id:#x}","pid":{pid},"tid":{tid},"ts":{ts},"name":"block","cat":"hop""#
        ))
    }
}

/// Nanoseconds, written as microseconds.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

fn json(value: &(impl Serialize + ?Sized)) -> io::Result<String> {
    Ok(serde_json::to_string(value)?)
}

fn arguments(details: &[(usize, Value<'_>)]) -> io::Result<String> {
    let argument = |(name, value): &(usize, Value<'_>)| {
        let value = match value {
            Value::Number(number) => number.to_string(),
            Value::Text(word) => json(word)?,
        };
        Ok(format!(r#""{}":{value}"#, NAMES[*name]))
    };
    Ok(details.iter().map(argument).collect::<io::Result<Vec<String>>>()?.join(","))
}

impl Format for Chrome<'_> {
    fn process(&mut self, process: &Process) -> io::Result<()> {
        let name = format!(r#""name":{}"#, json(&process.name)?);
        self.about(process, None, "process_name", &name)?;
        let labels = format!(r#""labels":{}"#, json(&process.labels.join(", "))?);
        self.about(process, None, "process_labels", &labels)?;
        let place = format!(r#""sort_index":{}"#, process.rank());
        self.about(process, None, "process_sort_index", &place)
    }

    fn row(&mut self, process: &Process, row: &Row) -> io::Result<()> {
        let name = format!(r#""name":{}"#, json(&row.name)?);
        self.about(process, Some(row), "thread_name", &name)?;
        let place = format!(r#""sort_index":{}"#, row.id);
        self.about(process, Some(row), "thread_sort_index", &place)
    }

    fn slice(&mut self, process: &Process, row: &Row, slice: &Slice<'_>) -> io::Result<()> {
        let stage = slice.span.stage;
        let category = if stage.is_wait() { "wait" } else { "work" };
        let pid = process.pid;
        let tid = row.tid();
        let ts = Micros(slice.begin_ns);
        let dur = Micros(slice.end_ns - slice.begin_ns);
        let args = arguments(&details::of_slice(slice))?;
        self.event(format_args!(
            r#""ph":"X","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"name":"{stage}","cat":"{category}","args":{{{args}}}"#
        ))?;
        slice.flow.map_or(Ok(()), |flow| self.flow(process, row, slice.begin_ns, flow))
    }

    fn step(&mut self, process: &Process, row: &Row, step: &Step) -> io::Result<()> {
        let pid = process.pid;
        let tid = row.tid();
        let cause = step.cause;
        let ts = Micros(step.begin_ns);
        let dur = Micros(step.end_ns.saturating_sub(step.begin_ns));
        let args = arguments(&details::of_step(step))?;
        self.event(format_args!(
            r#""ph":"X","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"name":"{cause}","cat":"cause","args":{{{args}}}"#
        ))
    }

    fn lost(
        &mut self,
        process: &Process,
        lost: &Lost,
        peer: Option<&str>,
        at_ns: u64,
    ) -> io::Result<()> {
        let pid = process.pid;
        let ts = Micros(at_ns);
        let stage = lost.stage;
        let args = arguments(&details::of_lost(lost, peer))?;
        self.event(format_args!(
            r#""ph":"i","s":"p","pid":{pid},"tid":0,"ts":{ts},"name":"{stage}","cat":"lost","args":{{{args}}}"#
        ))
    }

    fn sample(
        &mut self,
        process: &Process,
        counter: &Counter,
        at_ns: u64,
        value: u64,
    ) -> io::Result<()> {
        let pid = process.pid;
        let ts = Micros(at_ns);
        let name = json(&counter.name)?;
        let unit = if counter.unit == Unit::Count { "count" } else { counter.unit.name() };
        self.event(format_args!(
            r#""ph":"C","pid":{pid},"tid":0,"ts":{ts},"name":{name},"args":{{"{unit}":{value}}}"#
        ))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.output.write_all(b"\n]}\n")?;
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use garland_core::trace::Stage;
    use serde_json::Value;

    use crate::export::tests::{example_traces, exported};
    use crate::{Kind, Totals};

    fn events_in(bytes: &[u8]) -> Vec<Value> {
        let file: Value = serde_json::from_slice(bytes).expect("it is JSON");
        file["traceEvents"].as_array().expect("it has events").clone()
    }

    #[test]
    fn sums_are_those_of_the_traces() {
        let traces = example_traces();
        let (bytes, totals) = exported(Kind::Chrome, &traces);
        let mut sums: BTreeMap<String, [u64; 3]> = BTreeMap::new();
        for event in events_in(&bytes) {
            if event["cat"] != "cause" && (event["ph"] == "X" || event["ph"] == "i") {
                let sum = sums.entry(event["name"].as_str().unwrap().to_owned()).or_default();
                for (sum, field) in sum.iter_mut().zip(["busy_ns", "bytes", "blocks"]) {
                    *sum += event["args"][field].as_u64().unwrap();
                }
            }
        }
        assert_eq!(sums, by_name(&totals));
    }

    fn by_name(totals: &Totals) -> BTreeMap<String, [u64; 3]> {
        let sums = totals.stages().map(|(stage, total)| {
            (stage.name().to_owned(), [total.busy_ns, total.bytes, total.blocks])
        });
        sums.collect()
    }

    #[test]
    fn times_are_microseconds_and_flows_have_two_ends() {
        let (bytes, _) = exported(Kind::Chrome, &example_traces());
        let events = events_in(&bytes);
        let of =
            |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
        let read = of("X").into_iter().find(|event| event["name"] == Stage::Read.name()).unwrap();
        assert_eq!((read["ts"].as_f64(), read["dur"].as_f64()), (Some(1.0), Some(0.5)));
        let ids = |phase| {
            let mut ids: Vec<_> = of(phase).iter().map(|event| event["id"].to_string()).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids("s"), ids("f"), "every block that was sent was received");
        assert!(!ids("s").is_empty());
        let names = of("M").into_iter().filter(|event| event["name"] == "process_name");
        let names: Vec<_> = names.map(|event| event["args"]["name"].clone()).collect();
        assert_eq!(names, ["head", "n\"1\",", "critical path"]);
        assert!(of("C").iter().any(|event| event["name"] == "link to n\"1\",, lane 0: bytes"));
    }

    #[test]
    fn slices_of_a_row_follow_each_other_by_the_heads_clock() {
        let (bytes, _) = exported(Kind::Chrome, &example_traces());
        let mut ends: BTreeMap<(u64, u64), f64> = BTreeMap::new();
        let mut slices = 0;
        for event in events_in(&bytes).iter().filter(|event| event["ph"] == "X") {
            let row = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            let begin = event["ts"].as_f64().unwrap();
            let end = begin + event["dur"].as_f64().unwrap();
            let last = ends.insert(row, end).unwrap_or_default();
            assert!(begin >= last, "row {row:?}: {begin} µs is before {last} µs");
            assert!(end < 10_000.0, "{end} µs is not by the head's clock");
            slices += 1;
        }
        assert_eq!(slices, 12);
    }

    #[test]
    fn rows_and_counters_have_names_of_their_own() {
        let (bytes, _) = exported(Kind::Chrome, &example_traces());
        let events = events_in(&bytes);
        let rows = events.iter().filter(|event| event["name"] == "thread_name");
        let mut numbers: Vec<u64> = rows.clone().map(|row| row["tid"].as_u64().unwrap()).collect();
        let of_all = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), of_all, "each row has its own number");
        let mut titles = rows.map(|row| row["args"]["name"].as_str().unwrap());
        assert!(titles.any(|title| title == "receive, lane 0, thread 1"));
        let samples = events.iter().filter(|event| event["ph"] == "C");
        let names: BTreeSet<&str> = samples.map(|one| one["name"].as_str().unwrap()).collect();
        assert!(names.contains("thread 1 (receive): running"), "{names:?}");
        assert!(names.contains("disk: written"), "{names:?}");
        assert_eq!(names.len(), 8 + 1 + 2 + 11);
    }
}
