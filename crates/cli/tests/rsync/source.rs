//! Random trees, and random changes of them.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use garland_testkit::{Chance, random_bytes};
use rustix::fs::{
    AtFlags, CWD, Timespec, Timestamps, XattrFlags, removexattr, setxattr, utimensat,
};

use crate::disks::Abilities;

/// Names that every file system takes.
const PLAIN: [&[u8]; 10] =
    [b"a", b"b", b"c.o", b"d", b"e", b"f", b"x y", b"-rf", b"...", b"\xc3\xa9"];

/// Names that those of Linux take, too.
const ODD: [&[u8]; 7] = [b"A", b"\n", b"\xff\xfe", b"x\\y", b"?*[a]", b"a:b", &[b'n'; 255]];

/// The attributes that contain an entry's access control list, and that of new entries in a folder.
const ACCESS_LIST: &str = "system.posix_acl_access";
const DEFAULT_LIST: &str = "system.posix_acl_default";

/// The most entries that a folder of a new tree gets.
const ENTRIES_MAX: u64 = 9;

/// A place where entries come and go.
pub struct Maker<'a> {
    pub top: &'a Path,
    pub abilities: Abilities,
    /// Whether files get several names. At destinations they do not: rsync changes such a file in
    /// its place, and with it names that are not sent.
    pub has_hard_links: bool,
    pub chance: &'a mut Chance,
}

