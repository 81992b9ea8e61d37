//! What a copy copied, by its command line.

use std::path::Path;

use clap::{Arg, ArgAction, Args as _, Command, FromArgMatches as _};
use garland_core::printable;
use serde_json::Value;

use crate::cp::Cp;

/// The most sources that are named.
const NAMED: usize = 2;

/// Returns the names of a copy's sources; `None` for other commands, and for command lines of other
/// versions.
pub fn of(result: &Value) -> Option<String> {
    let words = result["command"].as_array()?.iter().filter_map(Value::as_str);
    let own: Vec<&str> = words.skip_while(|word| *word != "cp").collect();
    let all = [
        Arg::new("json").long("json").action(ArgAction::SetTrue),
        Arg::new("cluster").long("cluster"),
    ];
    let matches = Cp::augment_args(Command::new("cp")).args(all).try_get_matches_from(own).ok()?;
    let copy = Cp::from_arg_matches(&matches).ok()?;
    let name = |path: &Path| {
        let whole = path.as_os_str();
        printable::bytes(path.file_name().unwrap_or(whole).as_encoded_bytes())
    };
    let names: Vec<String> = copy.sources().iter().take(NAMED).map(|path| name(path)).collect();
    match copy.sources().len().saturating_sub(names.len()) {
        _ if names.is_empty() => None,
        0 => Some(names.join(" and ")),
        more => Some(format!("{} and {more} more", names.join(", "))),
    }
}

#[cfg(test)]
mod tests;
