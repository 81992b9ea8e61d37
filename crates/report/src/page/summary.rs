//! The summary of a run in words.

use garland_core::units::{Nanos, Rate, bytes};
use serde_json::Value;

use super::sheet::Sheet;
use super::timeline::nanos;
use super::title;

/// Returns the paragraphs of a run's summary.
pub(super) fn of(sheet: &Sheet) -> Vec<String> {
    let result = &sheet.result;
    let word = title::kind(result);
    let mut words = Vec::new();
    match word {
        "cp" => words.push(copy(result)),
        "farm" => words.push(farm(result)),
        "" => words.push("This run has no result: its command was interrupted.".to_owned()),
        _ => words.push(other(word, result)),
    }
    words.extend(limit(result));
    if let Some(explained) = &sheet.explained {
        words.extend(ledger(explained));
    }
    words.extend(texts(&result["faults"], "text").map(|text| format!("Fault: {text}.")));
    words.extend(sheet.notes.iter().map(|note| format!("Note: {note}.")));
    words
}

/// Returns the paragraphs of a forecast's summary.
pub(super) fn of_forecast(told: &Value) -> Vec<String> {
    let mut words = Vec::new();
    let forecast = &told["forecast"];
    if let Some(knee) = forecast["knee"]["nodes"].as_f64() {
        let resource = forecast["knee"]["resource"].as_str().unwrap_or_default();
        let why = forecast["knee"]["why"].as_str().unwrap_or_default();
        words.push(format!("Forecast: the knee is at {knee:.1} nodes: {resource}; {why}."));
    }
    if let Some(enough) = forecast["enough"].as_u64() {
        words.push(format!("More than {enough} nodes gain less than 5 % in all."));
    }
    if let Some(error) = forecast["back_test"]["error"].as_f64() {
        let nodes = &forecast["back_test"]["nodes"];
        let percent = error * 100.0;
        words.push(format!(
            "Back-test: the time with {nodes} nodes, predicted from the other points, is off by {percent:+.1} %."
        ));
    }
    words.extend(notes(&forecast["notes"]).chain(notes(&told["notes"])));
    words
}

fn time(value: &Value) -> Option<String> {
    Some(Nanos(value.as_u64()?).to_string())
}

fn copy(result: &Value) -> String {
    let nodes = result["nodes"].as_array().map_or(&[][..], Vec::as_slice);
    let ok = nodes.iter().filter(|node| node["verdict"] == "ok").count();
    let size = bytes::format(result["bytes"].as_u64().unwrap_or(0));
    let way = if result["direction"] == "in" { "from" } else { "to" };
    let took = time(&result["elapsed_ns"]).unwrap_or_else(|| "an unknown time".to_owned());
    let rate = result["rate"].as_u64().map(Rate::from_bytes_per_second);
    let rate = rate.map_or_else(String::new, |rate| format!(", {rate}"));
    format!("{size} {way} {ok} of {} nodes in {took}{rate}.", nodes.len())
}

fn farm(result: &Value) -> String {
    let count = |key: &str| result[key].as_u64().unwrap_or(0);
    let nodes = title::nodes_in_words(result);
    let took = result["total"].as_f64().map(|seconds| Nanos(nanos(seconds)));
    let took = took.map_or_else(String::new, |took| format!(" in {took}"));
    let and = |count: u64, what: &str| match count {
        0 => String::new(),
        count => format!("; {count} {what}"),
    };
    format!(
        "{} of {} jobs done on {nodes}{took}{}{}.",
        count("done"),
        count("jobs"),
        and(count("failed"), "failed"),
        and(count("open"), "did not run")
    )
}

fn other(kind: &str, result: &Value) -> String {
    let took = time(&result["elapsed_ns"]).map_or_else(String::new, |took| format!(" in {took}"));
    let nodes = result["nodes"].as_array().filter(|nodes| !nodes.is_empty());
    let nodes = nodes.map_or_else(String::new, |nodes| {
        let ok = nodes.iter().filter(|node| node["verdict"] == "ok").count();
        format!(", {ok} of {} nodes ok", nodes.len())
    });
    let wrong = result["broken"].as_str();
    let wrong = wrong.map_or_else(String::new, |wrong| format!(". Wrong: {wrong}"));
    let name = result["scenario"]["name"].as_str().unwrap_or(kind);
    format!("garland {name}{took}{nodes}{wrong}.")
}

fn limit(result: &Value) -> Option<String> {
    let limit = &result["limit"];
    let rate = Rate::from_bytes_per_second(limit["rate"].as_u64()?);
    let source = limit["source"].as_str().unwrap_or_default();
    let achieved = limit["achieved"].as_f64();
    let achieved = achieved.map(|share| format!(" The run reached {:.1} % of it.", share * 100.0));
    Some(format!("The limit is {rate}: {source}.{}", achieved.unwrap_or_default()))
}

fn ledger(explained: &Value) -> Vec<String> {
    let mut words = Vec::new();
    let rows = explained["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let most: Vec<String> = rows
        .iter()
        .take(3)
        .filter_map(|row| {
            let share = row["share"].as_f64()? * 100.0;
            Some(format!("{} ({share:.0} %)", cause(row)?))
        })
        .collect();
    if !most.is_empty() {
        words.push(format!("Most of the time was spent on {}.", most.join(", ")));
    }
    words.extend(texts(&explained["faults"], "text").map(|fault| format!("Fault: {fault}.")));
    if let (Some(remedy), Some(gain)) =
        (explained["fix"]["remedy"].as_str(), time(&explained["fix"]["gain_ns"]))
    {
        words.push(format!("The best remedy: {remedy}; {gain} sooner."));
    }
    words.extend(notes(&explained["warnings"]));
    words
}

/// Returns the cause of a row of the ledger with its node or hop, as in `garland explain`.
pub(super) fn cause(row: &Value) -> Option<String> {
    let cause = row["cause"].as_str()?;
    Some(match (row["node"].as_str(), row["to"].as_str()) {
        (Some(from), Some(to)) => format!("{cause} {from} to {to}"),
        (Some(node), None) => format!("{cause} {node}"),
        _ => cause.to_owned(),
    })
}

/// Returns the text at `key` of each entry of a list; entries without this key are omitted.
fn texts<'a>(list: &'a Value, key: &'static str) -> impl Iterator<Item = &'a str> {
    list.as_array().into_iter().flatten().filter_map(move |one| one[key].as_str())
}

/// Returns a note, as a sentence, for each text of a list.
fn notes(list: &Value) -> impl Iterator<Item = String> {
    let notes = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    notes.map(|note| format!("Note: {note}."))
}
