//! Which nodes did not reach each other lately. The next command does not wait for it again.

use garland_core::unreached::UnreachedHops;
use garland_sys::{clock, private_file};

use crate::places::Places;

/// The maximum length of the file in bytes: some 50 for each of many thousand nodes.
const MAX_LENGTH: u64 = 1 << 20;

/// Returns what earlier commands found; nothing if the file cannot be read.
pub fn read(places: &Places) -> UnreachedHops {
    let text = private_file::read(&places.unreached(), MAX_LENGTH).ok().flatten();
    let hops = text.and_then(|text| serde_json::from_slice(&text).ok());
    hops.unwrap_or_default()
}

/// Calls `find` with what earlier commands found, and stores what it adds and removes there. What
/// another command has stored meanwhile stays.
pub fn update<R>(places: &Places, find: impl FnOnce(&mut UnreachedHops) -> R) -> R {
    let before = read(places);
    let mut after = before.clone();
    let found = find(&mut after);
    keep(places, &before, &after);
    found
}

/// Stores what changed between `before` and `after`. The command goes on if it cannot be stored: it
/// only spares the next one a wait.
pub fn keep(places: &Places, before: &UnreachedHops, after: &UnreachedHops) {
    if after == before {
        return;
    }
    let mut hops = read(places);
    hops.take_changes(before, after);
    hops.expire(clock::wall_ns());
    if let Ok(text) = serde_json::to_vec(&hops) {
        let _ = private_file::replace_unsynced(&places.unreached(), &text);
    }
}
