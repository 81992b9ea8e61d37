//! The list of `--failed-to`: the entries of a tree that were not copied, as `--files-from` reads
//! them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use garland_copy::spec::{CopySpec, SourceSpec};
use garland_dataplane::name_of;
use garland_protocol::copy::{Absence, Verdict};
use garland_results::copy_outcome::CopyOutcome;
use garland_terminal::failure::{Failure, OrFailure};

/// What stands for all of the source.
const ALL: &[u8] = b".";

/// The open file of the list. What it has had stays until the copy has ended.
pub struct FailedList {
    path: PathBuf,
    source: PathBuf,
    file: File,
}

impl FailedList {
    /// Opens the file that the user asked for; `None` if nobody did.
    ///
    /// # Errors
    /// When it cannot be written, or names would not tell of which source they are.
    pub fn open(spec: &CopySpec) -> Result<Option<Self>, Failure> {
        let SourceSpec { failed_to: Some(path), paths, .. } = &spec.source else { return Ok(None) };
        let [source] = &paths[..] else {
            return Err(Failure::usage("--failed-to needs one SOURCE, as --files-from does")
                .hint("copy each by itself, or the directory that they are in"));
        };
        let file = File::options().create(true).append(true).open(path);
        let file = file.or_nothing(format!("cannot write {}", path.display()))?;
        Ok(Some(Self { path: path.clone(), source: source.clone(), file }))
    }

    /// Writes what was not copied in `outcome`, and nothing else.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(mut self, outcome: &CopyOutcome) -> Result<(), Failure> {
        let text = listed(&failed(&self.source, outcome));
        let written = self.file.set_len(0).and_then(|()| self.file.write_all(&text));
        let synced = written.and_then(|()| sync(&self.file));
        synced.or_nothing(format!("cannot write {}", self.path.display()))
    }
}

/// Makes the file stable, if it is one: it may be a pipe.
fn sync(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.sync_all() } else { Ok(()) }
}

/// Returns the paths below `source` that this machine could not read or a node did not take.
fn failed(source: &Path, outcome: &CopyOutcome) -> BTreeSet<Vec<u8>> {
    let unread = outcome.tree.iter().flat_map(|tree| tree.missed_paths());
    let mut all: BTreeSet<_> =
        unread.map(|path| below(source, path.as_os_str().as_bytes())).collect();
    for node in outcome.copies.iter().flat_map(|copied| &copied.outcome.nodes) {
        let Absence { missed, parts, .. } = &node.absence;
        let named = parts.iter().filter(|part| part.missed);
        let is_named = *missed > 0 && named.clone().count() as u64 == *missed;
        if is_named {
            let top = name_of(source).map(Path::new).unwrap_or(Path::new(""));
            all.extend(named.map(|part| below(top, &part.path)));
        } else if node.verdict != Verdict::Ok {
            all.insert(ALL.to_vec());
        }
    }
    if all.contains(ALL) { BTreeSet::from([ALL.to_vec()]) } else { all }
}

/// Returns the part of `path` below `top`; all of it if that is `top` itself, or not below it.
fn below(top: &Path, path: &[u8]) -> Vec<u8> {
    let top = top.as_os_str().as_bytes();
    let top = top.strip_suffix(b"/").unwrap_or(top);
    let inside = match top {
        b"" => Some(path),
        top => path.strip_prefix(top).and_then(|rest| rest.strip_prefix(b"/")),
    };
    match inside {
        Some(inside) if !inside.is_empty() => inside.to_vec(),
        _ => ALL.to_vec(),
    }
}

/// Returns the text of a list: lines, or paths that end in NUL if lines could not tell one of them.
fn listed(paths: &BTreeSet<Vec<u8>>) -> Vec<u8> {
    let is_line = |path: &Vec<u8>| {
        !path.contains(&b'\n') && !path.ends_with(b"\r") && !matches!(path[0], b'#' | b';')
    };
    let end: &[u8] = if paths.iter().all(is_line) { b"\n" } else { b"\0" };
    paths.iter().flat_map(|path| [path, end].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_below_the_source() {
        let found = |top: &str, path: &str| {
            String::from_utf8(below(Path::new(top), path.as_bytes())).expect("text")
        };
        assert_eq!(found("d", "d/e/f"), "e/f");
        assert_eq!(found("/a/d/", "/a/d/f"), "f");
        assert_eq!(found(".", "./f"), "f");
        assert_eq!(found("", "f"), "f");
        assert_eq!(found("d", "d"), ".");
        assert_eq!(found("d", "d/"), ".");
        assert_eq!(found("d", "dd/f"), ".", "not below it");
    }

    #[test]
    fn what_files_from_reads_in_lines_is_written_in_lines() {
        let list = |paths: &[&str]| {
            let paths = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
            String::from_utf8(listed(&paths)).expect("text")
        };
        assert_eq!(list(&[]), "");
        assert_eq!(list(&["b", "a c"]), "a c\nb\n");
        assert_eq!(list(&["a\nb", "c"]), "a\nb\0c\0");
        assert_eq!(list(&["#a"]), "#a\0");
        assert_eq!(list(&["a\r"]), "a\r\0");
    }
}
