//! Sources that are asked for by several paths and patterns, as one tree.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use garland_core::printable;
use garland_core::tree::SourcePath;
use garland_sys::confine::Root;

use super::expansion::{BOUNDS, Entry, Expansion, Folder};
use super::left_out::LeftOut;
use super::scan::{Scan, ScanError, ScanOptions};
use super::walk::{TopFile, Walk};

/// The maximum number of sources that a message names. Even if their names are as long as they can
/// be, the message can be sent.
const NAMED_MAX: usize = 3;

/// What was found at the paths of a request.
pub struct Sources {
    folders: Vec<Folder>,
    found: Vec<Found>,
    /// The paths at which nothing is, and what could not be looked into.
    missing: Vec<LeftOut>,
    /// Whether the request has one pattern, which matches nothing and is the path of an entry.
    is_one_literal: bool,
}

enum Found {
    /// An entry, which is copied under its own name.
    Entry(Entry),
    /// A directory of which only the content is copied.
    Content(PathBuf),
}

impl Found {
    /// Returns the index of the directory in which the entry is; `None` for the content of a
    /// directory.
    fn folder(&self) -> Option<usize> {
        match self {
            Self::Entry(entry) => Some(entry.folder),
            Self::Content(_) => None,
        }
    }
}

impl Sources {
    /// Finds what is at `paths` below `root`, until `stop` returns true.
    ///
    /// # Errors
    /// When nothing is there, when two entries have the same name, or when patterns match more than
    /// is allowed.
    pub fn find(
        paths: &[SourcePath],
        root: &Root,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, ScanError> {
        let mut expansion = Expansion::new(root, stop, BOUNDS);
        let mut found = Vec::new();
        let mut missing = Vec::new();
        let mut is_one_literal = false;
        for path in paths {
            let own = path.bytes();
            if path.last_name().is_none() {
                found.push(Found::Content(PathBuf::from(OsStr::from_bytes(own))));
                continue;
            }
            let unsearched = expansion.left_out.len();
            let matches = match path {
                SourcePath::Literal(_) => Vec::new(),
                SourcePath::Pattern(pattern) => expansion.expand(pattern)?,
            };
            if !matches.is_empty() {
                found.extend(matches.into_iter().map(Found::Entry));
                continue;
            }
            match (expansion.entry(own)?, path) {
                (Ok(entry), _) => {
                    is_one_literal = paths.len() == 1;
                    found.push(Found::Entry(entry));
                }
                (Err(why), SourcePath::Literal(_)) => missing.push(LeftOut::failed(own, why)),
                // Whether something matches is not known if a directory could not be looked into.
                // The directory is named.
                (Err(_), SourcePath::Pattern(_)) if expansion.left_out.len() > unsearched => {}
                (Err(_), SourcePath::Pattern(_)) => {
                    missing.push(LeftOut::failed(own, "nothing matches".to_owned()));
                }
            }
        }
        let Expansion { folders, left_out, .. } = expansion;
        missing.extend(left_out);
        // What is in one directory comes together, so that the directory is opened once. Where a
        // whole directory stands between them, the order decides which of two files of one name
        // stays.
        for between in found.split_mut(|found| matches!(found, Found::Content(_))) {
            between.sort_by_key(Found::folder);
        }
        let sources = Self { folders, found, missing, is_one_literal };
        if sources.found.is_empty() {
            return Err(sources.nothing());
        }
        sources.without_repetitions()
    }

    /// Returns whether the request has one pattern, which matches nothing and is the path of an
    /// entry.
    pub fn is_one_literal(&self) -> bool {
        self.is_one_literal
    }

    /// Scans the sources: everything in them, or, if `files_only` is set, only files and those to
    /// which symbolic links lead.
    pub fn scan(self, files_only: bool, options: &ScanOptions<'_>) -> Result<Scan, ScanError> {
        let mut walk = Walk::new(options);
        walk.scan.begin(options);
        let mut links = Vec::new();
        let mut last = None;
        for found in &self.found {
            let Entry { folder: at, name } = match found {
                Found::Entry(entry) => entry,
                Found::Content(path) => {
                    last = None;
                    match walk.content(path) {
                        Err(ScanError::Io { reason, .. }) => walk.leave_out_top(path, &reason),
                        scanned => scanned?,
                    }
                    continue;
                }
            };
            let folder = &self.folders[*at];
            if last != Some(*at) {
                walk.begin_folder(&folder.fd, &folder.path)?;
                last = Some(*at);
            }
            if !files_only {
                walk.top_entry(&folder.fd, &folder.path, name)?;
            } else if walk.top_file(&folder.fd, &folder.path, name)? == TopFile::Link {
                links.push((folder, name));
            }
        }
        // Each of them is a place of its own.
        if links.len() + self.folders.len() > BOUNDS.open {
            return Err(ScanError::TooManyPlaces { places: BOUNDS.open });
        }
        for (folder, name) in links {
            walk.top_link(&folder.path, name)?;
        }
        walk.scan.left_out.extend(self.missing);
        Ok(walk.scan.end())
    }

    /// Leaves out entries that were found before, by another pattern.
    ///
    /// # Errors
    /// When two different entries have the same name.
    fn without_repetitions(mut self) -> Result<Self, ScanError> {
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut twice = None;
        let folders = &self.folders;
        self.found.retain(|found| {
            let Found::Entry(Entry { folder, name }) = found else { return true };
            let Some(first) = places.insert(name.clone(), *folder) else { return true };
            if folders[first].id != folders[*folder].id && twice.is_none() {
                let path = |folder: usize| path_in(&folders[folder].path, name);
                twice = Some(ScanError::SameName { one: path(first), other: path(*folder) });
            }
            false
        });
        match twice {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    fn nothing(&self) -> ScanError {
        let shown = self.missing.iter().take(NAMED_MAX).map(LeftOut::to_string);
        let more = self.missing.len().saturating_sub(NAMED_MAX);
        let more = (more > 0).then(|| format!("{more} more"));
        ScanError::Missing(shown.chain(more).collect::<Vec<_>>().join("; "))
    }
}

/// Returns the path of the entry `name` in the directory `folder`, for messages.
fn path_in(folder: &Path, name: &[u8]) -> String {
    let name = Path::new(OsStr::from_bytes(name));
    printable::path(&if folder == Path::new(".") { name.to_owned() } else { folder.join(name) })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use garland_core::plan::Layout;

    use super::super::place::{names_to, record_of};
    use super::*;
    use crate::source::Content;
    use crate::tests::{Scratch, without_rights_of_root};
    use crate::tree::TreeSource;

    fn options(root: &Root) -> ScanOptions<'_> {
        ScanOptions {
            excludes: Vec::new(),
            attributes: false,
            sweep: false,
            one_file_system: false,
            root,
            stop: &|| false,
        }
    }

    fn find(root: &Root, paths: &[&str]) -> Result<Sources, String> {
        let paths: Vec<_> = paths.iter().map(|path| SourcePath::parse(path.as_bytes())).collect();
        Sources::find(&paths, root, &|| false).map_err(|error| error.to_string())
    }

    /// Returns the paths in the stream, and what is left out.
    fn scan(dir: &Scratch, paths: &[&str], files_only: bool) -> Result<[Vec<String>; 2], String> {
        let root = Root::confined(&dir.join("")).unwrap();
        let scan = find(&root, paths)?.scan(files_only, &options(&root));
        let scan = scan.map_err(|error| error.to_string())?;
        let numbers = (0..scan.index.len()).filter(|number| {
            let record = record_of(&scan.index, *number);
            record.is_some_and(|record| record.name().is_some())
        });
        let path = |number| String::from_utf8(names_to(&scan.index, number).join(&b'/')).unwrap();
        let left = scan.left_out.iter().map(|left| format!("{} {left}", left.failed));
        Ok([numbers.map(path).collect(), left.collect()])
    }

    fn fill(dir: &Scratch) {
        fs::create_dir_all(dir.join("log/sub")).unwrap();
        fs::create_dir_all(dir.join("etc")).unwrap();
        for path in ["log/a.log", "log/b.log", "log/sub/c.log", "etc/hosts", "etc/a[1]"] {
            fs::write(dir.join(path), path).unwrap();
        }
        symlink("../etc/hosts", dir.join("log/link.log")).unwrap();
        symlink("nowhere", dir.join("log/dangling.log")).unwrap();
        let _ = std::os::unix::net::UnixListener::bind(dir.join("log/socket.log")).unwrap();
    }

    #[test]
    fn files_are_found_by_paths_and_patterns_and_what_is_missing_is_named() {
        let dir = Scratch::new("asked-files");
        fill(&dir);
        let paths = ["/log/*", "/etc/hosts", "/etc/none", "/none/*"];
        let [found, left] = scan(&dir, &paths, true).unwrap();
        assert_eq!(found, ["a.log", "b.log", "hosts", "link.log"]);
        let missing = "no such file or directory";
        let wanted = [
            "false /log/socket.log: a socket".to_owned(),
            "true /log/sub: it is a directory, and directories are copied with -r".to_owned(),
            format!("true /log/dangling.log: cannot open it: {missing}"),
            format!("true /etc/none: {missing}"),
            "true /none/*: nothing matches".to_owned(),
        ];
        assert_eq!(left, wanted);
        let said = scan(&dir, &["/none/*", "/etc/none"], true).unwrap_err();
        assert_eq!(said, format!("cannot copy /none/*: nothing matches; /etc/none: {missing}"));
    }

    #[test]
    fn trees_keep_links_and_what_is_below() {
        let dir = Scratch::new("asked-trees");
        fill(&dir);
        let [found, left] = scan(&dir, &["log/[ls]*", "etc", "/log/sub"], false).unwrap();
        let wanted = ["link.log", "sub", "sub/c.log", "etc", "etc/a[1]", "etc/hosts"];
        assert_eq!(found, wanted);
        assert_eq!(left, ["false log/socket.log: a socket"]);
        let [found, left] = scan(&dir, &["log/sub/", "none/", "etc/h*"], false).unwrap();
        assert_eq!(found, ["c.log", "hosts"]);
        assert_eq!(left, ["true none/: no such file or directory"]);
    }

    #[test]
    fn two_entries_of_one_name_are_refused_and_one_entry_is_copied_once() {
        let dir = Scratch::new("asked-twice");
        fill(&dir);
        fs::write(dir.join("etc/a.log"), "other").unwrap();
        let said = scan(&dir, &["/*/a.log"], true).unwrap_err();
        let wanted = "cannot copy both /etc/a.log and /log/a.log: they have the same name";
        assert_eq!(said, wanted);
        let [found, left] =
            scan(&dir, &["/log/a*", "log/[ab].log", "/log/../log/a.log"], true).unwrap();
        assert_eq!((found, left), (vec!["a.log".to_owned(), "b.log".to_owned()], Vec::new()));
    }

    #[test]
    fn what_is_in_few_directories_needs_few_however_it_is_ordered() {
        let dir = Scratch::new("asked-turns");
        fs::create_dir(dir.join("a")).unwrap();
        fs::create_dir(dir.join("b")).unwrap();
        let paths: Vec<String> = (0..BOUNDS.open)
            .flat_map(|number| [format!("/a/1-{number:04}"), format!("/b/2-{number:04}")])
            .collect();
        for path in &paths {
            fs::write(dir.join(&path[1..]), "").unwrap();
        }
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let root = Root::confined(&dir.join("")).unwrap();
        let scan = find(&root, &paths).unwrap().scan(true, &options(&root)).unwrap();
        assert_eq!((scan.places.len(), scan.tally.files), (2, paths.len() as u64));
    }

    #[test]
    fn more_directories_than_stay_open_are_told_as_what_they_are() {
        let dir = Scratch::new("asked-places");
        let paths: Vec<String> = (0..=BOUNDS.open).map(|number| format!("/{number}/x")).collect();
        for path in &paths {
            fs::create_dir(dir.join(path[1..].trim_end_matches("/x"))).unwrap();
            fs::write(dir.join(&path[1..]), "").unwrap();
        }
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let said = scan(&dir, &paths, true).unwrap_err();
        let wanted =
            "cannot copy what is in more than 1024 directories, links to follow among them; ";
        assert!(said.starts_with(wanted), "{said}");
    }

    #[test]
    fn nothing_is_said_of_what_could_not_be_looked_for() {
        let dir = Scratch::new("asked-unknown");
        fill(&dir);
        fs::set_permissions(dir.join("log"), fs::Permissions::from_mode(0o111)).unwrap();
        without_rights_of_root(|| {
            let said = scan(&dir, &["/log/*", "/etc/none*"], true).unwrap_err();
            let wanted = "cannot copy /etc/none*: nothing matches; \
                          /log/: cannot open it: permission denied";
            assert_eq!(said, wanted);
            let [found, left] = scan(&dir, &["/log/a.log"], false).unwrap();
            assert_eq!((found, left), (vec!["a.log".to_owned()], Vec::new()));
        });
        fs::set_permissions(dir.join("log"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_pattern_without_a_match_stands_for_itself() {
        let dir = Scratch::new("asked-literal");
        fill(&dir);
        let root = Root::confined(&dir.join("")).unwrap();
        assert!(find(&root, &["/etc/a[1]"]).unwrap().is_one_literal());
        fs::write(dir.join("etc/a1"), "").unwrap();
        assert!(!find(&root, &["/etc/a[1]"]).unwrap().is_one_literal());
        assert_eq!(scan(&dir, &["/etc/a[1]"], true).unwrap()[0], ["a1"]);
        assert_eq!(scan(&dir, &["/etc/a\\[1]", "/etc/h*"], true).unwrap()[0], ["a[1]", "hosts"]);
    }

    #[test]
    fn no_link_leads_out_of_the_root_and_the_file_that_was_found_is_read() {
        let dir = Scratch::new("asked-links");
        fs::create_dir_all(dir.join("root/d")).unwrap();
        fs::write(dir.join("secret"), "secret").unwrap();
        fs::write(dir.join("root/own"), "own").unwrap();
        symlink("../../secret", dir.join("root/d/relative")).unwrap();
        symlink(dir.join("secret"), dir.join("root/d/absolute")).unwrap();
        symlink("../own", dir.join("root/d/inside")).unwrap();
        let root = Root::confined(&dir.join("root")).unwrap();
        let sources = find(&root, &["/d/*"]).unwrap();
        let tree = TreeSource::open_found(sources, true, &options(&root)).unwrap();
        let left = tree.left_out();
        assert!(left.len() == 2 && left.iter().all(|left| left.failed), "{left:?}");
        // Another file has the name of the link meanwhile.
        fs::remove_file(dir.join("root/d/inside")).unwrap();
        fs::write(dir.join("root/d/inside"), "new").unwrap();
        let mut bytes = vec![0; tree.length() as usize];
        tree.read(Layout::fitting(tree.length()), 0, &mut bytes).unwrap();
        let has = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
        assert!(has(b"own") && has(b"inside") && !has(b"new") && !has(b"secret"));
        assert_eq!(tree.left_out().len(), 2);
        assert_eq!(tree.tally().files, 1);
    }
}
