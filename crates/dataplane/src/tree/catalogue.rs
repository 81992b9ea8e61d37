//! The catalogue of a tree: the tree's records. A node compares them with its own files to
//! determine which parts of the tree it already has.

use std::collections::HashSet;

use garland_core::tree::{GOOD, Parser, Record, Step};
use garland_protocol::copy::{CATALOGUE_MAX, TreeOutline};

use super::index::{Body, ENTRY, Index, Stamp, TOP};
use super::place::name_of;

/// The compression level of Zstandard: names and numbers compress well at any level.
const LEVEL: i32 = 1;

/// Returns the outline that is sent before the catalogue. Returns none if two top-level entries
/// have the same name: an existing file could belong to either of them.
pub fn outline(index: &Index) -> Option<TreeOutline> {
    let mut seen = HashSet::new();
    let mut names = Vec::new();
    for number in (0..index.len()).filter(|number| index.folder(*number).is_none()) {
        let name = name_of(index, number);
        if name.is_empty() {
            continue;
        }
        if names.len() < TreeOutline::NAMES_MAX {
            names.push(name.clone());
        }
        if !seen.insert(name) {
            return None;
        }
    }
    Some(TreeOutline { bytes: index.records().len() as u64, records: index.len(), names })
}

/// Returns the catalogue of a tree as it is sent to nodes: its records in parcels, in order, each
/// compressed separately. Returns none if they cannot be compressed.
pub fn catalogue(index: &Index) -> Option<Vec<Vec<u8>>> {
    let parcels = index.records().chunks(CATALOGUE_MAX);
    parcels.map(|parcel| zstd::bulk::compress(parcel, LEVEL).ok()).collect()
}

/// Returns the records of a parcel; none if it is invalid.
pub fn unpack(parcel: &[u8]) -> Option<Vec<u8>> {
    zstd::bulk::decompress(parcel, CATALOGUE_MAX).ok()
}

/// The part of a catalogue that has been received.
pub struct Gathered {
    outline: TreeOutline,
    records: Vec<u8>,
}

impl Gathered {
    /// Returns the memory in bytes that it takes to receive the catalogue and to build its index.
    pub fn memory(outline: &TreeOutline) -> u64 {
        let records = u64::from(outline.records).saturating_mul(ENTRY);
        // While it is built the records exist twice.
        outline.bytes.saturating_mul(2).saturating_add(records)
    }

    /// Returns a catalogue with this outline, of which nothing has been received.
    pub fn new(outline: &TreeOutline) -> Self {
        Self { outline: outline.clone(), records: Vec::new() }
    }

    /// Adds a compressed parcel. Returns false if it is invalid, or exceeds the announced size.
    pub fn take(&mut self, parcel: &[u8]) -> bool {
        let Some(bytes) = unpack(parcel) else { return false };
        let fits = (self.records.len() + bytes.len()) as u64 <= self.outline.bytes;
        if fits {
            self.records.extend(bytes);
        }
        fits
    }

