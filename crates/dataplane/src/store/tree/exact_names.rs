//! Tells whether a file that is found under a name is that name's file, or one with another name:
//! file systems that ignore case, take accents apart or strip dots find a file under several names.
//!
//! Nothing is concluded from one answer of a file system. Names of which the listing has exactly
//! this one are apart, unless the copy has put a file there under a name that the file system may
//! take for it, and that is not listed: some list other names than they were given, so that a file
//! of an earlier copy may stand in a listing in lower case. The listing is spared where a file of
//! the directory is not found in another case.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use garland_core::printable;
use garland_sys::sync::Mutex;
use rustix::fs::{AtFlags, Dir, statat};
use rustix::io::Errno;

/// The maximum number of names that this process remembers, in all open directories of all trees:
/// some 40 MB. Who sends a tree chooses how many there are, and how deep. Of more, only the listing
/// of a directory tells whether one takes the place of another, and it is read again for each name
/// that is in doubt.
const REMEMBERED_MAX: usize = 1 << 20;

/// The maximum number of names that are remembered of one tree: several sources of one command may
/// send trees, and each must leave places to others.
const REMEMBERED_OF_TREE_MAX: usize = REMEMBERED_MAX / 2;

/// The number of names that this process remembers.
static REMEMBERED: AtomicUsize = AtomicUsize::new(0);

/// The number of names that are remembered of one tree.
#[derive(Debug, Default)]
struct Places(AtomicUsize);

/// The number of names that the copy puts in a directory before it looks whether the file system
/// tells case apart there, so that it need not remember all of them.
const UNPROVEN: usize = 64;

/// What is known of the names of a directory.
#[derive(Debug, Default)]
pub struct ExactNames {
    hashing: RandomState,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The places of the tree that the directory is in.
    places: Arc<Places>,
    /// Whether names whose ASCII letters differ in case are two files.
    tells_case_apart: bool,
    /// The hashes of the names in the last listing.
    listed: HashSet<u64>,
    /// The names of the tree that are here or may be, as hashes: by what file systems may take for
    /// them, the first such name. Plain ones only until the file system is known to tell case
    /// apart.
    plain: HashMap<u64, u64>,
    other: HashMap<u64, u64>,
}

/// A name, and the hashes of it and of what file systems may make of it.
struct Key<'a> {
    name: &'a [u8],
    exact: u64,
    folded: u64,
    is_plain: bool,
}

/// A file that exists under another name than the one under which it is found.
#[derive(Debug, PartialEq, Eq)]
pub enum Folded {
    /// A name that differs in case only.
    Case(Vec<u8>),
    /// Another name.
    Name(Vec<u8>),
    /// A name that cannot be told.
    Unknown,
}

/// What a listing says of a name.
struct Listing {
    is_exact: bool,
    /// The name in the other case of [`swapped`].
    is_swapped: bool,
    /// Whether some name has capitals, so that not all are listed in lower case.
    has_capitals: bool,
    /// The hashes of the names that a file system may take for it.
    found: Vec<u64>,
    other: Folded,
}

impl ExactNames {
    /// Returns what is known of the names of another directory of the same tree: nothing.
    pub fn of_same_tree(&self) -> Self {
        let names = Self::default();
        names.known.lock().places = Arc::clone(&self.known.lock().places);
        names
    }

    /// Returns under which other name the file exists that is found under `name` in `folder`; none
    /// if `name` is exactly its name.
    ///
    /// # Errors
    /// When no file is found under `name`, or the directory cannot be read.
    pub fn folded(&self, folder: &OwnedFd, name: &[u8]) -> io::Result<Option<Folded>> {
        // A listing may lack a name that another process replaces meanwhile.
        const LISTINGS: u32 = 3;
        let key = self.key(name);
        let mut known = self.known.lock();
        let rivals = known.rivals(&key);
        let is_exact = rivals.is_empty()
            && key.is_plain
            && (has_no_letters(name) || known.looks_whether_case_is_apart(folder, name));
        // Names that were listed side by side are two files, also if the listing is an old one.
        if is_exact || known.listed.contains(&key.exact) && known.lists_all(&rivals) {
            return Ok(None);
        }
        let mut folded = None;
        for _ in 0..LISTINGS {
            let wanted = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let listing = self.list(&mut known, folder, &key, wanted.st_ino)?;
            if listing.is_exact && rivals.iter().all(|rival| listing.found.contains(rival)) {
                known.set_tells_case_apart(listing.is_swapped);
                return Ok(None);
            }
            if !listing.is_exact && !listing.has_capitals {
                // The file may be that of this name, and then it is of no other name of the tree.
                known.insert(&key);
            }
            folded = Some(if listing.is_exact { Folded::Unknown } else { listing.other });
        }
        Ok(folded)
    }

