//! What lies below a folder, and how two of them differ.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use garland_sys::process;

use crate::disks::Disk;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder,
    File,
    Link,
}

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    /// A file's bytes, or a link's target.
    pub content: Vec<u8>,
    pub mode: u32,
    pub owner: [u32; 2],
    pub time_s: i64,
    pub time_ns: i64,
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    pub inode: u64,
}

pub type Entries = BTreeMap<PathBuf, Entry>;

/// Reads all entries below `top`, and `top` itself as an empty path.
pub fn read(top: &Path) -> Entries {
    let mut found = BTreeMap::new();
    if top.exists() {
        walk(top, Path::new(""), &mut found);
    }
    found
}

fn walk(top: &Path, inner: &Path, found: &mut Entries) {
    let path = if inner.as_os_str().is_empty() { top.to_owned() } else { top.join(inner) };
    let stat = path.symlink_metadata().unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let kind = match stat {
        _ if stat.is_dir() => Kind::Folder,
        _ if stat.is_symlink() => Kind::Link,
        _ => Kind::File,
    };
    let content = match kind {
        Kind::Folder => Vec::new(),
        Kind::Link => fs::read_link(&path).expect("a link").into_os_string().into_vec(),
        Kind::File => fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}")),
    };
    let entry = Entry {
        kind,
        content,
        mode: stat.mode(),
        owner: [stat.uid(), stat.gid()],
        time_s: stat.mtime(),
        time_ns: stat.mtime_nsec(),
        xattrs: xattrs(&path),
        inode: stat.ino(),
    };
    found.insert(inner.to_owned(), entry);
    if stat.is_dir() {
        for entry in fs::read_dir(&path).unwrap_or_else(|error| panic!("{path:?}: {error}")) {
            walk(top, &inner.join(entry.expect("it can be listed").file_name()), found);
        }
    }
}

fn xattrs(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut names = vec![0; 4096];
    let Ok(length) = rustix::fs::llistxattr(path, &mut names[..]) else { return BTreeMap::new() };
    names.truncate(length);
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let value = |name: &[u8]| {
        let mut value = vec![0; 4096];
        let name = OsString::from_vec(name.to_vec());
        let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap_or(0);
        value.truncate(length);
        value
    };
    names.map(|name| (name.to_vec(), value(name))).collect()
}

/// Returns for each path the first one of the same file: it is equal for trees that have the same
/// names of the same files.
pub fn first_names(entries: &Entries) -> BTreeMap<&Path, &Path> {
    let mut firsts: HashMap<u64, &Path> = HashMap::new();
    let mut names = BTreeMap::new();
    for (path, entry) in entries {
        let first = *firsts.entry(entry.inode).or_insert(path);
        names.insert(path.as_path(), first);
    }
    names
}

/// Returns the paths at which one of both has a folder, and the other one something else.
pub fn obstacles(source: &Entries, before: &Entries) -> Vec<PathBuf> {
    let is_obstacle = |(path, entry): &(&PathBuf, &Entry)| {
        let there = before.get(*path).map(|before| before.kind);
        there.is_some_and(|there| (there == Kind::Folder) != (entry.kind == Kind::Folder))
    };
    source.iter().filter(is_obstacle).map(|(path, _)| path.clone()).collect()
}

/// What is compared, apart from which entries there are.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    pub disk: Disk,
    pub xattrs: bool,
    /// Whether times are copied.
    pub times: bool,
    /// Whether modes are copied. Of those that stay, files keep no more than permissions.
    pub modes: bool,
    /// Whether files have several names.
    pub hard_links: bool,
    /// Whether some paths are excluded.
    pub some_stay: bool,
    /// By how many seconds times may differ that count as equal; none if all contents are read.
    pub quick_s: Option<u64>,
}

/// What was at one program's destination before its copy, and what it left.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    pub before: &'a Entries,
    pub after: &'a Entries,
}

impl Side<'_> {
    fn has_left_as_it_was(&self, path: &Path) -> bool {
        self.before.get(path) == self.after.get(path)
    }
}

