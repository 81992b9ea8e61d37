//! The list of `--failed-to`: the entries of a tree that were not copied, as `--files-from` reads
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_copy::source::CopySource;
use garland_copy::spec::SourceSpec;
use garland_dataplane::{TreeSource, name_of};
use garland_protocol::copy::{Absence, NodeOutcome, Verdict};
use garland_results::copy_outcome::CopyOutcome;
use garland_terminal::failure::{Failure, OrFailure};

/// What stands for all of the source.
const ALL: &[u8] = b".";

/// The open file of the list. Until the copy has ended it says that nothing was copied.
pub struct FailedList {
    path: PathBuf,
    file: File,
    /// The tree before anything of it is left out; `None` if the source is a single file.
    tree: Option<Arc<TreeSource>>,
    source: PathBuf,
    /// The directory on nodes to which the list is relative; empty if that is the destination.
    top: PathBuf,
    /// Whether nodes may name what the source does not have, since they were to remove it.
    removes_others: bool,
    /// The paths that were not copied.
    failed: BTreeSet<Vec<u8>>,
}

/// Refuses lists that could not be read again.
///
/// # Errors
/// When names would not tell of which source they are, or the list that is read would be
/// overwritten, so that `--resume` could not read it.
pub fn check(spec: &SourceSpec) -> Result<(), Failure> {
    let SourceSpec { failed_to: Some(written), chosen_by, paths, .. } = spec else { return Ok(()) };
    if paths.len() != 1 {
        return Err(Failure::usage("--failed-to needs one SOURCE, as --files-from does")
            .hint("copy each by itself, or the directory that they are in"));
    }
    let id = |path: &Path| fs::metadata(path).ok().map(|stat| (stat.dev(), stat.ino()));
    let is_same = |read: &PathBuf| id(read).is_some_and(|read| id(written) == Some(read));
    if chosen_by.as_ref().is_some_and(is_same) {
        return Err(Failure::usage("--files-from and --failed-to name the same file")
            .hint("let --failed-to write another one: --resume reads the first again"));
    }
    Ok(())
}

