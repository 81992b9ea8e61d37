//! The answer of a copy or of a farm, in tiles.

mod copy;
mod farm;
mod tile;

use super::sheet::Sheet;
use super::title;

/// Returns the tiles of a run as HTML; an empty string for runs that are neither copies nor farms.
pub(super) fn of(sheet: &Sheet) -> String {
    let tiles: String = match title::kind(&sheet.result) {
        "cp" => copy::of(sheet).collect(),
        "farm" => farm::of(&sheet.result).collect(),
        _ => return String::new(),
    };
    format!("<div class=\"tiles\">\n{tiles}</div>\n")
}
