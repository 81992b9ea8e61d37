//! What is copied, and what is found at the destinations.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use garland_testkit::{Scratch, random_bytes};

/// The length of the file that is copied.
pub const LENGTH: usize = 48 << 20;

/// The lengths of the files of the directory: together as much, the small ones many times.
const LENGTHS: [usize; 6] = [0, 17, 4096, 70_001, 700_003, 6 << 20];
const FILES: usize = 42;

/// The length of each node's file that is gathered or read under a mount.
const OWN: usize = 6 << 20;

/// Files by their paths.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Everything that is copied, with an older version of it.
pub struct Sources {
    /// The file `x`.
    pub file: Version,
    /// The directory `tree`.
    pub tree: Version,
}

/// What is copied, and what was there before.
#[derive(Clone, Default)]
pub struct Version {
    pub new: Files,
    pub old: Files,
}

impl Sources {
    /// Writes the file `x`, the older file `old/x`, and the directory `tree`.
    pub fn make(scratch: &Scratch) -> Self {
        let file = |seed| Files::from([(PathBuf::from("x"), random_bytes(LENGTH, seed))]);
        let mut old = file(1);
        // A part of the file is as it was: copies that compare send the rest alone.
        let new = file(2);
        for (old, new) in old.values_mut().zip(new.values()) {
            old[LENGTH / 4..LENGTH / 2].copy_from_slice(&new[LENGTH / 4..LENGTH / 2]);
        }
        let sources =
            Self { file: Version { new, old }, tree: Version { new: tree(3), old: tree(4) } };
        write(scratch.folder(), &sources.file.new);
        write(&scratch.path("old"), &sources.file.old);
        write(scratch.folder(), &sources.tree.new);
        sources
    }
}

/// The bytes of a node's own file.
pub fn own_bytes(node: u32) -> Vec<u8> {
    random_bytes(OWN + node as usize, 100 + u64::from(node))
}

fn tree(seed: u64) -> Files {
    let file = |at: usize| {
        let folder = ["tree", "tree/a", "tree/a/b", "tree/c"][at % 4];
        let path = PathBuf::from(folder).join(format!("f{at}"));
        (path, random_bytes(LENGTHS[at % LENGTHS.len()], seed * 1000 + at as u64))
    };
    (0..FILES).map(file).collect()
}

/// Writes files below `folder`.
pub fn write(folder: &Path, files: &Files) {
    for (path, bytes) in files {
        let path = folder.join(path);
        let parent = path.parent().expect("it is in a directory");
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, bytes))
            .unwrap_or_else(|error| panic!("writing {}: {error}", path.display()));
    }
}

/// What is at a destination.
#[derive(Default)]
pub struct Found {
    /// All files have the new contents.
    pub is_new: bool,
    /// Files with neither the old nor the new contents, and old ones that are gone.
    pub torn: Vec<String>,
    /// Names that nobody documents.
    pub strange: Vec<String>,
}

impl Found {
    /// Compares what is below `folder` with a version; `had_old` if its older files were there.
    pub fn below(folder: &Path, version: &Version, had_old: bool) -> Self {
        let mut found = Self { is_new: true, ..Self::default() };
        for (path, new) in &version.new {
            let old = version.old.get(path).filter(|_| had_old);
            let shown = folder.join(path);
            match fs::read(&shown) {
                Ok(bytes) if bytes == *new => {}
                Ok(bytes) => {
                    found.is_new = false;
                    if old != Some(&bytes) {
                        found.torn.push(format!("{}: {}", shown.display(), describe(&bytes, new)));
                    }
                }
                Err(error) => {
                    found.is_new = false;
                    if old.is_some() || error.kind() != std::io::ErrorKind::NotFound {
                        found.torn.push(format!("{}: {error}", shown.display()));
                    }
                }
            }
        }
        let known = |path: &Path| version.new.contains_key(path);
        found.strange = names(folder)
            .into_iter()
            .filter(|path| !known(path) && is_strange(path))
            .map(|path| path.display().to_string())
            .collect();
        found
    }
}

/// What differs.
fn describe(bytes: &[u8], new: &[u8]) -> String {
    let differs = bytes.iter().zip(new).position(|(one, two)| one != two);
    let zeros = bytes.iter().filter(|&&byte| byte == 0).count();
    format!("{} of {} bytes, differs at {differs:?}, {zeros} zeros", bytes.len(), new.len())
}

/// Neither what an interrupted copy leaves by its documented name, nor what filled a disk.
fn is_strange(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_partial = name.starts_with('.') && name.ends_with(".garland-part");
    !is_partial && name != "filler"
}

/// The paths of all files below `folder`, relative to it.
pub fn names(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(dir) = ahead.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => ahead.push(entry.path()),
                _ => found.push(entry.path()),
            }
        }
    }
    let relative = |path: PathBuf| path.strip_prefix(folder).unwrap_or(&path).to_owned();
    found.into_iter().map(relative).collect()
}

#[test]
fn what_is_neither_old_nor_new_is_torn() {
    let scratch = Scratch::new("soak-contents");
    let file = |text: &str| Files::from([(PathBuf::from("a/x"), text.into())]);
    let version = Version { new: file("new"), old: file("old") };
    let below = |had_old| {
        let found = Found::below(scratch.folder(), &version, had_old);
        (found.is_new, found.torn.len(), found.strange.len())
    };
    assert_eq!(below(false), (false, 0, 0), "absent, as before");
    assert_eq!(below(true), (false, 1, 0), "the old one is lost");
    write(scratch.folder(), &version.old);
    assert_eq!([below(true), below(false)], [(false, 0, 0), (false, 1, 0)]);
    write(scratch.folder(), &file("ne"));
    assert_eq!(below(true), (false, 1, 0), "a part of the new one");
    write(scratch.folder(), &version.new);
    fs::write(scratch.path("a/.x.0123.garland-part"), "n").expect("there is room");
    assert_eq!(below(true), (true, 0, 0));
    fs::write(scratch.path("a/.x.tmp"), "n").expect("there is room");
    assert_eq!(below(true), (true, 0, 1), "a name that nobody documents");
}
