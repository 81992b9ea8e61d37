//! The table of inodes that the kernel knows. Inode numbers are derived from the node and the
//! file's identity there, so that they are the same in later mounts. The path of an inode consists
//! of its last known name and the path of the directory that contains it.

use std::collections::HashMap;
use std::sync::Arc;

use garland_protocol::files::{Attr, FileKind};
use garland_sys::sync::{Mutex, MutexGuard};

use super::inode::{Inode, Key, OF_FILES};

/// The inode number of the mount's own directory.
pub const TOP: u64 = 1;

/// The table of inodes that the kernel knows.
#[derive(Default)]
pub struct Inodes(Mutex<Table>);

#[derive(Default)]
struct Table {
    by_number: HashMap<u64, Arc<Inode>>,
    /// One name of each inode, the last known one: a node that renames a file again and again, or
    /// has many names for it, takes no more.
    by_name: HashMap<(u64, Vec<u8>), Arc<Inode>>,
}

impl Table {
    /// Gives an inode the name `name` in the directory `above`, in place of the one that it had.
    fn give_name(&mut self, inode: &Arc<Inode>, above: &Arc<Inode>, name: &[u8]) {
        self.remove_name_of(inode, inode.last_name());
        inode.set_name(above, name);
        self.by_name.insert((above.number, name.to_vec()), Arc::clone(inode));
    }

    /// Removes the name of an inode, unless another one has that name by now.
    fn remove_name_of(&mut self, inode: &Arc<Inode>, name: Option<(u64, Vec<u8>)>) {
        let Some(name) = name else { return };
        if self.by_name.get(&name).is_some_and(|named| Arc::ptr_eq(named, inode)) {
            self.by_name.remove(&name);
        }
    }
}

impl Inodes {
    /// Adds an inode that stays in the table, such as the root of a node.
    pub fn keep(&self, inode: Arc<Inode>) {
        self.lock().by_number.insert(inode.number, inode);
    }

    /// Returns the inode with this number, if the kernel knows it.
    pub fn find(&self, number: u64) -> Option<Arc<Inode>> {
        self.lock().by_number.get(&number).cloned()
    }

    /// Returns the inode that has the name `name` in the directory `above` and these attributes;
    /// created if missing. Adds one to its lookup count.
    pub fn tell(&self, above: &Arc<Inode>, name: &[u8], attr: &Attr) -> Arc<Inode> {
        let key = Key::from_attr(above.peer, attr);
        let mut table = self.lock();
        let mut number = key.number();
        let inode = loop {
            match table.by_number.get(&number) {
                Some(known) if known.key == Some(key) => break Arc::clone(known),
                // A collision: take the next number.
                Some(_) => number = (number + 1) | OF_FILES,
                None => {
                    let made = Inode::new(number, key);
                    table.by_number.insert(number, Arc::clone(&made));
                    break made;
                }
            }
        };
        inode.look_up();
        // A node may show a directory within itself: one that is bound there, or none that there
        // is. Its path stays the one that leads to it from outside.
        if attr.kind != FileKind::Folder || !above.is_below(&inode) {
            table.give_name(&inode, above, name);
        }
        inode
    }

    /// Returns the inode number of a file with these attributes, unless another file has the same
    /// number; see [`tell`](Self::tell). Leaves the lookup count unchanged.
    pub fn number(peer: usize, attr: &Attr) -> u64 {
        Key::from_attr(peer, attr).number()
    }

    /// Subtracts `times` from the lookup count of an inode, and drops the inode if the count is 0.
    /// Inodes added by [`keep`](Self::keep) stay.
    pub fn forget(&self, number: u64, times: u64) {
        let mut table = self.lock();
        let Some(inode) = table.by_number.get(&number).filter(|inode| inode.key.is_some()) else {
            return;
        };
        let inode = Arc::clone(inode);
        let Some(last_name) = inode.forget(times) else { return };
        table.by_number.remove(&number);
        table.remove_name_of(&inode, last_name);
    }

    /// Forgets the name `name` in the directory with the inode number `above`.
    pub fn unname(&self, above: u64, name: &[u8]) {
        let mut table = self.lock();
        if let Some(inode) = table.by_name.remove(&(above, name.to_vec())) {
            inode.remove_name(above, name);
        }
    }

    /// Renames an inode. The inode that had the new name gets the old name if `exchange` is set;
    /// otherwise it loses its name.
    pub fn rename(&self, from: (u64, &[u8]), to: (&Arc<Inode>, &[u8]), exchange: bool) {
        let (above, name) = to;
        let other = self.lock().by_name.get(&(above.number, name.to_vec())).cloned();
        let moved = self.lock().by_name.get(&(from.0, from.1.to_vec())).cloned();
        // An inode that has another name by now has none there.
        let was_in = moved.as_ref().and_then(|inode| inode.above()).or_else(|| self.find(from.0));
        self.unname(from.0, from.1);
        self.unname(above.number, name);
        if let Some(inode) = moved {
            self.lock().give_name(&inode, above, name);
        }
        if exchange && let (Some(inode), Some(folder)) = (other, was_in) {
            self.lock().give_name(&inode, &folder, from.1);
        }
    }

