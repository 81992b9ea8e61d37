//! Finds what patterns of paths stand for, as a shell does.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use garland_core::printable;
use garland_core::tree::{DEPTH_MAX, NameGlob};
use garland_sys::confine::Root;
use garland_sys::error::reason;
use rustix::fs::{AtFlags, Dir, FileType, fstat, statat};
use rustix::io::Errno;

use super::left_out::LeftOut;
use super::scan::ScanError;

/// What all patterns of a request may find together.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The maximum number of names that match a component of a pattern.
    pub names: usize,
    /// The maximum number of bytes of their paths.
    pub bytes: usize,
    /// The maximum number of directories that are looked into.
    pub folders: usize,
    /// The maximum number of directories that stay open for the copy, since matches are in them.
    pub open: usize,
}

impl Bounds {
    /// Returns what is left after another name, whose path has this number of bytes; `None` if it
    /// exceeds the bounds.
    fn less(self, path_bytes: usize) -> Option<Self> {
        let names = self.names.checked_sub(1)?;
        let bytes = self.bytes.checked_sub(path_bytes)?;
        Some(Self { names, bytes, ..self })
    }
}

/// What the patterns of a request may find: some 30 MB of memory, and as many open files as any
/// process may have.
pub const BOUNDS: Bounds = Bounds { names: 100_000, bytes: 16 << 20, folders: 16_384, open: 1024 };

/// The number of names after which is asked again whether to go on.
const NAMES_AT_A_TIME: usize = 4096;

/// An open directory in which sources are.
#[derive(Debug)]
pub struct Folder {
    /// The directory.
    pub fd: OwnedFd,
    /// Its path, for messages; `.` for the one in which relative paths begin.
    pub path: PathBuf,
    /// Its device and inode number.
    pub id: (u64, u64),
}

/// An entry of one of the open directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The directory, by index.
    pub folder: usize,
    /// The name in it.
    pub name: Vec<u8>,
}

/// Finds entries below a root. A path leads through the same links as any other, and as little out
/// of the root.
pub struct Expansion<'a> {
    root: &'a Root,
    stop: &'a dyn Fn() -> bool,
    /// What is left of the bounds.
    left: Bounds,
    /// The maximum number of directories that stay open.
    open_max: usize,
    /// The pattern that is expanded, for messages.
    pattern: String,
    /// The directories in which entries were found.
    pub folders: Vec<Folder>,
    /// The index of each of them, by path.
    by_path: HashMap<PathBuf, usize>,
    /// Directories on the way that cannot be looked into, although they exist.
    pub left_out: Vec<LeftOut>,
}

impl<'a> Expansion<'a> {
    /// Finds entries within `bounds`, until `stop` returns true.
    pub fn new(root: &'a Root, stop: &'a dyn Fn() -> bool, bounds: Bounds) -> Self {
        Self {
            root,
            stop,
            left: bounds,
            open_max: bounds.open,
            pattern: String::new(),
            folders: Vec::new(),
            by_path: HashMap::new(),
            left_out: Vec::new(),
        }
    }

    /// Returns the entries that `pattern` stands for, in the order of their paths; none if there
    /// are no such entries.
    ///
    /// # Errors
    /// When there are more than the bounds allow, or the user has interrupted the search.
    pub fn expand(&mut self, pattern: &[u8]) -> Result<Vec<Entry>, ScanError> {
        self.pattern = printable::name(pattern);
        let start = if pattern.starts_with(b"/") { &b"/"[..] } else { b"" };
        let components = pattern.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        let parts: Vec<NameGlob> = components.map(NameGlob::parse).collect();
        if parts.len() > DEPTH_MAX {
            return Err(self.too_much(&format!("it has more than {DEPTH_MAX} components")));
        }
        let mut entries = Vec::new();
        self.descend(start, &parts, &mut entries)?;
        Ok(entries)
    }

    /// Returns the entry with the literal path `path`.
    ///
    /// # Errors
    /// Why there is none, for the user. The inner error is for the whole request.
    pub fn entry(&mut self, path: &[u8]) -> Result<Result<Entry, String>, ScanError> {
        let at = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (above, name) = path.split_at(at);
        Ok(self.look(above, name)?.map_err(|error| reason(&error)))
    }

