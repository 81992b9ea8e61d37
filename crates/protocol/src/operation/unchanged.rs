//! The entries of a tree that are unchanged on all nodes.

use garland_core::index_set::IndexSet;

use crate::copy::{SURPLUS_MAX, path_memory};

/// The maximum memory that the paths of all nodes together take, in bytes. Nodes have equal shares,
/// so that none crowds out the others.
const SURPLUS_ALL_MAX: usize = 256 << 20;

/// The memory that the paths of one node may always take, in bytes.
const SURPLUS_MIN: usize = 64 << 10;

/// Collects the records that nodes report as unchanged, and keeps those that all of them report.
pub(super) struct Unchanged {
    all: IndexSet,
    /// The length of a bitmap in bytes.
    length: usize,
    /// The number of bytes of each node's bitmap that were received.
    received: Vec<usize>,
    /// Whether a node has reported its whole bitmap.
    any: bool,
    /// What the copy changes on each node, if all nodes are to tell it; otherwise empty.
    each: Vec<NodeChanges>,
    /// The memory that the paths of each node take, in bytes, as [`path_memory`] counts it.
    surplus_bytes: Vec<usize>,
}

/// What a copy of a tree changes on a node.
#[derive(Clone, Debug)]
pub struct NodeChanges {
    /// The records whose entries are unchanged on the node.
    pub unchanged: IndexSet,
    /// What is removed: paths relative to the destination, those of directories with a slash at the
    /// end.
    pub surplus: Vec<Vec<u8>>,
    /// The number of further paths that are removed.
    pub unnamed: u64,
}

impl Unchanged {
    /// Creates the collection for a tree of `records` records on `count` nodes. `named` tells
    /// whether what changes on each node is collected, too.
    pub fn new(records: u32, count: usize, named: bool) -> Self {
        let all = IndexSet::full(records.into());
        let node = || NodeChanges { unchanged: all.clone(), surplus: Vec::new(), unnamed: 0 };
        let each = if named { vec![node(); count] } else { Vec::new() };
        let length = usize::try_from(records.div_ceil(8)).unwrap_or(usize::MAX);
        let surplus_bytes = vec![0; each.len()];
        Self { all, length, received: vec![0; count], any: false, each, surplus_bytes }
    }

    /// Adds a piece of a node's bitmap, and whether more follow. Returns whether the piece has
    /// bytes of the bitmap.
    pub fn take(&mut self, node: usize, piece: &[u8], more: bool) -> bool {
        let is_new = !piece.is_empty() && self.received[node] < self.length;
        let received = &mut self.received[node];
        let own = self.each.get_mut(node).map(|node| &mut node.unchanged);
        for set in [&mut self.all].into_iter().chain(own) {
            set.intersect(*received, piece);
            if !more {
                set.clear_from(*received + piece.len());
            }
        }
        *received = received.saturating_add(piece.len());
        self.any |= !more;
        is_new
    }

    /// Adds paths that the copy removes on a node, and the number of further ones. Paths that have
    /// no room are counted. Returns whether there was room for any.
    pub fn take_surplus(&mut self, node: usize, paths: Vec<Vec<u8>>, unnamed: u64) -> bool {
        let room = surplus_share(self.each.len());
        let Some(changes) = self.each.get_mut(node) else { return false };
        let listed = changes.surplus.len();
        changes.unnamed = changes.unnamed.saturating_add(unnamed);
        for path in paths {
            let bytes = self.surplus_bytes[node] + path_memory(&path);
            if bytes > room {
                changes.unnamed = changes.unnamed.saturating_add(1);
                continue;
            }
            self.surplus_bytes[node] = bytes;
            changes.surplus.push(path);
        }
        changes.surplus.len() > listed
    }

    /// Records that a node reports nothing as unchanged.
    pub fn fail(&mut self, node: usize) {
        self.all.clear_from(0);
        self.each.get_mut(node).into_iter().for_each(|node| node.unchanged.clear_from(0));
    }

    /// Returns whether the nodes that have not reported need not do so: the others have no
    /// unchanged entry in common, and what changes on each node is not collected.
    pub fn is_vain(&self) -> bool {
        self.each.is_empty() && self.all.is_empty()
    }