/// Returns how what Garland left differs from what rsync left and from the source, in words.
pub fn differences(source: &Entries, theirs: Side, ours: Side, what: Compared) -> Vec<String> {
    let rsync = theirs.after;
    let mut found = Vec::new();
    for path in rsync.keys().filter(|path| !ours.after.contains_key(*path)) {
        found.push(format!("{path:?} is missing"));
    }
    // What is not sent may be of different copies before: what rsync left then, and the source's.
    let stays = |path: &Path| {
        (what.some_stay || !source.contains_key(path))
            && theirs.has_left_as_it_was(path)
            && ours.has_left_as_it_was(path)
    };
    for (path, left) in ours.after.iter().filter(|(path, _)| !stays(path)) {
        if rsync.contains_key(path) {
            Allowed::new(path, source, rsync, ours.before).check(path, left, what, &mut found);
        } else {
            found.push(format!("{path:?} is too many"));
        }
    }
    if !what.some_stay {
        found.extend(other_links(source, ours.after));
    }
    found
}

/// What an entry may be.
struct Allowed<'a> {
    /// What rsync left, what was sent, if it was, and what rsync left of other names of the same
    /// file.
    entries: Vec<&'a Entry>,
    sent: Option<&'a Entry>,
    /// What was at Garland's destination, here and in the folder above.
    replaced: Option<&'a Entry>,
    above: Option<&'a Entry>,
    /// What was there of all names of the same file.
    before: Vec<&'a Entry>,
}

impl<'a> Allowed<'a> {
    fn new(path: &Path, source: &'a Entries, rsync: &'a Entries, before: &'a Entries) -> Self {
        let sent = source.get(path);
        let same_file = |(other, entry): &(&PathBuf, &Entry)| {
            other.as_path() == path || sent.is_some_and(|sent| sent.inode == entry.inode)
        };
        let names = source.iter().filter(same_file).map(|(name, _)| name.as_path());
        let names: Vec<&Path> = names.chain([path]).collect();
        let theirs = names.iter().filter_map(|name| rsync.get(*name));
        Self {
            entries: theirs.chain(sent).collect(),
            sent,
            replaced: before.get(path),
            above: path.parent().and_then(|above| before.get(above)),
            before: names.iter().filter_map(|name| before.get(*name)).collect(),
        }
    }

    /// Returns whether content was there before, under one of the file's names, and counts as that
    /// of the source by length and time. What both had before may differ, after changes in a file's
    /// place.
    fn is_taken_for_sent(&self, content: &[u8], what: Compared) -> bool {
        let (Some(sent), Some(quick_s)) = (self.sent, what.quick_s) else { return false };
        let is_near = |it: &&Entry| it.time_s.abs_diff(sent.time_s) <= quick_s;
        let is_equal = |it: &&Entry| it.content.len() == sent.content.len() && is_near(it);
        self.before.iter().copied().filter(is_equal).any(|it| it.content == content)
    }

    /// Returns the mode that the file that was sent and another owner's file that it replaced
    /// allow.
    fn mode_of_both(&self, ours: &Entry) -> Option<u32> {
        let other_owner = |there: &&Entry| there.owner[0] != ours.owner[0];
        let there = self.replaced.filter(other_owner)?;
        let listed = self.above.and_then(Entry::permissions_of_new);
        let permissions = listed.unwrap_or(0o777 & !process::umask());
        Some(ours.mode & !0o7777 | self.sent?.mode & there.mode & permissions)
    }

