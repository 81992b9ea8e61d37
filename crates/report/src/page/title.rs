//! The title of a run: what it did, when, and by which command.

use serde_json::Value;

use super::sheet::Sheet;

/// Names of months.
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Returns the title of a run, such as `model.bin to 4 nodes`, which says whether something failed.
pub(super) fn of(sheet: &Sheet) -> String {
    format!("{}{}", what(sheet), ending(&sheet.result))
}

/// Returns whether a copy reached none of its nodes.
pub(super) fn has_failed(result: &Value) -> bool {
    let nodes = result["nodes"].as_array().map_or(0, Vec::len);
    kind(result) == "cp" && nodes > 0 && failed_nodes(result) == nodes as u64
}

fn failed_nodes(result: &Value) -> u64 {
    let has_failed =
        |node: &&Value| node["verdict"].as_str().is_some_and(|verdict| verdict != "ok");
    result["nodes"].as_array().map_or(0, |nodes| nodes.iter().filter(has_failed).count() as u64)
}

/// Returns how a run ended, as the end of its title; an empty string if nothing failed.
fn ending(result: &Value) -> String {
    let count = |key: &str| result[key].as_u64().unwrap_or(0);
    let failed = match kind(result) {
        _ if result["interrupted"] == true => return ": interrupted".to_owned(),
        "cp" if has_failed(result) => return ": failed".to_owned(),
        "cp" => failed_nodes(result),
        "farm" => count("failed"),
        _ => 0,
    };
    match failed {
        0 if count("open") > 0 => format!(": {} not run", count("open")),
        0 => String::new(),
        failed => format!(": {failed} failed"),
    }
}

/// Returns the number of a run's nodes, such as `4 nodes`.
pub(super) fn nodes_in_words(result: &Value) -> String {
    match result["nodes"].as_array().map_or(0, Vec::len) {
        1 => "1 node".to_owned(),
        nodes => format!("{nodes} nodes"),
    }
}

/// Returns what a run did.
fn what(sheet: &Sheet) -> String {
    let result = &sheet.result;
    let nodes = nodes_in_words(result);
    let way = if result["direction"] == "in" { "from" } else { "to" };
    match kind(result) {
        "" => sheet.name.clone(),
        "cp" => format!("{} {way} {nodes}", sheet.sources.as_deref().unwrap_or("Copy")),
        "farm" => format!(
            "{} jobs on {nodes}",
            result["jobs"].as_u64().map_or("All".to_owned(), |jobs| jobs.to_string())
        ),
        "scenario" => {
            format!("Scenario {}", result["scenario"]["name"].as_str().unwrap_or(&sheet.name))
        }
        "wires" => format!("The wires of {nodes}"),
        "disk" => format!("The disks of {nodes}"),
        "ping" => "Latencies between nodes".to_owned(),
        "balance" => format!("Balance of disks and network of {nodes}"),
        other => format!("garland {other}"),
    }
}

/// Returns the title of a page on which this run leads and `others` more are below it.
pub(super) fn of_first(first: &Sheet, others: usize) -> String {
    let more = match others {
        0 => String::new(),
        1 => ", and 1 more run".to_owned(),
        others => format!(", and {others} more runs"),
    };
    format!("{}{more}", of(first))
}

/// Returns the kind of result, such as `cp`; an empty string if there is no result.
pub(super) fn kind(result: &Value) -> &str {
    let schema = result["schema"].as_str().unwrap_or_default();
    schema.split('/').next().unwrap_or_default().trim_start_matches("garland.")
}

/// Returns when the run began, by its name, which begins with the time in UTC.
pub(super) fn when(sheet: &Sheet) -> Option<String> {
    let (date, rest) = sheet.name.split_at_checked(8)?;
    let time = rest.strip_prefix('-')?.get(..6)?;
    let number = |text: &str| text.parse::<usize>().ok();
    let year = number(&date[..4])?;
    let month = number(&date[4..6])?;
    let day = number(&date[6..])?;
    let month = MONTHS.get(month.checked_sub(1)?)?;
    number(time)?;
    Some(format!("{day} {month} {year}, {}:{} UTC", &time[..2], &time[2..4]))
}

/// Returns the command line, as it would be typed.
pub(super) fn command(result: &Value) -> Option<String> {
    let words = result["command"].as_array()?.iter().filter_map(Value::as_str);
    let quoted =
        |word: &str| match word.chars().all(|c| c.is_alphanumeric() || "-_./:=,+@%".contains(c)) {
            true if !word.is_empty() => word.to_owned(),
            _ => format!("'{}'", word.replace('\'', "'\\''")),
        };
    let own = words.skip(1).map(quoted).collect::<Vec<_>>().join(" ");
    (!own.is_empty()).then(|| format!("garland {own}"))
}

#[cfg(test)]
mod tests;