    /// Returns whether what changes on each node is collected.
    pub fn is_named(&self) -> bool {
        !self.each.is_empty()
    }

    /// Removes and returns what changes on each node, if it was collected.
    pub fn take_changes(&mut self) -> Option<Vec<NodeChanges>> {
        self.is_named().then(|| std::mem::take(&mut self.each))
    }

    /// Returns the records that are unchanged on all nodes; `None` if there are none.
    pub fn into_set(self) -> Option<IndexSet> {
        Some(self.all).filter(|all| self.any && !all.is_empty())
    }
}

/// Returns the memory that the paths of each of `nodes` nodes may take, in bytes.
fn surplus_share(nodes: usize) -> usize {
    (SURPLUS_ALL_MAX / nodes.max(1)).clamp(SURPLUS_MIN, SURPLUS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_that_ends_early_says_nothing_of_the_rest() {
        let mut unchanged = Unchanged::new(20, 2, false);
        unchanged.take(0, &[255], true);
        unchanged.take(1, &[0b101, 255, 255], false);
        assert!(!unchanged.is_vain());
        unchanged.take(0, &[1], false);
        let set = unchanged.into_set().unwrap();
        assert!((0..20).filter(|number| set.contains(*number)).eq([0, 2, 8]));
        let mut unchanged = Unchanged::new(20, 2, false);
        unchanged.take(0, &[255, 255, 255], false);
        unchanged.fail(1);
        assert!(unchanged.is_vain() && unchanged.into_set().is_none());
        let none = Unchanged::new(20, 1, false);
        assert!(none.into_set().is_none(), "no node has reported anything");
    }

    #[test]
    fn what_changes_on_each_node_is_collected_if_it_is_named() {
        let mut unchanged = Unchanged::new(9, 3, true);
        unchanged.take(0, &[255], false);
        unchanged.take_surplus(1, vec![b"a".to_vec()], 2);
        unchanged.take(1, &[0b101, 255], false);
        unchanged.fail(2);
        assert!(!unchanged.is_vain() && unchanged.is_named());
        let changes = unchanged.take_changes().unwrap();
        let of = |node: &NodeChanges| {
            let unchanged = (0..9).filter(|number| node.unchanged.contains(*number)).collect();
            let unchanged: Vec<u64> = unchanged;
            (unchanged, node.surplus.len(), node.unnamed)
        };
        let of: Vec<_> = changes.iter().map(of).collect();
        let first = ((0..8).collect(), 0, 0);
        assert_eq!(of, [first, (vec![0, 2, 8], 1, 2), (Vec::new(), 0, 0)]);
    }

    #[test]
    fn a_node_that_names_long_paths_without_end_takes_its_share_only() {
        for nodes in [1, 300, 5000] {
            let mut unchanged = Unchanged::new(1, nodes, true);
            let taken = (0..1000_u64)
                .filter(|_| unchanged.take_surplus(0, vec![vec![b'x'; 60_000]], 1))
                .count();
            let changes = unchanged.take_changes().unwrap();
            let bytes: usize = changes[0].surplus.iter().map(Vec::len).sum();
            assert!(bytes <= surplus_share(nodes), "{nodes}: {bytes}");
            assert_eq!(changes[0].surplus.len(), taken, "{nodes}");
            assert_eq!(taken as u64 + changes[0].unnamed, 2000, "{nodes}");
        }
        assert_eq!(surplus_share(1), SURPLUS_MAX);
        assert!(4096 * surplus_share(4096) <= SURPLUS_ALL_MAX);
    }

    #[test]
    fn a_node_that_names_nothing_without_end_takes_its_share_only() {
        let mut unchanged = Unchanged::new(1, 1, true);
        for _ in 0..4 {
            unchanged.take_surplus(0, vec![Vec::new(); 60_000], 0);
        }
        let changes = unchanged.take_changes().unwrap();
        let memory = changes[0].surplus.len() * size_of::<Vec<u8>>();
        assert!(memory <= SURPLUS_MAX, "{memory}");
        assert_eq!(changes[0].surplus.len() as u64 + changes[0].unnamed, 240_000);
    }
}
