//! The part of a tree that is left to be copied if nodes have the other entries already.

use garland_core::index_set::IndexSet;
use garland_core::tree::Record;

use super::index::{Body, Index, TOP};
use super::place::record_of;

/// What is left of a tree.
pub struct Remainder {
    /// The records that are left.
    pub index: Index,
    /// For each record of the whole tree, the number of records that are left of those before it.
    /// For a record that is left, this is its new number.
    pub numbers: Vec<u32>,
    /// The number of entries that are unchanged.
    pub unchanged: u64,
    /// Whether no entry is left.
    pub is_bare: bool,
}

impl Remainder {
    /// Leaves the entries of `unchanged` out of the tree `index`. Directories on the way to another
    /// entry stay, and so do records that belong to no entry. If nodes remove what is not in the
    /// tree, each unchanged entry becomes a [`Record::Kept`]. Returns none if a record is invalid.
    pub fn new(index: &Index, unchanged: &IndexSet) -> Option<Self> {
        let wanted = needed(index, unchanged);
        let sweeps = index.len() > 0 && matches!(record_of(index, 0)?, Record::Spare(_));
        let index_left = Index::default();
        let numbers = Vec::new();
        let mut left = Self { index: index_left, numbers, unchanged: 0, is_bare: true };
        // For each directory of the current path, whether it is left.
        let mut folders = Vec::new();
        for number in 0..index.len() {
            left.numbers.push(left.index.len());
            let record = record_of(index, number)?;
            let is_needed = wanted.contains(number.into());
            match &record {
                Record::Enter { .. } => {
                    folders.push(is_needed || sweeps);
                    if is_needed || sweeps {
                        left.push(index, number, Body::None);
                    }
                }
                Record::Leave => {
                    if folders.pop()? {
                        left.push(index, number, Body::None);
                    }
                }
                Record::File { .. } | Record::Link { .. } | Record::Name { .. } => {
                    let name = record.name().unwrap_or_default();
                    if is_needed {
                        left.push(index, number, left.body(index.body(number), &wanted));
                    } else if sweeps {
                        let kept = Record::Kept { name: name.to_vec() };
                        let folder = left.folder(index, number);
                        left.index.push(folder, &kept, Body::None);
                    }
                }
                _ => left.push(index, number, Body::None),
            }
            // A name that was kept already is no entry of the source.
            if record.name().is_some() && !matches!(record, Record::Kept { .. }) {
                left.unchanged += u64::from(unchanged.contains(number.into()));
                left.is_bare &= !is_needed;
            }
        }
        left.index.close();
        Some(left)
    }

    fn push(&mut self, index: &Index, number: u32, body: Body) {
        let folder = self.folder(index, number);
        self.index.push_bytes(folder, index.bytes(number), body);
    }

    /// Returns the new number of the directory that record `number` of `index` is in.
    fn folder(&self, index: &Index, number: u32) -> u32 {
        index.folder(number).map_or(TOP, |folder| self.numbers[folder as usize])
    }

    /// Returns what follows a record that is left, given what followed it in the whole tree. A hard
    /// link to a file that is left out cannot be void.
    fn body(&self, body: Body, needed: &IndexSet) -> Body {
        match body {
            Body::NameOf(first) if needed.contains(first.into()) => {
                Body::NameOf(self.numbers[first as usize])
            }
            Body::NameOf(_) => Body::None,
            body => body,
        }
    }
}