    /// Returns the index of a stream of `length` bytes. Its files are marked as not examined yet.
    /// Returns none if the catalogue is invalid.
    pub fn index(self, length: u64) -> Option<Index> {
        let Self { outline, records } = self;
        if records.len() as u64 != outline.bytes {
            return None;
        }
        let mut index = Index::with_room(outline.records as usize, records.len());
        let mut parser = Parser::default();
        let mut folders = Vec::new();
        let mut rest = &records[..];
        while !rest.is_empty() && index.len() < outline.records {
            let before = rest;
            let Ok(Some(Step::Record(record))) = parser.step(&mut rest) else { return None };
            let bytes = &before[..before.len() - rest.len()];
            let folder = folders.last().copied().unwrap_or(TOP);
            match record {
                Record::Enter { .. } => folders.push(index.push_bytes(folder, bytes, Body::None)),
                Record::Leave => {
                    folders.pop();
                    let folder = folders.last().copied().unwrap_or(TOP);
                    index.push_bytes(folder, bytes, Body::None);
                }
                Record::File { length, .. } => {
                    index.push_bytes(folder, bytes, Body::File(Stamp::unseen(length)));
                    parser.pass(length);
                    if !matches!(parser.step(&mut &[GOOD][..]), Ok(Some(Step::Over(_)))) {
                        return None;
                    }
                }
                _ => {
                    index.push_bytes(folder, bytes, Body::None);
                }
            }
        }
        let whole = rest.is_empty() && parser.is_over() && index.length() == length;
        whole.then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use garland_core::tree::Meta;

    use super::*;

    fn file(name: &[u8], length: u64) -> (Record, Body) {
        let name = name.to_vec();
        let meta = Meta::default();
        let record = Record::File { name, meta, length, sparse: false, linked: false };
        (record, Body::File(Stamp::unseen(length)))
    }

    fn index_of_tree() -> Index {
        let mut index = Index::default();
        let enter = Record::Enter { name: b"d".to_vec(), meta: Meta::default() };
        let folder = index.push(TOP, &enter, Body::None);
        let (record, body) = file(b"f", 5_000_000_000);
        index.push(folder, &record, body);
        index.push(TOP, &Record::Leave, Body::None);
        for number in 0..5_000 {
            let (record, body) = file(format!("file {number}").as_bytes(), number % 3);
            index.push(TOP, &record, body);
        }
        index.push(TOP, &Record::End, Body::None);
        index
    }

    #[test]
    fn a_catalogue_becomes_the_index_that_it_was_made_of() {
        let index = index_of_tree();
        let parcels = catalogue(&index).unwrap();
        let told = outline(&index).unwrap();
        assert_eq!(told.names.len(), TreeOutline::NAMES_MAX);
        let bytes = parcels.iter().map(|parcel| parcel.len() as u64).sum::<u64>();
        assert!(parcels.len() > 1 && bytes < told.bytes / 3);
        let mut gathered = Gathered::new(&told);
        assert!(parcels.iter().all(|parcel| gathered.take(parcel)));
        let own = gathered.index(index.length()).unwrap();
        assert_eq!((own.len(), own.length()), (index.len(), index.length()));
        for number in 0..own.len() {
            assert_eq!(own.span(number), index.span(number));
            assert_eq!(own.folder(number), index.folder(number), "{number}");
            assert_eq!(own.bytes(number), index.bytes(number));
        }
    }

    #[test]
    fn an_invalid_catalogue_has_no_index() {
        let index = index_of_tree();
        let parcels = catalogue(&index).unwrap();
        let gathered = |outline: &TreeOutline| {
            let mut gathered = Gathered::new(outline);
            let all = parcels.iter().all(|parcel| gathered.take(parcel));
            all.then(|| gathered.index(index.length())).flatten()
        };
        let told = outline(&index).unwrap();
        assert!(gathered(&told).is_some());
        let shorter = TreeOutline { bytes: told.bytes - 1, ..told.clone() };
        assert!(gathered(&shorter).is_none());
        let fewer = TreeOutline { records: 7, ..told.clone() };
        assert!(gathered(&fewer).is_none());
        assert!(!Gathered::new(&told).take(b"nothing that was packed"));
    }

    #[test]
    fn changed_records_do_not_panic() {
        let index = index_of_tree();
        let told = outline(&index).unwrap();
        let records = index.records();
        for at in (0..2_000).step_by(7) {
            let mut changed = records.to_vec();
            changed[at] = changed[at].wrapping_add(1 + (at % 200) as u8);
            let mut gathered = Gathered::new(&told);
            for parcel in changed.chunks(CATALOGUE_MAX) {
                assert!(gathered.take(&zstd::bulk::compress(parcel, LEVEL).unwrap()));
            }
            // The result is another tree, or none.
            let length = gathered.index(index.length()).map_or(index.length(), |it| it.length());
            assert_eq!(length, index.length());
        }
    }

    #[test]
    fn a_tree_with_a_repeated_name_has_no_outline() {
        let mut index = index_of_tree();
        let (record, body) = file(b"d", 1);
        index.push(TOP, &record, body);
        assert!(outline(&index).is_none());
    }
}