impl FailedList {
    /// Opens the file that the user asked for; `None` if nobody did. It says at once that nothing
    /// was copied: whatever ends the command early, a list of before would be wrong.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn open(spec: &SourceSpec, given: &CopySource) -> Result<Option<Self>, Failure> {
        let SourceSpec { failed_to: Some(path), paths, chosen_by, removes_others, .. } = spec
        else {
            return Ok(None);
        };
        let source = paths.first().cloned().unwrap_or_default();
        // Chosen entries keep their paths in SOURCE, whose name nodes do not see.
        let top = name_of(&source).filter(|_| chosen_by.is_none()).map(PathBuf::from);
        let tree = match given {
            CopySource::Tree(tree) => Some(Arc::clone(tree)),
            CopySource::File(..) | CopySource::Elsewhere(_) | CopySource::Stream(..) => None,
        };
        let file = File::options().create(true).append(true).open(path);
        let mut list = Self {
            path: path.clone(),
            file: file.or_nothing(format!("cannot write {}", path.display()))?,
            tree,
            source,
            top: top.unwrap_or_default(),
            removes_others: *removes_others,
            failed: BTreeSet::from([ALL.to_vec()]),
        };
        // Whoever reads a pipe gets only what is true at the end.
        let stat = list.file.metadata().or_nothing(format!("cannot write {}", path.display()))?;
        if stat.is_file() {
            list.write()?;
        }
        Ok(Some(list))
    }

    /// Makes the list that of what was not copied in `outcome`.
    #[must_use]
    pub fn filled(self, outcome: &CopyOutcome) -> Self {
        let unread = outcome.tree.iter().flat_map(|tree| tree.missed_paths());
        let unread = unread.map(|path| below(&self.source, path.as_os_str().as_bytes()));
        let mut failed: BTreeSet<_> = unread.collect();
        for node in outcome.copies.iter().flat_map(|copied| &copied.outcome.nodes) {
            failed.extend(self.lacking(node));
        }
        if failed.contains(ALL) {
            failed = BTreeSet::from([ALL.to_vec()]);
        }
        Self { failed, ..self }
    }

    /// Returns the paths that a node lacks, if it names all of them and can be believed; else all.
    fn lacking(&self, node: &NodeOutcome) -> Vec<Vec<u8>> {
        let NodeOutcome { verdict, absence: Absence { missed, parts, .. }, .. } = node;
        let named = parts.iter().filter(|part| part.missed).map(|part| part.path.as_slice());
        let is_named = named.clone().count() as u64 == *missed;
        let lacking = match (verdict, *missed) {
            (Verdict::Ok, 0) => Some(Vec::new()),
            (Verdict::Ok | Verdict::Failed(_), 1..) if is_named => self.sent(named),
            _ => None,
        };
        lacking.unwrap_or_else(|| vec![ALL.to_vec()])
    }

    /// Returns those of the paths `named` on a node that this machine sent, relative to SOURCE:
    /// only these may be read by the next copy. Returns `None` if a node names others for any
    /// reason but their removal.
    fn sent<'a>(&self, named: impl Iterator<Item = &'a [u8]>) -> Option<Vec<Vec<u8>>> {
        let named = named.map(|path| path.strip_suffix(b"/").unwrap_or(path));
        let mut are_sent: BTreeMap<&[u8], bool> = named.map(|path| (path, false)).collect();
        let mut note = |path: &[u8]| {
            let path = path.strip_suffix(b"/").unwrap_or(path);
            are_sent.get_mut(path).into_iter().for_each(|is_sent| *is_sent = true);
        };
        // The destination itself.
        [&b""[..], ALL].into_iter().for_each(&mut note);
        self.tree.as_ref()?.for_each_path(|_, path| note(path));
        let is_fair = |path: &[u8]| {
            self.removes_others && path.split(|byte| *byte == b'/').all(|name| name != b"..")
        };
        if are_sent.iter().any(|(path, is_sent)| !is_sent && !is_fair(path)) {
            return None;
        }
        let sent = are_sent.into_iter().filter(|(_, is_sent)| *is_sent);
        Some(sent.map(|(path, _)| below(&self.top, path)).collect())
    }

    /// Writes the list, and nothing else.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self) -> Result<(), Failure> {
        let text = listed(&self.failed);
        replace(&mut self.file, &text).or_nothing(format!("cannot write {}", self.path.display()))
    }
}