    /// Records that the copy has put an entry with this name in `folder`.
    pub fn note(&self, folder: &OwnedFd, name: &[u8]) {
        let mut known = self.known.lock();
        if is_plain(name) {
            if has_no_letters(name) {
                return;
            }
            let count = known.plain.len();
            let is_due = count >= UNPROVEN && count.is_power_of_two();
            if known.tells_case_apart || is_due && known.looks_whether_case_is_apart(folder, name) {
                return;
            }
        }
        known.insert(&self.key(name));
    }

    fn key<'a>(&self, name: &'a [u8]) -> Key<'a> {
        let exact = self.hashing.hash_one(name);
        let folded = self.hashing.hash_one(folded(name));
        Key { name, exact, folded, is_plain: is_plain(name) }
    }

    /// Reads the names of `folder` into `known`, and looks how the file with the number `inode` is
    /// listed, which is found under the name `key`.
    fn list(
        &self,
        known: &mut Known,
        folder: &OwnedFd,
        key: &Key<'_>,
        inode: u64,
    ) -> io::Result<Listing> {
        let other_case = swapped(key.name);
        let lowercase = lower(key.name);
        let mut listing = Listing {
            is_exact: false,
            is_swapped: false,
            has_capitals: false,
            found: Vec::new(),
            other: Folded::Unknown,
        };
        known.forget_listing();
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let found = entry.file_name().to_bytes();
            let its = self.key(found);
            if known.places.take() && !known.listed.insert(its.exact) {
                known.places.leave(1);
            }
            listing.is_exact |= found == key.name;
            listing.has_capitals |= found.iter().any(u8::is_ascii_uppercase);
            listing.is_swapped |= other_case.as_deref() == Some(found);
            if its.folded == key.folded {
                listing.found.push(its.exact);
                let is_case = lower(found) == lowercase;
                let kind = if is_case { Folded::Case } else { Folded::Name };
                listing.other = kind(found.to_vec());
            } else if entry.ino() == inode && listing.other == Folded::Unknown {
                // Some file systems list all files with the same number, or with others than they
                // have.
                listing.other = Folded::Name(found.to_vec());
            }
        }
        Ok(listing)
    }
}

impl Known {
    /// Looks whether names whose ASCII letters differ in case are two files here, by the name of a
    /// file that exists. If that cannot be told, it is looked again with the next one.
    fn looks_whether_case_is_apart(&mut self, folder: &OwnedFd, name: &[u8]) -> bool {
        if self.tells_case_apart {
            return true;
        }
        let Some(other_case) = swapped(name) else { return false };
        let stat = |name: &[u8]| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        let is_apart = matches!(stat(&other_case), Err(Errno::NOENT)) && stat(name).is_ok();
        self.set_tells_case_apart(is_apart);
        is_apart
    }

    fn set_tells_case_apart(&mut self, is_apart: bool) {
        if is_apart {
            self.tells_case_apart = true;
            self.places.leave(self.plain.len());
            self.plain = HashMap::new();
        }
    }

    fn insert(&mut self, key: &Key<'_>) {
        let names = if key.is_plain { &mut self.plain } else { &mut self.other };
        if let Entry::Vacant(place) = names.entry(key.folded)
            && self.places.take()
        {
            place.insert(key.exact);
        }
    }

    fn forget_listing(&mut self) {
        self.places.leave(self.listed.len());
        // Its memory is for others meanwhile.
        self.listed = HashSet::new();
    }

    fn lists_all(&self, names: &[u64]) -> bool {
        names.iter().all(|name| self.listed.contains(name))
    }

    /// Returns the names that the copy has put here and that a file system may take for this one.
    fn rivals(&self, key: &Key<'_>) -> Vec<u64> {
        let same = [self.plain.get(&key.folded), self.other.get(&key.folded)];
        same.into_iter().flatten().copied().filter(|&exact| exact != key.exact).collect()
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        self.places.leave(self.listed.len() + self.plain.len() + self.other.len());
    }
}

impl Places {
    /// Takes the place of a name among those that are remembered. Returns whether there was one.
    fn take(&self) -> bool {
        let takes = |counter: &AtomicUsize, most: usize| {
            let next = |count: usize| (count < most).then_some(count + 1);
            counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
        };
        if !takes(&self.0, REMEMBERED_OF_TREE_MAX) {
            return false;
        }
        let is_taken = takes(&REMEMBERED, REMEMBERED_MAX);
        if !is_taken {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
        is_taken
    }

    fn leave(&self, count: usize) {
        self.0.fetch_sub(count, Ordering::Relaxed);
        REMEMBERED.fetch_sub(count, Ordering::Relaxed);
    }
}

impl fmt::Display for Folded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Case(other) => {
                let other = printable::name(other);
                write!(f, "the file system ignores case, and {other} exists there")
            }
            Self::Name(other) => {
                let other = printable::name(other);
                write!(f, "the file system takes it for {other}, which exists there")
            }
            Self::Unknown => {
                write!(f, "the file system takes it for another name that exists there")
            }
        }
    }
}

