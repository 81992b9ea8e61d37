//! Reads the result objects of commands.

use serde_json::Value;

/// Returns the verdict on `node` and the reason; each is empty if the result lacks it.
///
/// # Panics
/// When the result has no such node; the message contains the result.
#[must_use]
#[track_caller]
pub fn verdict<'a>(result: &'a Value, node: &str) -> (&'a str, &'a str) {
    let nodes = result["nodes"].as_array().expect("a result has nodes");
    let found = nodes.iter().find(|entry| entry["name"] == node);
    let found = found.unwrap_or_else(|| panic!("{node} is not in {result}"));
    (found["verdict"].as_str().unwrap_or(""), found["reason"].as_str().unwrap_or(""))
}
