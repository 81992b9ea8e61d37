//! The list of `--failed-to`: the entries of a tree that were not copied, as `--files-from` reads
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_copy::source::CopySource;
use garland_copy::spec::SourceSpec;
use garland_core::printable;
use garland_dataplane::tree::{TreeSource, name_of};
use garland_protocol::copy::{Absence, NodeOutcome, Verdict};
use garland_results::copy_outcome::CopyOutcome;
use garland_terminal::failure::{Failure, OrFailure};

/// What stands for all of the source.
const ALL: &[u8] = b".";

/// The maximum number of links that follow each other on a path, as in the kernel.
const LINKS_MAX: usize = 40;

/// The open file of the list. Until the copy has ended it says that nothing was copied.
pub struct FailedList {
    path: PathBuf,
    file: File,
    /// The tree before anything of it is left out; `None` if the source is a single file, or not
    /// open yet.
    tree: Option<Arc<TreeSource>>,
    source: PathBuf,
    /// The directory on nodes to which the list is relative; empty if that is the destination.
    top: PathBuf,
    /// Whether nodes may name what the source does not have, since they were to remove it.
    removes_others: bool,
    /// The paths that were not copied.
    failed: BTreeSet<Vec<u8>>,
}

/// Refuses lists that could not be read again, and those that take the place of what is read.
///
/// # Errors
/// When names would not tell of which source they are, or the list that is read would be
/// overwritten, so that `--resume` could not read it, or the list would lie in its source, so that
/// it would be copied while it changes, or overwrite a file there.
pub fn check(spec: &SourceSpec) -> Result<(), Failure> {
    let SourceSpec { failed_to: Some(written), chosen_by, paths, .. } = spec else { return Ok(()) };
    let [source] = &paths[..] else {
        let what = format!("--failed-to accepts only one SOURCE, not {}", paths.len());
        return Err(Failure::usage(what)
            .hint("copy each SOURCE by itself, or the directory that contains them"));
    };
    if chosen_by.as_ref().is_some_and(|read| is_same_list(read, written)) {
        return Err(Failure::usage("--files-from and --failed-to name the same file")
            .hint("let --failed-to write another one: --resume reads the first again"));
    }
    if is_standard_output(written) {
        let what = format!(
            "cannot write the list of --failed-to to {}: standard output has the result",
            printable::path(written)
        );
        return Err(Failure::usage(what).hint("name another file: --failed-to FILE"));
    }
    // A link is copied as one, unless names are looked for in what it leads to.
    let stat = if chosen_by.is_some() { fs::metadata(source) } else { source.symlink_metadata() };
    if stat.is_ok_and(|stat| is_inside(written, FileId::new(&stat))) {
        let written = printable::path(written);
        let source = printable::path(source);
        let what = format!("cannot write the list of --failed-to to {written}: it is in SOURCE");
        return Err(Failure::usage(what).hint(format!("name a file outside of {source}")));
    }
    Ok(())
}

/// What tells a file from all others, whatever its path.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileId {
    disk: u64,
    inode: u64,
}

impl FileId {
    fn new(stat: &Metadata) -> Self {
        Self { disk: stat.dev(), inode: stat.ino() }
    }
}

/// Returns whether the list `read` would be overwritten by `written`. A terminal keeps nothing.
fn is_same_list(read: &Path, written: &Path) -> bool {
    let read = if read == Path::new("-") { Path::new("/dev/stdin") } else { read };
    let Ok(read) = fs::metadata(read) else { return false };
    let is_same = |stat: Metadata| FileId::new(&stat) == FileId::new(&read);
    !read.file_type().is_char_device() && fs::metadata(written).is_ok_and(is_same)
}

/// Returns whether the file with this path is standard output, which the list would mix with the
/// result, or cut off. A device such as `/dev/null` keeps nothing, unless it is a terminal.
fn is_standard_output(path: &Path) -> bool {
    let own = io::stdout();
    let Ok(output) = rustix::fs::fstat(&own) else { return false };
    fs::metadata(path).is_ok_and(|stat| {
        (stat.dev(), stat.ino()) == (output.st_dev, output.st_ino)
            && (!stat.file_type().is_char_device() || own.is_terminal())
    })
}

/// Returns whether the file with this path is `source` or inside of it, or would be if it were
/// made. What is no regular file takes the place of nothing.
fn is_inside(path: &Path, source: FileId) -> bool {
    if fs::metadata(path).is_ok_and(|stat| !stat.is_file()) {
        return false;
    }
    let is_source = |path: &Path| fs::metadata(path).is_ok_and(|stat| FileId::new(&stat) == source);
    let folder = real_folder(path);
    is_source(path) || folder.is_some_and(|folder| folder.ancestors().any(is_source))
}

