//! The result of copying a tree, which is part of the result of a copy.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use garland_core::printable;
use garland_dataplane::tree::{LeftOut, Tally};
use garland_protocol::copy::{ABSENCE_MAX, Absence};
use serde::{Deserialize, Serialize};

use crate::left_out::{LeftOutResult, SHOWN_MAX};

/// The maximum number of skipped entries, and of directories in which nothing was removed, that the
/// JSON object contains.
const KEPT_MAX: usize = 1000;

/// What was copied of a tree, and what was not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TreeResult {
    files: u64,
    directories: u64,
    /// The number of symbolic and hard links.
    links: u64,
    /// The number of files, directories and links that all nodes had, by size and time.
    #[serde(default)]
    unchanged: u64,
    /// The number of entries that could not be copied because of errors.
    missed: usize,
    /// The number of entries that were skipped by design, such as sockets.
    skipped: usize,
    /// The entries that were not copied: first the missed, as far as [`ABSENCE_MAX`] has room
    /// for them, then at most [`KEPT_MAX`] skipped ones.
    left_out: Vec<LeftOutResult>,
    /// The paths of all entries that could not be copied because of errors, as the user would write
    /// them.
    #[serde(skip)]
    missed_paths: Vec<PathBuf>,
    /// The number of directories in which nothing was removed because one of their entries could
    /// not be copied.
    deletion_skipped: usize,
    /// The paths of the directories in which nothing was removed, at most [`KEPT_MAX`].
    deletion_skipped_in: Vec<String>,
}

/// The tree of a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeTree<'a> {
    /// The name of the node.
    pub node: &'a str,
    /// What it sends.
    pub tally: Tally,
    /// What it leaves out.
    pub absence: &'a Absence,
}

impl TreeResult {
    /// Creates the result of a tree from the counts of copied entries and the entries that were
    /// left out.
    pub fn new(tally: Tally, left_out: &[LeftOut]) -> Self {
        let missed = left_out.iter().filter(|left| left.failed).count();
        // List first the entries that should have been copied, since each has to be mended.
        let mut room = ABSENCE_MAX;
        let first = left_out.iter().filter(|left| left.failed).take_while(|left| {
            let needed = left.path.as_os_str().len() + left.reason.len();
            let fits = needed <= room;
            room = room.saturating_sub(needed);
            fits
        });
        let all = first.chain(left_out.iter().filter(|left| !left.failed).take(KEPT_MAX));
        Self {
            files: tally.files,
            directories: tally.folders,
            links: tally.links,
            unchanged: 0,
            missed,
            skipped: left_out.len() - missed,
            left_out: all.map(LeftOutResult::from).collect(),
            missed_paths: left_out
                .iter()
                .filter(|left| left.failed)
                .map(|left| left.path.clone())
                .collect(),
            deletion_skipped: 0,
            deletion_skipped_in: Vec::new(),
        }
    }

    /// Sets the number of entries that all nodes had.
    pub fn with_unchanged(self, unchanged: u64) -> Self {
        Self { unchanged, ..self }
    }

    /// Sets the directories in which nodes were told to remove nothing.
    pub fn with_deletion_skipped(self, directories: &[PathBuf]) -> Self {
        let first = directories.iter().take(KEPT_MAX);
        let first = first.map(|path| printable::json_name(path.as_os_str().as_bytes()));
        Self { deletion_skipped: directories.len(), deletion_skipped_in: first.collect(), ..self }
    }