impl Maker<'_> {
    /// Makes a tree at `top`, which is new.
    pub fn make(&mut self) {
        fs::create_dir(self.top).expect("it can be made");
        self.fill(self.top, 0);
        self.give_time(self.top);
    }

    fn fill(&mut self, folder: &Path, depth: u64) {
        for _ in 0..self.chance.below(ENTRIES_MAX) {
            let path = folder.join(self.name());
            if path.symlink_metadata().is_err() {
                self.entry(&path, depth);
            }
        }
    }

    fn name(&mut self) -> &'static OsStr {
        let is_odd = self.abilities.any_name && self.chance.below(4) == 0;
        OsStr::from_bytes(if is_odd { self.chance.pick(&ODD) } else { self.chance.pick(&PLAIN) })
    }

    /// Makes an entry of a random kind.
    fn entry(&mut self, path: &Path, depth: u64) {
        let has_links = self.abilities.links;
        match self.chance.below(10) {
            0..=1 if depth < 3 => {
                fs::create_dir(path).expect("it can be made");
                self.fill(path, depth + 1);
            }
            2 if has_links => symlink(self.name(), path).expect("it can be made"),
            3 if self.has_hard_links && has_links && self.hard_link(path) => return,
            _ => self.write(path),
        }
        self.give_all(path);
    }

    /// Makes `path` another name of a file, if there is one.
    fn hard_link(&mut self, path: &Path) -> bool {
        self.any(|stat| stat.is_file()).is_some_and(|file| fs::hard_link(file, path).is_ok())
    }

    fn length(&mut self) -> u64 {
        match self.chance.below(20) {
            0..=3 => 0,
            4..=15 => self.chance.below(5000),
            16..=18 => self.chance.below(100_000),
            _ => self.chance.below(3_000_000),
        }
    }

    fn write(&mut self, path: &Path) {
        let length = self.length();
        let bytes = random_bytes(length as usize, self.chance.below(u64::MAX));
        fs::write(path, bytes).expect("it can be written");
        if self.chance.below(8) == 0 {
            let more = self.chance.below(300_000);
            let file = File::options().write(true).open(path).expect("it can be written");
            file.set_len(length + more).expect("a hole has room");
        }
    }

    /// Gives an entry a mode, an owner, a time and perhaps attributes.
    fn give_all(&mut self, path: &Path) {
        let is_link = path.is_symlink();
        let may_own = self.abilities.modes && garland_sys::process::user_id() == 0;
        if may_own && self.chance.below(4) == 0 {
            let owner = |chance: &mut Chance| Some(chance.pick(&[0, 1, 1234, 65_534]));
            let user = owner(self.chance);
            lchown(path, user, owner(self.chance)).expect("root may");
        }
        if !is_link && self.abilities.modes && self.chance.below(3) == 0 {
            let modes = [0o644, 0o600, 0o755, 0o700, 0o444, 0o4755, 0o2770, 0o1777, 0o711];
            let mode = Permissions::from_mode(self.chance.pick(&modes));
            fs::set_permissions(path, mode).expect("its owner may");
        }
        if !is_link && self.abilities.modes && self.chance.below(6) == 0 {
            self.give_attribute(path);
        }
        if !is_link && self.abilities.modes && self.chance.below(6) == 0 {
            self.give_list(path);
        }
        self.give_time(path);
    }

    /// Gives an entry an access control list, or takes it away.
    fn give_list(&mut self, path: &Path) {
        let is_default = path.is_dir() && self.chance.below(2) == 0;
        let name = if is_default { DEFAULT_LIST } else { ACCESS_LIST };
        if self.chance.below(3) == 0 {
            // Most have none.
            let _ = removexattr(path, name);
            return;
        }
        let list = access_list(self.chance);
        setxattr(path, name, &list, XattrFlags::empty()).expect("its owner may");
    }

    fn give_attribute(&mut self, path: &Path) {
        let name = self.chance.pick(&["user.a", "user.b", "trusted.c"]);
        let value = random_bytes(self.chance.below(200) as usize, 3);
        setxattr(path, name, &value, XattrFlags::empty()).expect("its owner may");
    }

    /// Gives a time whose seconds no other entry has had.
    fn give_time(&mut self, path: &Path) {
        let seconds = match self.chance.below(12) {
            0 if self.abilities.modes => -(self.chance.below(1 << 30) as i64),
            _ => self.chance.below(1 << 31) as i64,
        };
        let nanos = self.chance.below(1_000_000_000) as i64;
        self.set_time(path, seconds, nanos);
    }

    fn set_time(&self, path: &Path, tv_sec: i64, tv_nsec: i64) {
        let time = Timespec { tv_sec, tv_nsec };
        let times = Timestamps { last_access: time, last_modification: time };
        let set = utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW);
        assert!(set.is_ok() || !self.abilities.times, "{path:?}: {set:?}");
    }

    /// Changes the tree a little, in one to five places.
    pub fn change(&mut self) {
        for _ in 0..=self.chance.below(5) {
            self.change_one();
        }
    }

    /// Changes one entry. The folder that it is in gets a time, as everything does: the present
    /// time would be another one at each destination.
    fn change_one(&mut self) {
        let Some(path) = self.any(|_| true) else {
            return;
        };
        let stat = path.symlink_metadata().expect("it was there");
        let mut changed = path.parent().expect("it is below the top").to_owned();
        match self.chance.below(10) {
            0 | 1 => {
                let folder = self.any(|stat| stat.is_dir()).unwrap_or_else(|| self.top.to_owned());
                let new = folder.join(self.name());
                if new.symlink_metadata().is_err() {
                    self.entry(&new, 2);
                }
                changed = folder;
            }
            2 => remove(&path),
            3 => {
                let new = path.with_file_name(self.name());
                if new.symlink_metadata().is_err() {
                    fs::rename(&path, new).expect("it can be renamed");
                }
            }
            4 => {
                // Rarely a folder instead of something else, or the reverse: it stays as it is
                // then.
                let may_obstruct = self.chance.below(8) == 0;
                if may_obstruct || !stat.is_dir() {
                    remove(&path);
                    self.entry(&path, if may_obstruct { 2 } else { u64::MAX });
                }
            }
            5 if stat.is_file() => self.deceive(&path, &stat),
            6 if stat.is_file() => {
                let file = File::options().append(true).open(&path).expect("it can be written");
                file.write_all_at(b"more", stat.len()).expect("it can be written");
                self.give_time(&path);
            }
            7 if stat.is_file() => {
                self.write(&path);
                self.give_all(&path);
            }
            _ => self.give_all(&path),
        }
        self.give_time(&changed);
    }

    /// Gives a file other bytes, as many, and its time again. What it had does not count: where
    /// rsync left an old one, Garland may have the source's.
    fn deceive(&mut self, path: &Path, stat: &fs::Metadata) {
        let bytes = random_bytes(stat.len() as usize, self.chance.below(u64::MAX));
        // A file of its own, so that other names of a destination's file keep what they have.
        let new = path.with_file_name(".new");
        fs::write(&new, bytes).expect("it can be written");
        if self.abilities.modes {
            lchown(&new, Some(stat.uid()), Some(stat.gid())).expect("it was so before");
            fs::set_permissions(&new, stat.permissions()).expect("its owner may");
        }
        self.set_time(&new, stat.mtime(), stat.mtime_nsec());
        fs::rename(new, path).expect("it can be renamed");
    }

    /// Returns one of the entries that are `wanted`, the same one in equal trees.
    fn any(&mut self, wanted: impl Fn(&fs::Metadata) -> bool) -> Option<PathBuf> {
        let mut found = Vec::new();
        collect(self.top, &mut found);
        found.retain(|path| path.symlink_metadata().is_ok_and(|stat| wanted(&stat)));
        found.sort();
        (!found.is_empty())
            .then(|| found.swap_remove(self.chance.below(found.len() as u64) as usize))
    }
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), found);
        }
        found.push(entry.path());
    }
}

fn remove(path: &Path) {
    let is_folder = path.symlink_metadata().is_ok_and(|stat| stat.is_dir());
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.expect("it can be removed");
}

/// Returns an access control list as in its attribute (linux/posix_acl_xattr.h), with entries for a
/// user and a group.
fn access_list(chance: &mut Chance) -> Vec<u8> {
    const VERSION: u32 = 2;
    const NOBODY: u32 = u32::MAX;
    const TAGS: [(u16, u32); 6] =
        [(0x01, NOBODY), (0x02, 1234), (0x04, NOBODY), (0x08, 1), (0x10, NOBODY), (0x20, NOBODY)];
    let mut list = VERSION.to_le_bytes().to_vec();
    for (tag, id) in TAGS {
        list.extend(tag.to_le_bytes());
        list.extend((chance.below(8) as u16).to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}
