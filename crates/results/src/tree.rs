//! The result of copying a tree, which is part of the result of a copy.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use garland_core::printable;
use garland_dataplane::{LeftOut, Tally};
use garland_protocol::Absent;
use serde::{Deserialize, Serialize};

use crate::copied::Copied;

/// The maximum number of entries that each list of the table shows.
const SHOWN: usize = 10;

/// The maximum number of entries that each list of the JSON object contains.
const KEPT: usize = 1000;

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
    /// The entries that were not copied, at most [`KEPT`]: first the missed, then the skipped ones.
    left_out: Vec<LeftOutResult>,
    /// The number of directories in which nothing was removed because one of their entries could
    /// not be copied.
    deletion_skipped: usize,
    /// The paths of the directories in which nothing was removed, at most [`KEPT`].
    deletion_skipped_in: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct LeftOutResult {
    path: String,
    /// The path in hexadecimal, if it is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    reason: String,
    /// Whether an error prevented the copy of the entry; if not, the entry was skipped by design.
    missed: bool,
}

impl TreeResult {
    /// Creates the result of a tree from the counts of copied entries and the entries that were
    /// left out.
    pub fn new(tally: Tally, left_out: &[LeftOut]) -> Self {
        let missed = left_out.iter().filter(|left| left.failed).count();
        // List first the entries that should have been copied.
        let first = left_out.iter().filter(|left| left.failed);
        let all = first.chain(left_out.iter().filter(|left| !left.failed));
        let entry = |left: &LeftOut| {
            let path = left.path.as_os_str().as_bytes();
            LeftOutResult {
                path: printable::json_name(path),
                path_bytes: printable::name_bytes(path),
                reason: left.reason.clone(),
                missed: left.failed,
            }
        };
        Self {
            files: tally.files,
            directories: tally.folders,
            links: tally.links,
            unchanged: 0,
            missed,
            skipped: left_out.len() - missed,
            left_out: all.take(KEPT).map(entry).collect(),
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
        let first = directories.iter().take(KEPT);
        let first = first.map(|path| printable::json_name(path.as_os_str().as_bytes()));
        Self { deletion_skipped: directories.len(), deletion_skipped_in: first.collect(), ..self }
    }

    /// Combines the trees that were gathered from nodes; `tallies` and `copies` have one element
    /// for each node. Returns `None` if no node gathered a tree. Entries that were left out are
    /// named `NODE:PATH`.
    pub fn gathered(tallies: &[Option<Tally>], copies: &[Copied]) -> Option<Self> {
        let mut all = Tally::default();
        let mut left_out = Vec::new();
        let (mut missed, mut skipped) = (0, 0);
        let trees = tallies
            .iter()
            .zip(copies)
            .filter_map(|(tally, copied)| Some((tally.as_ref()?, copied)));
        for (tally, copied) in trees.clone() {
            all.files += tally.files;
            all.folders += tally.folders;
            all.links += tally.links;
            for node in &copied.outcome.nodes {
                missed += node.absence.missed;
                skipped += node.absence.skipped;
                let of_node = |absent: &Absent| {
                    let LeftOut { path, reason, failed } = absent.clone().into();
                    let mut named = OsString::from(format!("{}:", node.name));
                    named.push(path);
                    LeftOut { path: named.into(), reason, failed }
                };
                left_out.extend(node.absence.first.iter().map(of_node));
            }
        }
        trees.clone().next()?;
        let result = Self::new(all, &left_out);
        let count = |count| usize::try_from(count).unwrap_or(usize::MAX);
        Some(Self { missed: count(missed), skipped: count(skipped), ..result })
    }

    /// Returns whether every entry that should be copied was copied.
    pub fn is_whole(&self) -> bool {
        self.missed == 0
    }

    fn write_left_out(&self, f: &mut fmt::Formatter<'_>, missed: bool) -> fmt::Result {
        let (word, count) =
            if missed { ("missed", self.missed) } else { ("skipped", self.skipped) };
        for left in self.left_out.iter().filter(|left| left.missed == missed).take(SHOWN) {
            let path = match left.path_bytes {
                // It is escaped already.
                Some(_) => left.path.clone(),
                None => printable::name(left.path.as_bytes()),
            };
            writeln!(f, "{word:<7} {path}: {}", printable::line(&left.reason))?;
        }
        write_more(f, word, count)
    }

    fn write_unswept(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for folder in self.deletion_skipped_in.iter().take(SHOWN) {
            let why = "nothing was removed, since one of its entries was not copied";
            writeln!(f, "kept    {}: {why}", printable::line(folder))?;
        }
        write_more(f, "kept", self.deletion_skipped)
    }
}

/// Writes how many of the `count` entries of a list are not shown, if any, after `word`.
fn write_more(f: &mut fmt::Formatter<'_>, word: &str, count: usize) -> fmt::Result {
    match count.saturating_sub(SHOWN) {
        0 => Ok(()),
        more => {
            let kept = count.min(KEPT);
            writeln!(f, "{word:<7} and {more} more (the run's result.json has {kept})")
        }
    }
}

impl fmt::Display for TreeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        self.write_left_out(f, true)?;
        self.write_left_out(f, false)?;
        self.write_unswept(f)
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
        assert!(said.contains("missed  and 2 more"), "{said}");
        assert!(said.ends_with("skipped sock\\n: a reason\n"), "{said}");
    }
}