    /// Combines trees of nodes. Returns `None` if there are none. Entries that were left out are
    /// named `NODE:PATH`.
    pub fn gathered<'a>(trees: impl IntoIterator<Item = NodeTree<'a>>) -> Option<Self> {
        let mut trees = trees.into_iter().peekable();
        trees.peek()?;
        let mut tally = Tally::default();
        let mut absence = Absence::default();
        for tree in trees {
            tally.add(tree.tally);
            absence.add(tree.absence.clone().on_node(tree.node));
        }
        let left_out: Vec<LeftOut> = absence.parts.into_iter().map(LeftOut::from).collect();
        let count = |count| usize::try_from(count).unwrap_or(usize::MAX);
        Some(Self {
            missed: count(absence.missed),
            skipped: count(absence.skipped),
            ..Self::new(tally, &left_out)
        })
    }

    /// Returns whether every entry that should be copied was copied.
    pub fn is_whole(&self) -> bool {
        self.missed == 0
    }

    /// Returns the paths of all entries that could not be read, as the user would write them.
    pub fn missed_paths(&self) -> &[PathBuf] {
        &self.missed_paths
    }

    /// Returns whether the table lists fewer entries than there are.
    pub fn is_cut_short(&self) -> bool {
        let longest = self.missed.max(self.skipped).max(self.deletion_skipped);
        longest > SHOWN_MAX
    }

    /// Returns the result as a table with all entries that it contains.
    pub fn whole_table(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text, usize::MAX);
        text
    }

    fn write(&self, f: &mut dyn fmt::Write, shown_max: usize) -> fmt::Result {
        let words = [
            (self.files, "file", "files"),
            (self.directories, "directory", "directories"),
            (self.links, "link", "links"),
        ];
        let words = words
            .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }));
        write!(f, "tree    {}", words.join(", "))?;
        match self.unchanged {
            0 => writeln!(f)?,
            unchanged => writeln!(f, "; {unchanged} unchanged by size and time")?,
        }
        let listed = |missed| {
            let of_kind = self.left_out.iter().filter(move |left| left.missed == missed);
            of_kind.map(LeftOutResult::to_string)
        };
        write_list(f, "missed", listed(true), self.missed, shown_max)?;
        write_list(f, "skipped", listed(false), self.skipped, shown_max)?;
        let unswept = self.deletion_skipped_in.iter().map(|folder| {
            let folder = printable::line(folder);
            format!("{folder}: nothing was removed, since one of its entries was not copied")
        });
        write_list(f, "kept", unswept, self.deletion_skipped, shown_max)
    }
}

/// Writes at most `shown_max` of the `entries` of a list after `word`, and how many of the `count`
/// entries are not shown, if any.
fn write_list(
    f: &mut dyn fmt::Write,
    word: &str,
    entries: impl Iterator<Item = String>,
    count: usize,
    shown_max: usize,
) -> fmt::Result {
    let mut shown = 0;
    for entry in entries.take(shown_max) {
        writeln!(f, "{word:<7} {entry}")?;
        shown += 1;
    }
    match count.saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(f, "{word:<7} and {more} more"),
    }
}

impl fmt::Display for TreeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, SHOWN_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_entries_come_first_and_long_lists_are_cut() {
        let left = |path: &str, failed| LeftOut {
            path: path.into(),
            reason: "a reason".to_owned(),
            failed,
        };
        let mut all = vec![left("sock\n", false)];
        all.extend((0..12).map(|number| left(&format!("f{number}"), true)));
        let tally = Tally { files: 1, folders: 0, links: 2 };
        let result = TreeResult::new(tally, &all);
        assert!(!result.is_whole());
        let said = result.to_string();
        assert!(said.starts_with("tree    1 file, 0 directories, 2 links\nmissed  f0: a reason\n"));
        assert!(said.contains("missed  f4: a reason\nmissed  and 7 more"), "{said}");
        assert!(said.ends_with("skipped sock\\n: a reason\n"), "{said}");
        assert!(result.is_cut_short());
        let whole = result.whole_table();
        assert!(whole.contains("missed  f11: a reason\n") && !whole.contains("more"), "{whole}");
    }

    #[test]
    fn all_missed_entries_are_in_the_object() {
        let left = |failed| {
            move |number: usize| LeftOut {
                path: number.to_string().into(),
                reason: String::new(),
                failed,
            }
        };
        let all: Vec<_> = (0..2000).map(left(true)).chain((0..2000).map(left(false))).collect();
        let object = serde_json::to_value(TreeResult::new(Tally::default(), &all)).unwrap();
        let listed = object["left_out"].as_array().unwrap();
        let missed = listed.iter().filter(|entry| entry["missed"] == true).count();
        assert_eq!((missed, listed.len()), (2000, 2000 + KEPT_MAX));
    }
}