/// Returns the records that are not in `unchanged`, and the directories that they are in.
fn needed(index: &Index, unchanged: &IndexSet) -> IndexSet {
    let mut needed = IndexSet::new(index.len().into());
    // A directory comes before what is in it.
    for number in (0..index.len()).rev() {
        if needed.contains(number.into()) || !unchanged.contains(number.into()) {
            needed.insert(number.into());
            if let Some(folder) = index.folder(number) {
                needed.insert(folder.into());
            }
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use garland_core::tree::Meta;

    use super::super::index::Stamp;
    use super::*;

    fn enter(name: &str) -> Record {
        Record::Enter { name: name.into(), meta: Meta::default() }
    }

    fn file(name: &str) -> Record {
        let name = name.into();
        let meta = Meta::default();
        Record::File { name, meta, length: 7, sparse: false, linked: true }
    }

    /// A tree of two directories, with a file each, and a hard link to each file.
    fn tree_of(sweeps: bool) -> Index {
        let mut index = Index::default();
        if sweeps {
            index.push(TOP, &Record::Spare(Vec::new()), Body::None);
        }
        for (folder, name) in [("a", "x"), ("b", "y")] {
            let inside = index.push(TOP, &enter(folder), Body::None);
            let first = index.push(inside, &file(name), Body::File(Stamp::unseen(7)));
            let link = Record::Name { name: b"z".into(), first: vec![folder.into(), name.into()] };
            index.push(inside, &link, Body::NameOf(first));
            if sweeps {
                index.push(inside, &Record::Sweep, Body::None);
            }
            index.push(TOP, &Record::Leave, Body::None);
        }
        index.push(TOP, &Record::End, Body::None);
        index
    }

    /// All records but those with these names, or all if there are none.
    fn unchanged_but(index: &Index, names: &[&str]) -> IndexSet {
        let mut set = IndexSet::new(index.len().into());
        for number in 0..index.len() {
            let name = record_of(index, number).unwrap().name().unwrap_or_default().to_vec();
            if !names.iter().any(|it| it.as_bytes() == name) {
                set.insert(number.into());
            }
        }
        set
    }

    fn records(index: &Index) -> Vec<Record> {
        (0..index.len()).map(|number| record_of(index, number).unwrap()).collect()
    }

    #[test]
    fn only_what_is_needed_is_left_and_the_way_to_it() {
        let tree = tree_of(false);
        let left = Remainder::new(&tree, &unchanged_but(&tree, &["y"])).unwrap();
        assert_eq!(records(&left.index), [enter("b"), file("y"), Record::Leave, Record::End]);
        assert_eq!((left.unchanged, left.numbers[tree.len() as usize - 1]), (5, 3));
        assert_eq!((left.index.folder(1), left.index.folder(2)), (Some(0), None));
        assert_eq!(left.index.body(1), Body::File(Stamp::unseen(7)));
        // The links of a file that is left, and of one that is not.
        let left = Remainder::new(&tree, &unchanged_but(&tree, &["y", "z"])).unwrap();
        let bodies: Vec<Body> = (0..left.index.len()).map(|it| left.index.body(it)).collect();
        let of_links = bodies.iter().filter(|body| matches!(body, Body::NameOf(4)));
        assert_eq!((records(&left.index).len(), of_links.count()), (8, 1));
        let nothing = Remainder::new(&tree, &IndexSet::full(tree.len().into())).unwrap();
        assert_eq!((records(&nothing.index), nothing.is_bare), (vec![Record::End], true));
        let all = Remainder::new(&tree, &IndexSet::new(tree.len().into())).unwrap();
        assert_eq!((records(&all.index), all.unchanged), (records(&tree), 0));
        assert_eq!(all.index.length(), tree.length());
    }

    #[test]
    fn names_stay_where_others_are_removed() {
        let tree = tree_of(true);
        let left = Remainder::new(&tree, &unchanged_but(&tree, &["y"])).unwrap();
        let kept = |name: &str| Record::Kept { name: name.into() };
        let expected = [
            vec![Record::Spare(Vec::new())],
            vec![enter("a"), kept("x"), kept("z"), Record::Sweep, Record::Leave],
            vec![enter("b"), file("y"), kept("z"), Record::Sweep, Record::Leave],
            vec![Record::End],
        ];
        assert_eq!((records(&left.index), left.is_bare), (expected.concat(), false));
    }
}
