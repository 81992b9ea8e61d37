//! `garland cp -r` end to end: trees of every oddity, to agents on this machine and in a lab,
//! compared by tools that aren't ours.

mod again;
mod choices;
mod compare;
mod endings;
mod equal;
mod gather;
mod lab;
mod moving;
mod oddities;
mod refusals;
mod rules;
mod several;
mod sweeping;
mod together;

use std::path::Path;

use garland_testkit::{Scratch, locals, until, verdict};
use serde_json::Value;

use crate::garland_in;

/// Writes a file of `scratch`, and the folders above it.
#[track_caller]
fn write(scratch: &Scratch, path: &str, bytes: impl AsRef<[u8]>) {
    let path = scratch.path(path);
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
    std::fs::write(path, bytes).expect("it can be written");
}

/// All paths below `folder`, sorted; a folder's ends in a slash.
fn paths(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, before: &str, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = format!("{before}{}", entry.file_name().to_string_lossy());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let path = format!("{path}/");
                walk(&entry.path(), &path, found);
                found.push(path);
            } else {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, "", &mut found);
    found.sort();
    found
}

/// What was left out, as `path: reason`.
#[track_caller]
fn left_out(result: &Value) -> Vec<String> {
    let left = result["tree"]["left_out"].as_array().unwrap_or_else(|| panic!("{result}"));
    let word = |value: &Value| value.as_str().expect("it is text").to_owned();
    left.iter().map(|left| format!("{}: {}", word(&left["path"]), word(&left["reason"]))).collect()
}

/// Waits until something hidden grows in `folder`: the copy is in the middle of a file there.
fn await_partial(folder: &Path) {
    until(&format!("a partial file in {}", folder.display()), || {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut hidden = entries
            .filter(|entry| entry.file_name().as_encoded_bytes().ends_with(b".garland-part"));
        hidden.any(|entry| entry.metadata().is_ok_and(|stat| stat.len() > 0))
    });
}
