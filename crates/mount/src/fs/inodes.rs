//! The files that the kernel knows, by its numbers for them. A file's number comes from its node and
//! its number there, so that it is the same in the next mount; its path is its last known name below
//! that of its folder.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garland_protocol::{Attr, FileKind, Stamp};

use super::flow::Flow;

/// The mount's own folder.
pub const TOP: u64 = 1;

/// Numbers of files have this bit; those of the mount's own things haven't.
const OF_FILES: u64 = 1 << 62;

/// What makes a file the one that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    peer: usize,
    device: u64,
    inode: u64,
    /// Numbers are used again once a file is gone, but for another kind or at another time.
    kind: FileKind,
    born: Stamp,
}

impl Key {
    /// The key of what has these attributes on the node at this place.
    pub fn of(peer: usize, attr: &Attr) -> Self {
        let Attr { device, inode, kind, born, .. } = *attr;
        Self { peer, device, inode, kind, born }
    }

    fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish() >> 2 | OF_FILES
    }
}

/// A file, folder or anything else on a node.
pub struct Inode {
    /// The kernel's number for it.
    pub number: u64,
    /// Its node's place in the list.
    pub peer: usize,
    /// Nothing for the node's root, which is whatever is there.
    pub key: Option<Key>,
    /// Its bytes on their ways.
    pub flow: Mutex<Flow>,
    place: Mutex<Place>,
}

struct Place {
    /// The folder that it is in; none for a node's root, and for what has no known name.
    above: Option<Arc<Inode>>,
    name: Vec<u8>,
    /// How often the kernel was told of it.
    told: u64,
}

/// All that the kernel knows.
#[derive(Default)]
pub struct Inodes(Mutex<Table>);

#[derive(Default)]
struct Table {
    by_number: HashMap<u64, Arc<Inode>>,
    by_name: HashMap<(u64, Vec<u8>), Arc<Inode>>,
}

impl Inode {
    /// The root of the node at `peer`.
    pub fn root(number: u64, peer: usize) -> Arc<Self> {
        Arc::new(Self::new(number, peer, None, None, Vec::new()))
    }

    fn new(
        number: u64,
        peer: usize,
        key: Option<Key>,
        above: Option<Arc<Self>>,
        name: Vec<u8>,
    ) -> Self {
        let place = Mutex::new(Place { above, name, told: 0 });
        Self { number, peer, key, flow: Mutex::default(), place }
    }

    /// Its path below the node's root; none when no name of it is known.
    pub fn path(self: &Arc<Self>) -> Option<Vec<u8>> {
        let mut names = Vec::new();
        let mut at = Arc::clone(self);
        while at.key.is_some() {
            let place = at.place();
            let above = Arc::clone(place.above.as_ref()?);
            names.push(place.name.clone());
            drop(place);
            at = above;
        }
        names.reverse();
        Some(names.join(&b'/'))
    }

    /// The path of `name` in it.
    pub fn path_of(self: &Arc<Self>, name: &[u8]) -> Option<Vec<u8>> {
        let mut path = self.path()?;
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        Some(path)
    }

    /// Its way of bytes.
    pub fn flow(&self) -> MutexGuard<'_, Flow> {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inodes {
    /// Knows `inode` from the beginning.
    pub fn keep(&self, inode: Arc<Inode>) {
        self.lock().by_number.insert(inode.number, inode);
    }

    /// What has the kernel's `number`.
    pub fn find(&self, number: u64) -> Option<Arc<Inode>> {
        self.lock().by_number.get(&number).cloned()
    }

    /// The file that `name` in `above` is now; the kernel is told of it.
    pub fn tell(&self, above: &Arc<Inode>, name: &[u8], attr: &Attr) -> Arc<Inode> {
        let key = Key::of(above.peer, attr);
        let mut table = self.lock();
        let mut number = key.number();
        let inode = loop {
            match table.by_number.get(&number) {
                Some(known) if known.key == Some(key) => break Arc::clone(known),
                // Another file has the number by chance: the next one is as good.
                Some(_) => number = (number + 1) | OF_FILES,
                None => {
                    let made = Inode::new(number, above.peer, Some(key), None, Vec::new());
                    let made = Arc::new(made);
                    table.by_number.insert(number, Arc::clone(&made));
                    break made;
                }
            }
        };
        {
            let mut place = inode.place();
            place.told += 1;
            place.above = Some(Arc::clone(above));
            place.name = name.to_vec();
        }
        table.by_name.insert((above.number, name.to_vec()), Arc::clone(&inode));
        inode
    }