    /// Returns the number of known inodes.
    pub fn count(&self) -> usize {
        self.lock().by_number.len()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use garland_protocol::files::Stamp;

    use super::*;

    fn attr(inode: u64) -> Attr {
        let zero = Stamp::default();
        Attr {
            kind: FileKind::File,
            mode: 0o644,
            links: 1,
            user: 0,
            group: 0,
            number: 0,
            size: 0,
            blocks: 0,
            device: 1,
            inode,
            born: zero,
            accessed: zero,
            modified: zero,
            changed: zero,
        }
    }

    #[test]
    fn a_file_is_the_same_by_all_its_names_until_it_is_forgotten() {
        let inodes = Inodes::default();
        let top = Inode::root(16, 0);
        inodes.keep(Arc::clone(&top));
        let one = inodes.tell(&top, b"a", &attr(5));
        let two = inodes.tell(&top, b"b", &attr(5));
        assert!(Arc::ptr_eq(&one, &two));
        assert_eq!(two.path().unwrap(), b"b");
        inodes.forget(one.number, 1);
        assert!(inodes.find(one.number).is_some());
        inodes.forget(one.number, 1);
        assert!(inodes.find(one.number).is_none());
        assert_eq!(inodes.tell(&top, b"a", &attr(5)).number, one.number, "the same as before");
        inodes.forget(16, 9);
        assert!(inodes.find(16).is_some(), "a node's root stays");
    }

    #[test]
    fn a_file_that_gets_new_names_without_end_takes_no_more_room() {
        let inodes = Inodes::default();
        let top = Inode::root(16, 0);
        inodes.keep(Arc::clone(&top));
        let names = || inodes.lock().by_name.len();
        let mut told = 0;
        for number in 0..1000 {
            let file = inodes.tell(&top, format!("f{number}").as_bytes(), &attr(5));
            told = file.number;
        }
        assert_eq!(names(), 1);
        inodes.tell(&top, b"f7", &attr(6));
        inodes.tell(&top, b"f7", &attr(5));
        let other = inodes.tell(&top, b"other", &attr(6));
        assert_eq!((names(), other.path().unwrap()), (2, b"other".to_vec()));
        // What the kernel knows by an earlier name keeps the one that was told last.
        inodes.rename((16, b"f3"), (&top, b"g"), false);
        assert_eq!(inodes.find(told).unwrap().path().unwrap(), b"f7");
        inodes.forget(told, 1001);
        inodes.forget(other.number, 2);
        assert_eq!((names(), inodes.count()), (0, 1));
    }

    #[test]
    fn a_directory_within_itself_keeps_its_path_from_outside() {
        let inodes = Inodes::default();
        let top = Inode::root(16, 0);
        let a_folder = |inode| Attr { kind: FileKind::Folder, ..attr(inode) };
        let folder = inodes.tell(&top, b"a", &a_folder(1));
        let below = inodes.tell(&folder, b"b", &a_folder(2));
        assert!(Arc::ptr_eq(&inodes.tell(&folder, b"b", &a_folder(1)), &folder));
        assert!(Arc::ptr_eq(&inodes.tell(&below, b"c", &a_folder(1)), &folder));
        assert_eq!((folder.path().unwrap(), below.path().unwrap()), (b"a".into(), b"a/b".into()));
    }

    #[test]
    fn a_path_that_is_too_long_is_none() {
        let inodes = Inodes::default();
        let top = Inode::root(16, 0);
        let mut folder = Arc::clone(&top);
        for depth in 1..=17 {
            assert!(folder.path().is_some());
            folder = inodes.tell(&folder, &[b'x'; 255], &attr(depth));
        }
        assert_eq!(folder.path(), None);
    }

    #[test]
    fn names_move_with_their_folders_and_are_lost_when_replaced() {
        let inodes = Inodes::default();
        let top = Inode::root(16, 0);
        let folder = inodes.tell(&top, b"d", &attr(1));
        let file = inodes.tell(&folder, b"f", &attr(2));
        let other = inodes.tell(&top, b"o", &attr(3));
        assert_eq!(file.path().unwrap(), b"d/f");
        inodes.rename((16, b"d"), (&top, b"e"), false);
        assert_eq!(file.path().unwrap(), b"e/f");
        inodes.rename((folder.number, b"f"), (&top, b"o"), false);
        assert_eq!(file.path().unwrap(), b"o");
        assert_eq!(other.path(), None, "it was replaced");
        let third = inodes.tell(&top, b"t", &attr(4));
        inodes.rename((16, b"t"), (&top, b"o"), true);
        assert_eq!((third.path().unwrap(), file.path().unwrap()), (b"o".to_vec(), b"t".to_vec()));
        inodes.unname(16, b"o");
        assert_eq!(third.path(), None);
    }
}