/// Returns the directory of the file with this path, or the one in which it would be made: through
/// all links.
fn real_folder(path: &Path) -> Option<PathBuf> {
    let above = |path: &Path| Path::new(".").join(path.parent().unwrap_or(path));
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&path) else { break };
        path = above(&path).join(target);
    }
    fs::canonicalize(above(&path)).ok()
}

impl FailedList {
    /// Opens the file that the user asked for; `None` if nobody did. It says at once that nothing
    /// was copied: whatever ends the command early, a list of before would be wrong.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn open(spec: &SourceSpec) -> Result<Option<Self>, Failure> {
        let SourceSpec { failed_to: Some(path), paths, chosen_by, removes_others, .. } = spec
        else {
            return Ok(None);
        };
        let source = paths.first().cloned().unwrap_or_default();
        // Chosen entries keep their paths in SOURCE, whose name nodes do not see.
        let top = name_of(&source).filter(|_| chosen_by.is_none()).map(PathBuf::from);
        let file = File::options().create(true).append(true).open(path);
        let mut list = Self {
            path: path.clone(),
            file: file.or_nothing(format!("cannot write {}", printable::path(path)))?,
            tree: None,
            source,
            top: top.unwrap_or_default(),
            removes_others: *removes_others,
            failed: BTreeSet::from([ALL.to_vec()]),
        };
        // Whoever reads a pipe gets only what is true at the end.
        let stat =
            list.file.metadata().or_nothing(format!("cannot write {}", printable::path(path)))?;
        if stat.is_file() {
            list.write()?;
        }
        Ok(Some(list))
    }

    /// Makes the list one of `given`, the open source, before anything of it is left out.
    #[must_use]
    pub fn with_source(self, given: &CopySource) -> Self {
        let tree = match given {
            CopySource::Tree(tree) => Some(Arc::clone(tree)),
            CopySource::File(..) | CopySource::Elsewhere(_) | CopySource::Stream(..) => None,
        };
        Self { tree, ..self }
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
        Self { failed: self.copyable(failed), ..self }
    }

    /// Returns the paths `failed` if a copy of these copies nothing that was left out; else all.
    fn copyable(&self, failed: BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
        if failed.contains(ALL) || self.mount_points().any(|path| failed.contains(&path)) {
            return BTreeSet::from([ALL.to_vec()]);
        }
        failed
    }

    /// Returns the paths of the directories whose content `-x` left out, which --files-from copies
    /// if it names them, and those of entries that are of no kind that is sent.
    fn mount_points(&self) -> impl Iterator<Item = Vec<u8>> {
        let left_out = self.tree.iter().flat_map(|tree| tree.left_out());
        let skipped = left_out.filter(|left| !left.failed);
        skipped.map(|left| below(&self.source, left.path.as_os_str().as_bytes()))
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
        replace(&mut self.file, &text)
            .or_nothing(format!("cannot write {}", printable::path(&self.path)))
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
    // A path may begin with `./`, though the other does not.
    let bare = |path| Path::strip_prefix(path, ".").unwrap_or(path);
    let path = bare(Path::new(OsStr::from_bytes(path)));
    match path.strip_prefix(bare(top)) {
        Ok(inside) if !inside.as_os_str().is_empty() => inside.as_os_str().as_bytes().to_vec(),
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

    use garland_core::plan::Layout;
    use garland_dataplane::source::Content;
    use garland_dataplane::tree::Chosen;
    use garland_dataplane::tree::ScanOptions;
    use garland_protocol::copy::Absent;
    use garland_sys::confine::Root;
    use garland_testkit::{HangingDisk, Oddities};

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
            let tree_options = options();
            let mut chosen = Chosen::default();
            assert!(chosen.add(b"foo/bar.py"));
            let tree = match is_chosen {
                true => TreeSource::open_chosen(&source, &chosen, &tree_options),
                false => TreeSource::open(&[&source], &tree_options),
            };
            let spec = SourceSpec {
                paths: vec![source],
                chosen_by: is_chosen.then(|| self.0.join("chosen")),
                removes_others,
                failed_to: Some(self.0.join("failed")),
                ..SourceSpec::default()
            };
            let given = CopySource::Tree(Arc::new(tree.unwrap()));
            let list = FailedList::open(&spec).unwrap().expect("a list was asked for");
            list.with_source(&given)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn options() -> ScanOptions<'static> {
        ScanOptions {
            excludes: Vec::new(),
            attributes: false,
            sweep: false,
            one_file_system: false,
            root: &Root::Free,
            stop: &|| false,
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
        let spec = SourceSpec {
            paths: vec![scratch.0.join("none")],
            failed_to: Some(scratch.0.join("failed")),
            ..SourceSpec::default()
        };
        let mut list = FailedList::open(&spec).unwrap().expect("a list was asked for");
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
        // Reading a list that does not exist fails later, and says so.
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
        // However the user writes it: entries have the path of the directory that they are in.
        for top in ["a//d", "a/./d", "a//d/", "./a/d", ".//a/d/.", "a/d"] {
            assert_eq!(found(top, "a/d/e/f"), "e/f", "{top}");
            assert_eq!(found(top, "./a/d//f"), "f", "{top}");
        }
        assert_eq!(found(".", "f"), "f");
        assert_eq!(found("./", "./d/f"), "d/f");
        assert_eq!(found("/", "/f"), "f");
        assert_eq!(found("../d", "../d/f"), "f");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_however_the_source_is_written() {
        let scratch = Scratch::new("failed-spelling");
        let file = scratch.0.join("foo/foo/bar.py");
        for spelling in ["foo", "foo/", "/foo", "./foo", "foo/.", "./foo//foo/../"] {
            fs::write(&file, "").unwrap();
            let source = PathBuf::from(format!("{}/{spelling}", scratch.0.display()));
            let tree = TreeSource::open(&[&source], &options()).unwrap();
            fs::remove_file(&file).unwrap();
            let layout = Layout::fitting(tree.length());
            (0..layout.blocks()).for_each(|index| {
                let mut block = vec![0; layout.block_length(index) as usize];
                tree.read(layout, index, &mut block).unwrap();
            });
            let left_out = tree.left_out();
            let named =
                left_out.iter().map(|left| below(&source, left.path.as_os_str().as_bytes()));
            assert_eq!(named.collect::<Vec<_>>(), [b"foo/bar.py"], "{spelling}");
        }
    }

    #[test]
    fn what_is_mounted_and_was_left_out_is_not_listed() {
        let scratch = Scratch::new("failed-mounted");
        let source = scratch.0.join("foo");
        let disk = HangingDisk::mount_odd(&source.join("foo"), Oddities::default());
        let options = ScanOptions { one_file_system: true, ..options() };
        let tree = TreeSource::open(&[source], &options).unwrap();
        let list = scratch.list(false, false).with_source(&CopySource::Tree(Arc::new(tree)));
        let listed = |path: &str| {
            let named = list.copyable(lacking(&list, &[path]).into_iter().map(Vec::from).collect());
            named.into_iter().map(|path| String::from_utf8(path).unwrap()).collect::<Vec<_>>()
        };
        let found = ["foo", "foo/foo"].map(listed);
        drop(disk);
        assert_eq!(found, [["."], ["."]]);
    }

    #[test]
    fn a_list_in_its_own_source_is_refused() {
        let scratch = Scratch::new("failed-inside");
        let source = scratch.0.join("foo");
        let link = scratch.0.join("link");
        symlink(&source, &link).unwrap();
        symlink("foo/none", scratch.0.join("dangling")).unwrap();
        symlink("/dev/null", source.join("nothing")).unwrap();
        let is_refused = |source: &Path, is_chosen: bool, written: &str| {
            check(&SourceSpec {
                paths: vec![source.to_owned()],
                chosen_by: is_chosen.then(|| scratch.0.join("chosen")),
                failed_to: Some(scratch.0.join(written)),
                ..SourceSpec::default()
            })
            .is_err()
        };
        for written in
            ["foo/new", "foo/foo/bar.py", "foo/foo/../new", "link/new", "dangling", "foo/foo/.."]
        {
            assert!(is_refused(&source, false, written) == (written != "foo/foo/.."), "{written}");
        }
        for written in ["new", "foo2", "no/such", "foo/nothing"] {
            assert!(!is_refused(&source, false, written), "{written}");
        }
        assert!(is_refused(&source.join("foo/bar.py"), false, "foo/foo/bar.py"), "the source");
        // What a link leads to is copied only if it is looked into.
        let into = link.join("");
        assert!(!is_refused(&link, false, "foo/new"));
        assert!(is_refused(&into, false, "foo/new") && is_refused(&link, true, "foo/new"));
        assert!(!scratch.0.join("foo/none").exists() && !scratch.0.join("foo/new").exists());
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
