//! Reads a run's directory for a page. What is missing or unreadable is noted on the page and is no
//! error.

use garland_report::page::{Sheet, Timeline};
use garland_results::head::Phases;
use garland_state::places::Places;
use garland_state::run::{LAST, Run, TRACES};
use garland_state::traces::Traced;
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde_json::Value;

use super::super::{explain, trace};
use super::{sources, wiring};

/// Returns the data of the page about the run that `asked` names.
pub fn sheet(places: &Places, asked: &str) -> Result<Sheet, Failure> {
    // A run that was named is reported even if it has no result.
    let needed = if asked == LAST { "result.json" } else { "." };
    let run = Run::find(places, asked, needed, "a result")?;
    let mut notes = Vec::new();
    let result = read_result(&run, &mut notes);
    let wired = wiring::topology(&run, &mut notes);
    let mut pictures = wiring::draw_pictures(wired.as_ref(), &result);
    let mut explained = None;
    let mut timeline = Timeline::of_jobs(&result);
    if run.folder().join(TRACES).is_dir() {
        match from_traces(places, asked, &result, wired.as_ref(), &mut notes) {
            Ok((ledger, line, crossings)) => {
                if let [picture] = &mut pictures[..] {
                    picture.crossings = crossings;
                }
                explained = ledger;
                timeline = Some(line);
            }
            Err(failure) => notes.push(failure.message().to_owned()),
        }
    } else if let Some(why) = run.why_traces_removed() {
        notes.push(format!("its trace was removed ({why})"));
    }
    let timeline = timeline.filter(|timeline| !timeline.is_empty());
    let name = run.name().to_owned();
    let sources = sources::of(&result);
    let racks = wiring::known_racks();
    Ok(Sheet { name, sources, result, explained, timeline, pictures, racks, notes })
}

fn read_result(run: &Run, notes: &mut Vec<String>) -> Value {
    let read = run.read("result.json").map_err(|error| garland_sys::error::reason(&error));
    let parsed = read.and_then(|text| {
        serde_json::from_slice(&text).map_err(|error| format!("invalid JSON: {error}"))
    });
    parsed.unwrap_or_else(|reason| {
        notes.push(format!("cannot read its result: {reason}"));
        Value::Null
    })
}

/// Returns the ledger, the timeline, and the cables that each link crossed. The ledger is `None`,
/// with a note, if the traces are too large to read at once, or if the ledger cannot be computed.
fn from_traces(
    places: &Places,
    asked: &str,
    result: &Value,
    topology: Option<&Topology>,
    notes: &mut Vec<String>,
) -> Result<(Option<Value>, Timeline, Value), Failure> {
    let traced = Traced::find(places, asked, None)?;
    let elapsed = result["elapsed_ns"].as_u64().unwrap_or(0);
    let words = result["command"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let head = sender(&words.collect::<Vec<_>>());
    let nics = |origin: &_| wiring::nics(topology, &traced.rails, origin, head.is_some());
    let (timeline, small) = trace::timeline(&traced, elapsed, &nics, notes)?;
    let ledger = if !small {
        notes.push("no ledger: the traces are too large to be read at once".to_owned());
        None
    } else {
        match explain::explained(&traced, Phases::begin()) {
            Ok((explained, _)) => serde_json::to_value(explained).ok(),
            Err(failure) => {
                notes.push(format!("no ledger: {}", failure.message()));
                None
            }
        }
    };
    let crossings = topology.map_or(Value::Null, |topology| {
        let head = head.as_deref();
        wiring::crossings(topology, &traced.planned, head, timeline.links(), &traced.rails)
    });
    Ok((ledger, timeline, crossings))
}

/// Returns the node on which the head ran (`--from`), if the command line names one.
fn sender(words: &[&str]) -> Option<String> {
    let at = words.iter().position(|word| word.starts_with("--from"))?;
    let named = words[at].strip_prefix("--from=").or(words.get(at + 1).copied());
    Some(named.unwrap_or_default().to_owned())
}