    /// Returns the entry `name` of the directory with the prefix `above`. Both need only be allowed
    /// to be looked up: homes, such as those of mode 0711, may often be searched but not listed.
    ///
    /// # Errors
    /// Why it cannot be found. The inner error is for the whole request.
    fn look(&mut self, above: &[u8], name: &[u8]) -> Result<Result<Entry, io::Error>, ScanError> {
        let path = path_of(above);
        let has = |folder: &OwnedFd| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        let entry = |folder: usize| Entry { folder, name: name.to_vec() };
        if let Some(known) = self.by_path.get(&path) {
            let found = has(&self.folders[*known].fd);
            return Ok(found.map(|_| entry(*known)).map_err(Into::into));
        }
        let found = self.root.find_dir(&path).and_then(|folder| {
            has(&folder)?;
            Ok(folder)
        });
        match found {
            Ok(folder) => Ok(Ok(entry(self.keep(folder, path)?))),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Finds what `parts` stand for in the directory `prefix`, whose path is empty or ends in a
    /// slash.
    fn descend(
        &mut self,
        prefix: &[u8],
        parts: &[NameGlob],
        entries: &mut Vec<Entry>,
    ) -> Result<(), ScanError> {
        let mut prefix = prefix.to_vec();
        let mut parts = parts.iter();
        while let Some(part) = parts.next() {
            let Some(name) = part.only_name() else {
                return self.descend_by(&prefix, part, parts.as_slice(), entries);
            };
            if parts.as_slice().is_empty() {
                self.left.folders = self.spend(self.left.folders, 1, "directories to look into")?;
                match self.look(&prefix, &name)? {
                    Ok(entry) => entries.push(entry),
                    Err(error) => self.note_unsearched(&prefix, "look into", &error),
                }
                return Ok(());
            }
            prefix.extend_from_slice(&name);
            prefix.push(b'/');
        }
        Ok(())
    }

    /// Finds what `rest` stands for in all entries of the directory `prefix` that `part` matches;
    /// if it is empty, these entries themselves.
    fn descend_by(
        &mut self,
        prefix: &[u8],
        part: &NameGlob,
        rest: &[NameGlob],
        entries: &mut Vec<Entry>,
    ) -> Result<(), ScanError> {
        self.left.folders = self.spend(self.left.folders, 1, "directories to look into")?;
        let folder = match self.root.open_dir(&path_of(prefix), false) {
            Ok(folder) => folder,
            Err(error) => {
                self.note_unsearched(prefix, "open", &error);
                return Ok(());
            }
        };
        let names = self.names(&folder, prefix, part, !rest.is_empty())?;
        if names.is_empty() {
            return Ok(());
        }
        if rest.is_empty() {
            let folder = self.keep(folder, path_of(prefix))?;
            entries.extend(names.into_iter().map(|name| Entry { folder, name }));
            return Ok(());
        }
        drop(folder);
        for name in names {
            self.descend(&[prefix, &name, b"/"].concat(), rest, entries)?;
        }
        Ok(())
    }

    /// Returns the names in the directory `folder` that `part` matches, sorted; if something is to
    /// be found in them, only those that may be directories.
    fn names(
        &mut self,
        folder: &OwnedFd,
        prefix: &[u8],
        part: &NameGlob,
        is_way: bool,
    ) -> Result<Vec<Vec<u8>>, ScanError> {
        let mut names = Vec::new();
        let mut listing = Dir::read_from(folder);
        for at in 0.. {
            if at % NAMES_AT_A_TIME == 0 && (self.stop)() {
                return Err(ScanError::Interrupted);
            }
            let entry = match &mut listing {
                Ok(entries) => entries.next().transpose(),
                Err(error) => Err(*error),
            };
            let entry = match entry {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(error) => {
                    let why = format!("cannot list it: {}", reason(&error.into()));
                    self.left_out.push(LeftOut::failed(prefix, why));
                    break;
                }
            };
            let name = entry.file_name().to_bytes();
            let kinds = [FileType::Directory, FileType::Symlink, FileType::Unknown];
            let is_kind = !is_way || kinds.contains(&entry.file_type());
            if is_kind && ![&b"."[..], b".."].contains(&name) && part.matches(name) {
                names.push(name.to_vec());
                let left = self.left.less(prefix.len() + name.len());
                self.left = left.ok_or_else(|| self.too_much("too many names match"))?;
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Notes that something may be in the directory `prefix` which an error kept from being found.
    /// What a pattern stands for need not exist, nor be a directory. Links that lead to themselves
    /// and names that are too long lead to nothing either.
    fn note_unsearched(&mut self, prefix: &[u8], operation: &str, error: &io::Error) {
        let nothing = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::NAMETOOLONG];
        if Errno::from_io_error(error).is_some_and(|error| nothing.contains(&error)) {
            return;
        }
        let why = format!("cannot {operation} it: {}", reason(error));
        self.left_out.push(LeftOut::failed(prefix, why));
    }

    /// Keeps the directory with this path open, and returns its index. Each path is kept once.
    fn keep(&mut self, fd: OwnedFd, path: PathBuf) -> Result<usize, ScanError> {
        if let Some(known) = self.by_path.get(&path) {
            return Ok(*known);
        }
        if (self.stop)() {
            return Err(ScanError::Interrupted);
        }
        let many = ScanError::TooManyPlaces { places: self.open_max };
        self.left.open = self.left.open.checked_sub(1).ok_or(many)?;
        let stat = fstat(&fd).map_err(|error| ScanError::Io {
            operation: "get the status of",
            path: printable::path(&path),
            reason: reason(&error.into()),
        })?;
        let at = self.folders.len();
        self.by_path.insert(path.clone(), at);
        self.folders.push(Folder { fd, path, id: (stat.st_dev, stat.st_ino) });
        Ok(at)
    }

    /// Returns what remains of `left` after `count` of it is used.
    fn spend(&self, left: usize, count: usize, what: &str) -> Result<usize, ScanError> {
        if (self.stop)() {
            return Err(ScanError::Interrupted);
        }
        left.checked_sub(count).ok_or_else(|| self.too_much(&format!("there are too many {what}")))
    }

    fn too_much(&self, why: &str) -> ScanError {
        ScanError::Pattern { pattern: self.pattern.clone(), why: why.to_owned() }
    }
}

/// Returns the path of the directory with this prefix of a path.
fn path_of(prefix: &[u8]) -> PathBuf {
    let path = Path::new(OsStr::from_bytes(prefix));
    if prefix.is_empty() { PathBuf::from(".") } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use garland_testkit::{HangingDisk, Oddities};

    use super::*;
    use crate::tests::{Scratch, without_rights_of_root};

    /// Returns the paths that `pattern` stands for.
    fn expand(root: &Root, pattern: &[u8], bounds: Bounds) -> Result<Vec<Vec<u8>>, String> {
        let mut expansion = Expansion::new(root, &|| false, bounds);
        let entries = expansion.expand(pattern).map_err(|error| error.to_string())?;
        let path = |entry: Entry| {
            let folder = expansion.folders[entry.folder].path.as_os_str().as_bytes();
            [folder, &entry.name].concat()
        };
        Ok(entries.into_iter().map(path).collect())
    }

    fn in_root(root: &Path, pattern: &str) -> Vec<String> {
        let root = Root::confined(root).unwrap();
        let paths = expand(&root, pattern.as_bytes(), BOUNDS).unwrap();
        paths.into_iter().map(|path| String::from_utf8(path).unwrap()).collect()
    }

    #[test]
    fn a_pattern_stands_for_what_a_shell_finds() {
        let dir = Scratch::new("expand");
        for path in ["a/1.log", "a/2.log", "a/.3.log", "b/1.log", "b/new\nline.log", ".c/1.log"] {
            let path = dir.join("root").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(dir.join("root/file"), "").unwrap();
        let found = |pattern: &str| in_root(&dir.join("root"), pattern);
        assert_eq!(found("/a/*.log"), ["/a/1.log", "/a/2.log"]);
        assert_eq!(found("a/.*"), ["a/.3.log"]);
        assert_eq!(found("/*/1.log"), ["/a/1.log", "/b/1.log"]);
        assert_eq!(found("/[b-z]/*"), ["/b/1.log", "/b/new\nline.log"]);
        assert_eq!(found("//a//?.log"), ["/a/1.log", "/a/2.log"]);
        assert_eq!(found("/a/../b/1*"), ["/a/../b/1.log"]);
        for none in ["/none/*", "/file/*", "/a/*.txt", "/*/none"] {
            assert_eq!(found(none), Vec::<String>::new(), "{none}");
        }
    }

    #[test]
    fn no_pattern_leads_out_of_the_root() {
        let dir = Scratch::new("expand-out");
        fs::create_dir_all(dir.join("root/in")).unwrap();
        fs::write(dir.join("root/in/own"), "").unwrap();
        fs::write(dir.join("secret"), "").unwrap();
        for (link, target) in
            [("up", ".."), ("far", "../../.."), ("etc", "/etc"), ("whole", dir.to_str().unwrap())]
        {
            symlink(target, dir.join("root").join(link)).unwrap();
        }
        let found = |pattern: &str| in_root(&dir.join("root"), pattern);
        // As for any path, the root is its own parent.
        assert_eq!(found("/up/in/*"), ["/up/in/own"]);
        assert_eq!(found("/*/in/own"), ["/far/in/own", "/up/in/own"]);
        for out in ["/*/secret", "/*/passwd", "../secre*", "/etc/*", "/whole/*"] {
            assert_eq!(found(out), Vec::<String>::new(), "{out}");
        }
    }

    #[test]
    fn what_leads_to_nothing_does_not_match_and_is_no_error() {
        let dir = Scratch::new("expand-nothing");
        fs::create_dir(dir.join("a")).unwrap();
        fs::write(dir.join("a/x"), "").unwrap();
        symlink("loop", dir.join("loop")).unwrap();
        symlink("a", dir.join("link")).unwrap();
        let root = Root::confined(&dir.join("")).unwrap();
        let long = format!("/a/{}/*", "x".repeat(256));
        let long_last = format!("/*/{}", "x".repeat(256));
        for (pattern, found) in [
            ("/*/x", 2),
            ("/*/*", 2),
            ("/loop/*", 0),
            ("/loop/[l]x/*", 0),
            (&long, 0),
            (&long_last, 0),
        ] {
            let mut expansion = Expansion::new(&root, &|| false, BOUNDS);
            let entries = expansion.expand(pattern.as_bytes()).unwrap();
            assert_eq!(entries.len(), found, "{pattern}");
            assert_eq!(expansion.left_out, [], "{pattern}");
        }
    }

    #[test]
    fn directories_that_may_be_searched_but_not_listed_lead_to_what_is_in_them() {
        let dir = Scratch::new("expand-searched");
        for home in ["people/u", "people/v"] {
            fs::create_dir_all(dir.join(home).join("log")).unwrap();
            fs::write(dir.join(home).join("file"), "").unwrap();
            fs::write(dir.join(home).join("log/1.log"), "").unwrap();
            fs::set_permissions(dir.join(home), fs::Permissions::from_mode(0o111)).unwrap();
        }
        let root = Root::confined(&dir.join("")).unwrap();
        let found = |pattern: &str| {
            let mut expansion = Expansion::new(&root, &|| false, BOUNDS);
            let entries = expansion.expand(pattern.as_bytes()).unwrap();
            (entries.len(), expansion.left_out)
        };
        without_rights_of_root(|| {
            let unlisted =
                LeftOut::failed(b"/people/u/", "cannot open it: permission denied".to_owned());
            assert_eq!(found("/people/*/file"), (2, Vec::new()));
            assert_eq!(found("/people/*/log/*.log"), (2, Vec::new()));
            assert_eq!(found("/people/u/l*"), (0, vec![unlisted]));
            let mut expansion = Expansion::new(&root, &|| false, BOUNDS);
            assert!(expansion.entry(b"/people/u/file").unwrap().is_ok());
        });
        for home in ["people/u", "people/v"] {
            fs::set_permissions(dir.join(home), fs::Permissions::from_mode(0o711)).unwrap();
        }
    }

    #[test]
    fn an_error_of_a_listing_is_told_as_what_it_is() {
        let dir = Scratch::new("expand-error");
        for errno in [Errno::NOMEM, Errno::IO] {
            let own = dir.join(format!("{errno:?}"));
            let oddities = Oddities { listing_fails: errno.raw_os_error(), ..Oddities::default() };
            let disk = HangingDisk::mount_odd(&own, oddities);
            let root = Root::confined(&own).unwrap();
            let mut expansion = Expansion::new(&root, &|| false, BOUNDS);
            let found = expansion.expand(b"/*").map_err(|error| error.to_string());
            assert_eq!(found, Ok(Vec::new()), "{errno}");
            let said = expansion.left_out[0].to_string();
            assert_eq!(said, format!("/: cannot list it: {}", reason(&errno.into())));
            drop(disk);
        }
    }

    #[test]
    fn what_a_pattern_finds_is_bounded() {
        let dir = Scratch::new("expand-bounds");
        for number in 0..20 {
            fs::create_dir(dir.join(format!("{number:03}"))).unwrap();
            fs::write(dir.join(format!("{number:03}/x")), "").unwrap();
        }
        let root = Root::confined(&dir.join("")).unwrap();
        let found = |pattern: &str, bounds| {
            expand(&root, pattern.as_bytes(), bounds).map(|paths| paths.len())
        };
        assert_eq!(found("/*/x", BOUNDS), Ok(20));
        assert_eq!(found("/00*", Bounds { names: 10, bytes: 40, ..BOUNDS }), Ok(10));
        let hint = "; copy the directory with -r, and choose with --include and --exclude";
        let many = Err(format!("cannot expand /*: too many names match{hint}"));
        assert_eq!(found("/*", Bounds { names: 19, ..BOUNDS }), many);
        assert_eq!(found("/*", Bounds { bytes: 79, ..BOUNDS }), many);
        let said = found("/*/x", Bounds { folders: 20, ..BOUNDS });
        let many = "cannot expand /*/x: there are too many directories to look into";
        assert_eq!(said, Err(format!("{many}{hint}")));
        let said = found("/*/x", Bounds { open: 19, ..BOUNDS });
        let many = "cannot copy what is in more than 19 directories, links to follow among them";
        assert_eq!(said, Err(format!("{many}{hint}")));
        let deep = "/*".repeat(DEPTH_MAX + 1);
        assert!(found(&deep, BOUNDS).is_err_and(|said| said.contains("more than 200 components")));
    }
}
