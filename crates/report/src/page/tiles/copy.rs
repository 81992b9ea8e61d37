//! The answer of a copy in three tiles: its time, what cost most, and the nodes that need
//! attention.

use garland_core::cluster::nodelist;
use garland_core::units::{Nanos, Rate};
use serde_json::Value;

use super::tile::{MAX_REASONS, percent, tile};
use crate::page::escape::escaped;
use crate::page::sheet::Sheet;
use crate::page::summary::cause;
use crate::page::title;

/// Returns the tiles of a copy. Where no node has the file, that comes first, and no time matters.
pub(super) fn of(sheet: &Sheet) -> impl Iterator<Item = String> {
    let result = &sheet.result;
    let tiles = match title::has_failed(result) {
        true => [attention(result), time(result), None],
        false => [time(result), cost(sheet), attention(result)],
    };
    tiles.into_iter().flatten()
}

/// Returns the tile of the time, with a bar of the share that the wires need.
fn time(result: &Value) -> Option<String> {
    let elapsed = result["elapsed_ns"].as_u64().filter(|ns| *ns > 0)?;
    let mut lines = Vec::new();
    if let Some((least, rate)) = least(result) {
        let share = least as f64 / elapsed as f64;
        let source = escaped(result["limit"]["source"].as_str().unwrap_or_default());
        lines.push(format!(
            "<span class=\"against\" role=\"img\" aria-label=\"{:.0} % of the time\"><span style=\"width: {:.1}%\"></span></span>\
             {} would do at {rate}: {source}.",
            share * 100.0,
            share.min(1.0) * 100.0,
            Nanos(least)
        ));
        lines.push(format!("{:.1} % of what the limit allows.", share * 100.0));
    } else if let Some(rate) = result["rate"].as_u64() {
        lines.push(format!("{}.", Rate::from_bytes_per_second(rate)));
    }
    Some(tile("Time", "", &Nanos(elapsed).to_string(), &lines))
}

/// Returns the least time that the limit of the rate allows, in nanoseconds, and that rate.
fn least(result: &Value) -> Option<(u64, Rate)> {
    let rate = result["limit"]["rate"].as_u64().filter(|rate| *rate > 0)?;
    let elapsed = result["elapsed_ns"].as_u64()?;
    // The share counts the bytes that were needed, which may be fewer than the file has.
    let least = result["limit"]["achieved"].as_f64()? * elapsed as f64;
    (least > 0.0).then(|| (least as u64, Rate::from_bytes_per_second(rate)))
}

/// Returns the tile of what cost most: the largest row of the ledger and the remedy, or the longest
/// phase if there is no ledger.
fn cost(sheet: &Sheet) -> Option<String> {
    let rows = sheet.explained.as_ref().and_then(|explained| explained["rows"].as_array());
    let longest = |list: &'_ Vec<Value>| list.iter().max_by_key(|one| one["ns"].as_u64()).cloned();
    let Some(row) = rows.and_then(longest) else {
        let phase = sheet.result["phases"].as_array().and_then(longest)?;
        let name = phase["name"].as_str()?;
        let ns = phase["ns"].as_u64()?;
        let share = ns as f64 / sheet.result["elapsed_ns"].as_u64().filter(|ns| *ns > 0)? as f64;
        let line = format!("{} of the time: the longest phase.", percent(share));
        return Some(tile("Cost most", "", &format!("{name}, {}", Nanos(ns)), &[line]));
    };
    let within = row["within"].as_str().map_or_else(String::new, |within| format!(" ({within})"));
    let figure = format!("{}{within}", cause(&row)?);
    let share = row["share"].as_f64().unwrap_or(0.0);
    let mut lines =
        vec![format!("{}, {} of the time.", Nanos(row["ns"].as_u64()?), percent(share))];
    let fix = &sheet.explained.as_ref()?["fix"];
    if let (Some(remedy), Some(gain), Some(of)) =
        (fix["remedy"].as_str(), fix["gain_ns"].as_u64(), cause(fix))
    {
        let of = escaped(&of);
        let remedy = escaped(remedy);
        let sooner = if gain > 0 { format!(" {} sooner.", Nanos(gain)) } else { String::new() };
        lines.push(format!("<b>To do</b> for {of}: {remedy}.{sooner}"));
    }
    Some(tile("Cost most", "", &figure, &lines))
}

/// Returns the tile of nodes that failed, or were slower than the others; nodes with the same
/// reason are one line.
fn attention(result: &Value) -> Option<String> {
    const TITLE: &str = "Nodes that need attention";
    let nodes = result["nodes"].as_array().filter(|nodes| !nodes.is_empty())?;
    let mut reasons: Vec<(String, bool, Vec<&str>)> = Vec::new();
    for node in nodes {
        let Some(why) = concern(node) else { continue };
        let name = node["name"].as_str().unwrap_or("?");
        match reasons.iter_mut().find(|(known, ..)| *known == why) {
            Some((.., names)) => names.push(name),
            None => reasons.push((why, node["verdict"] == "ok", vec![name])),
        }
    }
    let of = nodes.len();
    let bad = reasons.iter().map(|(.., names)| names.len()).sum::<usize>();
    if bad == 0 {
        let line = format!("{of} of {of} are ok, and none was slow.");
        return Some(tile(TITLE, " good", "none", &[line]));
    }
    reasons.sort_by_key(|(_, is_ok, _)| *is_ok);
    let mark = if reasons[0].1 { " warn" } else { " bad" };
    let line = |(why, _, names): &(String, bool, Vec<&str>)| {
        format!("<b>{}</b> {}", escaped(&nodelist::fold(names)), escaped(why))
    };
    let mut lines: Vec<String> = reasons.iter().take(MAX_REASONS).map(line).collect();
    if reasons.len() > MAX_REASONS {
        lines.push("The others are in the table of nodes.".to_owned());
    }
    Some(tile(TITLE, mark, &format!("{bad} of {of}"), &lines))
}

/// Returns why a node needs attention; `None` if it does not.
fn concern(node: &Value) -> Option<String> {
    let verdict = node["verdict"].as_str()?;
    if verdict != "ok" {
        let reason =
            node["reason"].as_str().map_or_else(String::new, |reason| format!(": {reason}"));
        return Some(format!("{verdict}{reason}"));
    }
    let rate = |key: &str| node["slow"][key].as_u64().map(Rate::from_bytes_per_second);
    if let (Some(own), Some(others)) = (rate("rate"), rate("others")) {
        return Some(format!("fed on the side: it received {own}, the others {others}"));
    }
    (node["detached"] == true).then(|| "detached: its disk was slower".to_owned())
}

#[cfg(test)]
mod tests;