/// Writes `text` in the place of all that the file has, and makes it stable, if it is a file: it
/// may be a pipe or a terminal.
fn replace(file: &mut File, text: &[u8]) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return file.write_all(text);
    }
    file.set_len(0)?;
    file.write_all(text)?;
    file.sync_all()
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
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use garland_dataplane::ScanOptions;
    use garland_dataplane::tree::Chosen;
    use garland_protocol::copy::Absent;
    use garland_sys::confine::Root;

    use super::*;

    /// A directory of one test, which is removed with it.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(test: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("garland-{test}-{}", std::process::id()));
            fs::create_dir_all(dir.join("foo/foo")).unwrap();
            fs::write(dir.join("foo/foo/bar.py"), "").unwrap();
            Self(dir)
        }

        /// The list of a copy of the directory `foo`, or of what a list chooses in it.
        fn list(&self, is_chosen: bool, removes_others: bool) -> FailedList {
            let source = self.0.join("foo");
            let options = ScanOptions {
                excludes: Vec::new(),
                attributes: false,
                sweep: false,
                one_file_system: false,
                root: &Root::Free,
                stop: &|| false,
            };
            let mut chosen = Chosen::default();
            assert!(chosen.add(b"foo/bar.py"));
            let tree = match is_chosen {
                true => TreeSource::open_chosen(&source, &chosen, &options),
                false => TreeSource::open(&[&source], &options),
            };
            let spec = SourceSpec {
                paths: vec![source],
                chosen_by: is_chosen.then(|| self.0.join("chosen")),
                removes_others,
                failed_to: Some(self.0.join("failed")),
                ..SourceSpec::default()
            };
            let given = CopySource::Tree(Arc::new(tree.unwrap()));
            FailedList::open(&spec, &given).unwrap().expect("a list was asked for")
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// What `list` has of a node that lacks the entries `named`.
    fn lacking(list: &FailedList, named: &[&str]) -> Vec<String> {
        let part = |path: &&str| {
            let path = path.as_bytes().to_vec();
            Absent { path, reason: String::new(), missed: true }
        };
        let parts: Vec<_> = named.iter().map(part).collect();
        let absence = Absence { missed: parts.len() as u64, skipped: 0, parts };
        let node = NodeOutcome { absence, ..NodeOutcome::failed("n1", String::new()) };
        let text = |path| String::from_utf8(path).unwrap();
        list.lacking(&node).into_iter().map(text).collect()
    }

    #[test]
    fn chosen_paths_lose_no_directory_that_is_called_like_the_source() {
        let scratch = Scratch::new("failed-chosen");
        let whole = scratch.list(false, false);
        let chosen = scratch.list(true, false);
        assert_eq!(lacking(&whole, &["foo/foo/bar.py"]), ["foo/bar.py"]);
        assert_eq!(lacking(&chosen, &["foo/bar.py"]), ["foo/bar.py"]);
        assert_eq!(lacking(&chosen, &["foo"]), ["foo"]);
    }

    #[test]
    fn nodes_name_only_what_was_sent_to_them() {
        let scratch = Scratch::new("failed-hostile");
        let list = scratch.list(false, false);
        for named in ["foo/private/key", "foo/../key", "..", "/etc/passwd", "bar.py"] {
            assert_eq!(lacking(&list, &["foo/foo/bar.py", named]), ["."], "{named}");
        }
        assert_eq!(lacking(&list, &["foo/foo/"]), ["foo"]);
        assert_eq!(lacking(&list, &["."]), ["."]);
    }

    #[test]
    fn what_was_to_be_removed_is_not_listed() {
        let scratch = Scratch::new("failed-surplus");
        let list = scratch.list(false, true);
        assert_eq!(lacking(&list, &["foo/old", "foo/foo/bar.py"]), ["foo/bar.py"]);
        assert!(lacking(&list, &["foo/old"]).is_empty());
        assert_eq!(lacking(&list, &["foo/../old"]), ["."]);
    }

    #[test]
    fn the_list_says_that_nothing_was_copied_until_the_copy_has_ended() {
        let scratch = Scratch::new("failed-early");
        fs::write(scratch.0.join("failed"), "of/another/copy\n").unwrap();
        let mut list = scratch.list(false, false);
        let read = || fs::read_to_string(scratch.0.join("failed")).unwrap();
        assert_eq!(read(), ".\n");
        list.failed = BTreeSet::new();
        list.write().unwrap();
        assert_eq!(read(), "");
    }

    #[test]
    fn what_is_no_file_gets_the_list_only() {
        let scratch = Scratch::new("failed-pipe");
        let (mut reader, writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        for path in [Path::new(&path), Path::new("/dev/null")] {
            let _ = fs::remove_file(scratch.0.join("failed"));
            symlink(path, scratch.0.join("failed")).unwrap();
            let mut list = scratch.list(false, false);
            list.failed = BTreeSet::from([b"a".to_vec()]);
            list.write().unwrap();
        }
        drop(writer);
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "a\n");
    }

    #[test]
    fn the_list_that_is_read_is_not_overwritten() {
        let scratch = Scratch::new("failed-same");
        let [first, second, third] = ["first", "second", "third"].map(|name| scratch.0.join(name));
        fs::write(&first, "foo\n").unwrap();
        fs::hard_link(&first, &second).unwrap();
        let refused = |read: &PathBuf, written: &PathBuf| {
            check(&SourceSpec {
                paths: vec![scratch.0.join("foo")],
                chosen_by: Some(read.clone()),
                failed_to: Some(written.clone()),
                ..SourceSpec::default()
            })
            .is_err()
        };
        let pairs = [(&first, &first), (&first, &second), (&first, &third), (&third, &third)];
        let are_refused = pairs.map(|pair| refused(pair.0, pair.1));
        // A list that is not there cannot be read: that is told elsewhere.
        assert_eq!(are_refused, [true, true, false, false]);
    }

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