/// Returns whether only case can make a file system take this name for another one: it has no
/// letters outside ASCII, it does not end in what some strip, and it is no short name for a long
/// one.
fn is_plain(name: &[u8]) -> bool {
    name.is_ascii() && !name.ends_with(b".") && !name.ends_with(b" ") && !name.contains(&b'~')
}

/// Returns whether the entry `name` of `folder` may be found under another name, too, of which file
/// systems may make the same: not if only case tells them apart, and it does so there.
pub fn may_have_others(folder: &OwnedFd, name: &[u8]) -> bool {
    match is_plain(name) {
        true => !has_no_letters(name) && may_ignore_case(folder, name),
        false => true,
    }
}

/// Returns whether `folder` may find the entry `name` in another case, too. A name without ASCII
/// letters but i does not tell.
pub fn may_ignore_case(folder: &OwnedFd, name: &[u8]) -> bool {
    swapped(name).is_none_or(|swapped| {
        !matches!(statat(folder, &*swapped, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
    })
}

fn has_no_letters(name: &[u8]) -> bool {
    !name.iter().any(u8::is_ascii_alphabetic)
}

/// Returns what the file systems that ignore case make of a name, at most: a sharp s is two
/// letters, and an i has no dot of its own.
pub fn lower(name: &[u8]) -> Vec<u8> {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let Ok(name) = std::str::from_utf8(name) else { return name.to_ascii_lowercase() };
    name.to_uppercase().to_lowercase().replace('\u{307}', "").into_bytes()
}

/// Returns [`lower`] without the characters that some file systems strip.
pub fn folded(name: &[u8]) -> Vec<u8> {
    let mut name = lower(name);
    let kept = name.iter().rposition(|byte| !b". ".contains(byte)).map_or(0, |at| at + 1);
    name.truncate(kept);
    name
}

/// Returns the name with the case of its ASCII letters swapped, except that of i, whose capital is
/// another letter in Turkish; none if it has no such letters.
fn swapped(name: &[u8]) -> Option<Vec<u8>> {
    let swap = |byte: &u8| match byte {
        b'i' | b'I' => *byte,
        byte if byte.is_ascii_lowercase() => byte.to_ascii_uppercase(),
        byte => byte.to_ascii_lowercase(),
    };
    let swapped: Vec<u8> = name.iter().map(swap).collect();
    (swapped != name).then_some(swapped)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;
    use crate::tests::Scratch;

    #[test]
    fn names_are_remembered_only_until_case_is_known_to_be_told_apart() {
        let dir = Scratch::new("names-apart");
        let folder = OwnedFd::from(File::open(&dir).unwrap());
        let names = ExactNames::default();
        for number in 0..300 {
            let name = format!("file{number}");
            fs::write(dir.join(&name), b"").unwrap();
            names.note(&folder, name.as_bytes());
            assert!(names.known.lock().plain.len() <= UNPROVEN);
        }
        for name in ["FILE7", "caf\u{e9}", "7", "dot."] {
            fs::write(dir.join(name), b"").unwrap();
            assert_eq!(names.folded(&folder, name.as_bytes()).unwrap(), None, "{name}");
        }
        for name in ["0~a", "0~A", "1~a", "1~A"] {
            fs::write(dir.join(name), b"").unwrap();
            names.note(&folder, name.as_bytes());
        }
        assert_eq!(names.folded(&folder, b"0~A").unwrap(), None);
        fs::remove_file(dir.join("1~A")).unwrap();
        let listed_before = names.folded(&folder, b"1~A").unwrap();
        assert_eq!(listed_before, None, "one listing does for all pairs");
        let is_missing = names.folded(&folder, b"missing.").unwrap_err().kind();
        assert_eq!(is_missing, io::ErrorKind::NotFound);
    }

    #[test]
    fn all_directories_together_remember_no_more_than_one_may() {
        let dir = Scratch::new("names-many");
        let folder = OwnedFd::from(File::open(&dir).unwrap());
        let remembered = |names: &ExactNames| names.known.lock().other.len();
        let level = |names: ExactNames| {
            for number in 0..REMEMBERED_OF_TREE_MAX {
                names.note(&folder, format!("\u{e9}{number}").as_bytes());
            }
            names
        };
        // One tree, however deep, leaves places to another one.
        let top = level(ExactNames::default());
        let below = level(top.of_same_tree());
        let other = level(ExactNames::default());
        let third = level(ExactNames::default());
        let counts = [&top, &below, &other, &third].map(remembered);
        assert_eq!(counts, [REMEMBERED_OF_TREE_MAX, 0, REMEMBERED_OF_TREE_MAX, 0]);
        drop([top, below, other, third]);
        let ended = level(ExactNames::default());
        assert_eq!(remembered(&ended), REMEMBERED_OF_TREE_MAX, "what ended leaves its places");
    }
}