    /// The number that `tell` would give, without telling.
    pub fn number(peer: usize, attr: &Attr) -> u64 {
        Key::of(peer, attr).number()
    }

    /// The kernel has forgotten so many of the times that it was told.
    pub fn forget(&self, number: u64, times: u64) {
        let mut table = self.lock();
        let Some(inode) = table.by_number.get(&number).filter(|inode| inode.key.is_some()) else {
            return;
        };
        let inode = Arc::clone(inode);
        let mut place = inode.place();
        place.told = place.told.saturating_sub(times);
        if place.told > 0 {
            return;
        }
        table.by_number.remove(&number);
        if let Some(above) = &place.above {
            let name = (above.number, std::mem::take(&mut place.name));
            if table.by_name.get(&name).is_some_and(|named| Arc::ptr_eq(named, &inode)) {
                table.by_name.remove(&name);
            }
            place.name = name.1;
        }
    }

    /// The name is gone, with or without its file.
    pub fn unname(&self, above: u64, name: &[u8]) {
        let mut table = self.lock();
        if let Some(inode) = table.by_name.remove(&(above, name.to_vec())) {
            let mut place = inode.place();
            let same = place.above.as_ref().is_some_and(|folder| folder.number == above);
            if same && place.name == name {
                place.above = None;
            }
        }
    }

    /// A file has another name now; what had that before has none.
    pub fn rename(&self, from: (u64, &[u8]), to: (&Arc<Inode>, &[u8]), exchange: bool) {
        let (above, name) = to;
        let other = self.lock().by_name.get(&(above.number, name.to_vec())).cloned();
        let moved = self.lock().by_name.get(&(from.0, from.1.to_vec())).cloned();
        let was_in = moved.as_ref().and_then(|inode| inode.place().above.clone());
        self.unname(from.0, from.1);
        self.unname(above.number, name);
        if let Some(inode) = moved {
            self.rename_one(inode, above, name);
        }
        if exchange && let (Some(inode), Some(folder)) = (other, was_in) {
            self.rename_one(inode, &folder, from.1);
        }
    }

    fn rename_one(&self, inode: Arc<Inode>, above: &Arc<Inode>, name: &[u8]) {
        let mut table = self.lock();
        {
            let mut place = inode.place();
            place.above = Some(Arc::clone(above));
            place.name = name.to_vec();
        }
        table.by_name.insert((above.number, name.to_vec()), inode);
    }

    /// How many the kernel knows.
    pub fn count(&self) -> usize {
        self.lock().by_number.len()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(inode: u64) -> Attr {
        let zero = (0, 0);
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
        let (inodes, root) = (Inodes::default(), Inode::root(16, 0));
        inodes.keep(Arc::clone(&root));
        let one = inodes.tell(&root, b"a", &attr(5));
        let two = inodes.tell(&root, b"b", &attr(5));
        assert!(Arc::ptr_eq(&one, &two));
        assert_eq!(two.path().unwrap(), b"b");
        inodes.forget(one.number, 1);
        assert!(inodes.find(one.number).is_some());
        inodes.forget(one.number, 1);
        assert!(inodes.find(one.number).is_none());
        assert_eq!(inodes.tell(&root, b"a", &attr(5)).number, one.number, "the same as before");
        inodes.forget(16, 9);
        assert!(inodes.find(16).is_some(), "a node's root stays");
    }

    #[test]
    fn names_move_with_their_folders_and_are_lost_when_replaced() {
        let (inodes, root) = (Inodes::default(), Inode::root(16, 0));
        let folder = inodes.tell(&root, b"d", &attr(1));
        let file = inodes.tell(&folder, b"f", &attr(2));
        let other = inodes.tell(&root, b"o", &attr(3));
        assert_eq!(file.path().unwrap(), b"d/f");
        inodes.rename((16, b"d"), (&root, b"e"), false);
        assert_eq!(file.path().unwrap(), b"e/f");
        inodes.rename((folder.number, b"f"), (&root, b"o"), false);
        assert_eq!(file.path().unwrap(), b"o");
        assert_eq!(other.path(), None, "it was replaced");
        let third = inodes.tell(&root, b"t", &attr(4));
        inodes.rename((16, b"t"), (&root, b"o"), true);
        assert_eq!((third.path().unwrap(), file.path().unwrap()), (b"o".to_vec(), b"t".to_vec()));
        inodes.unname(16, b"o");
        assert_eq!(third.path(), None);
    }
}
