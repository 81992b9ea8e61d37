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

/// Stores what was found, if it is not `before`. The command goes on if it cannot be stored: it
/// only spares the next one a wait.
pub fn keep(places: &Places, before: &UnreachedHops, hops: UnreachedHops) {
    if hops == *before {
        return;
    }
    let mut hops = hops;
    hops.expire(clock::wall_ns());
    if let Ok(text) = serde_json::to_vec(&hops) {
        let _ = private_file::replace_unsynced(&places.unreached(), &text);
    }
}