    fn check(&self, path: &Path, ours: &Entry, what: Compared, found: &mut Vec<String>) {
        let mut check = |name: &str, is_same: &dyn Fn(&Entry) -> bool| {
            if !self.entries.iter().any(|entry| is_same(entry)) {
                let allowed: Vec<String> = self.entries.iter().map(|it| it.in_words()).collect();
                let allowed = allowed.join("\n  ");
                let was = self.replaced.map(|it| format!("\nbefore it was {}", it.in_words()));
                let was = was.unwrap_or_default();
                found.push(format!("{name} of {path:?}:\n {}\n  {allowed}{was}", ours.in_words()));
            }
        };
        check("kind", &|it| it.kind == ours.kind);
        let is_taken_for_sent = self.is_taken_for_sent(&ours.content, what);
        check("content", &|it| it.content == ours.content || is_taken_for_sent);
        // rsync changes a file in its place, also if a path that is not sent is another name of it.
        if what.hard_links && (what.some_stay || self.sent.is_none()) {
            return;
        }
        // A folder that only destinations have has the time of the last removal in it.
        let is_told = self.sent.is_some() || ours.kind != Kind::Folder;
        if is_told && what.times && what.disk.of_destinations().times {
            check("time", &|it| it.time_s == ours.time_s);
        }
        if what.disk.of_destinations().modes {
            let is_file = ours.kind == Kind::File;
            let loses_bits = !what.modes && is_file;
            let stays = |it: &Entry| loses_bits && it.mode & !0o7000 == ours.mode;
            // Another user's file in the way gives no more than both modes allow (docs/copy.md).
            let both = self.mode_of_both(ours).filter(|_| loses_bits);
            // The mode that stays may come from a copy that lost bits.
            let kept = self.replaced.filter(|_| !what.modes).map(|it| it.mode);
            let is_own = [both, kept].contains(&Some(ours.mode));
            check("mode", &|it| it.mode == ours.mode || stays(it) || is_own);
            check("owner", &|it| it.owner == ours.owner);
        }
        if what.xattrs && what.disk.of_destinations().modes {
            // Those that only the destination's folder has stay, except who may do what.
            let is_kept = |it: &Entry| {
                let is_list = |name: &[u8]| name.starts_with(b"system.");
                let stays = |name: &Vec<u8>| it.xattrs.contains_key(name) || !is_list(name);
                let has = |attribute: (&Vec<u8>, &Vec<u8>)| {
                    ours.xattrs.get(attribute.0) == Some(attribute.1)
                };
                let is_folder = ours.kind == Kind::Folder;
                is_folder && it.xattrs.iter().all(has) && ours.xattrs.keys().all(stays)
            };
            check("attributes", &|it| is_kept(it) || it.xattrs == ours.xattrs);
        }
    }
}

impl Entry {
    /// Returns the permissions that the folder's default access control list gives to a new file at
    /// most; none if it has no such list. See acl(5), and linux/posix_acl_xattr.h for the form.
    fn permissions_of_new(&self) -> Option<u32> {
        const OWNER: u16 = 0x01;
        const GROUP: u16 = 0x04;
        const MASK: u16 = 0x10;
        const OTHERS: u16 = 0x20;
        let list = self.xattrs.get(&b"system.posix_acl_default"[..])?.get(4..)?;
        let of = |wanted: u16| {
            let mut rules = list.chunks_exact(8);
            let rule = rules.find(|rule| u16::from_le_bytes([rule[0], rule[1]]) == wanted)?;
            Some(u32::from(u16::from_le_bytes([rule[2], rule[3]])))
        };
        Some(of(OWNER)? << 6 | of(MASK).or(of(GROUP))? << 3 | of(OTHERS)?)
    }

    pub fn in_words(&self) -> String {
        let start = String::from_utf8_lossy(&self.content[..self.content.len().min(24)]);
        let Self { mode, owner, time_s, time_ns, xattrs, .. } = self;
        let length = self.content.len();
        format!(
            "mode {mode:o}, owner {owner:?}, time {time_s}.{time_ns:09}, {length} B {start:?}, {xattrs:?}"
        )
    }
}

/// Files that are one in the source and not at the destination, and the reverse.
fn other_links(source: &Entries, ours: &Entries) -> Vec<String> {
    let files: Vec<(&PathBuf, u64, u64)> = source
        .iter()
        .filter(|(_, entry)| entry.kind == Kind::File)
        .filter_map(|(path, entry)| Some((path, entry.inode, ours.get(path)?.inode)))
        .collect();
    let mut found = Vec::new();
    for (at, one) in files.iter().enumerate() {
        for other in &files[at + 1..] {
            if (one.1 == other.1) != (one.2 == other.2) {
                found.push(format!("links of {:?} and {:?}", one.0, other.0));
            }
        }
    }
    found
}
