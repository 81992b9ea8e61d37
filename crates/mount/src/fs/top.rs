//! The mount's own directory. It contains a directory for each node, and links to nodes: one for
//! each number in the node list, `here` for this machine's node, and `home` for the user's home
//! node.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use fuser::{FileAttr, FileType};

use super::attr;
use super::inodes::TOP;

const HERE: u64 = 2;
const HOME: u64 = 3;
const STATUS: u64 = 4;
const NODES: u64 = 16;
const NUMBERS: u64 = 1 << 40;

/// The name of the file with the mount's status, which does not appear in listings.
pub const STATUS_NAME: &str = ".garland-status";

/// Returns the inode number of the root of the node at index `place`.
pub fn node_number(place: usize) -> u64 {
    NODES + place as u64
}

/// The mount's own directory: the nodes' names, and the target of `here`.
#[derive(Debug)]
pub struct Top {
    names: Vec<String>,
    here: String,
}

/// An inode that belongs to the mount itself.
#[derive(Debug, PartialEq, Eq)]
pub enum Own {
    /// The mount's own directory.
    Folder,
    /// A symbolic link with this target.
    Link(String),
    /// The file with the mount's status.
    Status,
}

/// What a name in the mount's own directory refers to.
#[derive(Debug, PartialEq, Eq)]
pub enum Named {
    /// The root of the node at this index.
    Node(usize),
    /// The inode of the mount itself that has this number.
    Own(u64),
}

impl Top {
    /// Creates the directory of the nodes `names`. `here` is the name of this machine's node; if it
    /// is none of them, the link `here` leads to `/`, outside of the mount.
    #[must_use]
    pub fn new(names: Vec<String>, here: Option<String>) -> Self {
        Self { names, here: here.unwrap_or_else(|| "/".to_owned()) }
    }

    /// Returns the inode of the mount itself that has this number; `None` for an inode of a node.
    pub fn own(&self, number: u64) -> Option<Own> {
        match number {
            TOP => Some(Own::Folder),
            // `home` should be the node that a process was started on; for now it is this machine.
            HERE | HOME => Some(Own::Link(self.here.clone())),
            STATUS => Some(Own::Status),
            _ => {
                let place = usize::try_from(number.checked_sub(NUMBERS)?).ok()?;
                self.names.get(place).cloned().map(Own::Link)
            }
        }
    }

    /// Returns what a name refers to. A node whose name is a number takes precedence over the node
    /// with that number in the list.
    pub fn find(&self, name: &OsStr) -> Option<Named> {
        if let Some(place) = self.names.iter().position(|known| known.as_bytes() == name.as_bytes())
        {
            return Some(Named::Node(place));
        }
        match name.to_str()? {
            "here" => Some(Named::Own(HERE)),
            "home" => Some(Named::Own(HOME)),
            STATUS_NAME => Some(Named::Own(STATUS)),
            number => {
                let place = number.parse::<usize>().ok()?.checked_sub(1)?;
                let is_plain = (place + 1).to_string() == number && place < self.names.len();
                is_plain.then_some(Named::Own(NUMBERS + place as u64))
            }
        }
    }

    /// Returns the attributes of an inode of the mount itself; `None` for an inode of a node.
    pub fn attr(&self, number: u64) -> Option<FileAttr> {
        Some(match self.own(number)? {
            Own::Folder => attr::own(FileType::Directory, number, 0o555, 0),
            Own::Link(text) => attr::own(FileType::Symlink, number, 0o777, text.len() as u64),
            Own::Status => attr::own(FileType::RegularFile, number, 0o444, 0),
        })
    }

    /// Calls `add` for each entry from the offset `from` on, until it returns true because there is
    /// no space left. `add` gets the offset after the entry, its inode number, its type and its
    /// name.
    pub fn list(&self, from: u64, mut add: impl FnMut(u64, u64, FileType, &OsStr) -> bool) {
        let mut place = from;
        while let Some((number, kind, name)) = self.listed(place) {
            place += 1;
            if add(place, number, kind, name) {
                return;
            }
        }
    }

    /// Returns the entry at an offset: its inode number, type and name; `None` at the end.
    fn listed(&self, place: u64) -> Option<(u64, FileType, &OsStr)> {
        let folder = FileType::Directory;
        Some(match usize::try_from(place).ok()? {
            0 => (TOP, folder, OsStr::new(".")),
            1 => (TOP, folder, OsStr::new("..")),
            2 => (HERE, FileType::Symlink, OsStr::new("here")),
            3 => (HOME, FileType::Symlink, OsStr::new("home")),
            place => {
                let name = self.names.get(place - 4)?;
                (node_number(place - 4), folder, OsStr::new(name))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_names_and_numbers() {
        let top = Top::new(["n1", "n2", "7"].map(str::to_owned).to_vec(), Some("n2".to_owned()));
        let find = |name: &str| top.find(OsStr::new(name));
        assert_eq!(find("n2"), Some(Named::Node(1)));
        assert_eq!(find("7"), Some(Named::Node(2)), "a name, not a number");
        let Some(Named::Own(two)) = find("2") else { panic!("a number") };
        assert_eq!(top.own(two), Some(Own::Link("n2".to_owned())));
        let Some(Named::Own(here)) = find("here") else { panic!("this node") };
        assert_eq!(top.own(here), Some(Own::Link("n2".to_owned())));
        for none in ["n3", "0", "4", "02", "+2", "-1", "", "18446744073709551616"] {
            assert_eq!(find(none), None, "{none}");
        }
        let mut listed = Vec::new();
        top.list(4, |next, _, _, name| {
            listed.push((next, name.to_owned()));
            next == 6
        });
        assert_eq!(listed, [(5, "n1".into()), (6, "n2".into())], "until there is no more room");
        top.list(6, |_, _, _, name| {
            assert_eq!(name, "7");
            false
        });
        top.list(7, |_, _, _, name| panic!("{} isn't there", name.display()));
    }
}
