//! The records of a tree, and the positions of records and files in the tree's stream.

use garland_core::tree::Record;
use rustix::fs::Stat;

/// The directory number in records of top-level entries, which are in no directory of the tree.
pub const TOP: u32 = u32::MAX;

/// All records of a stream, in order. Their indexes are the record numbers.
#[derive(Debug, Default)]
pub struct Index {
    entries: Vec<Entry>,
    /// The encoded records, one after another.
    records: Vec<u8>,
    length: u64,
}

/// The position of a record, and what follows it in the stream.
#[derive(Debug)]
struct Entry {
    /// The offset of the record in the stream, in bytes.
    at: u64,
    /// The offset of the record in `Index::records`, in bytes.
    record: u64,
    /// The record number of the directory that the record is in, or [`TOP`].
    folder: u32,
    body: Body,
}

/// What follows a record in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Nothing.
    None,
    /// The bytes of a file and an end mark. The file had this stamp when it was examined.
    File(Stamp),
    /// Nothing. The record is a hard link to the file of the record with this number, and is void
    /// if that file has failed.
    NameOf(u32),
}

/// Attributes of a file of which at least one differs after any change of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    length: u64,
    changed: i64,
    changed_nanos: u32,
}

impl Stamp {
    /// Returns the stamp of a file with the status `stat`. It includes the change time (ctime),
    /// which every change of the bytes updates and which cannot be set back.
    pub fn from_stat(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino,
            length: u64::try_from(stat.st_size).unwrap_or(0),
            changed: stat.st_ctime,
            changed_nanos: u32::try_from(stat.st_ctime_nsec).unwrap_or(u32::MAX),
        }
    }

    /// Returns the stamp of a file that was not examined: only its length is known.
    pub fn unseen(length: u64) -> Self {
        Self { inode: 0, length, changed: 0, changed_nanos: 0 }
    }

    /// Returns the stamp of the object `number` of a listing, which is a file of this length.
    pub fn of_object(number: u32, length: u64) -> Self {
        Self { inode: u64::from(number) + 1, length, changed: 0, changed_nanos: 0 }
    }

    /// Returns the number of the object whose stamp this is.
    pub fn object(&self) -> u32 {
        u32::try_from(self.inode - 1).unwrap_or(u32::MAX)
    }

    /// Returns whether the stamp may be a later one of the file that has `other`, with equal bytes.
    pub fn is_of_same_file(&self, other: &Self) -> bool {
        (self.inode, self.length) == (other.inode, other.length)
    }

    /// Returns whether the file was examined. If not, only the length in the stamp is known.
    pub fn is_seen(&self) -> bool {
        self.inode != 0
    }

    /// Returns the length of the file in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
}

/// The memory in bytes that the index needs for a record, not counting the encoded record.
pub const ENTRY: u64 = size_of::<Entry>() as u64;

impl Index {
    /// Returns an empty index with capacity for `records` records, which take `bytes` bytes
    /// together.
    pub fn with_room(records: usize, bytes: usize) -> Self {
        let entries = Vec::with_capacity(records);
        let records = Vec::with_capacity(bytes);
        Self { entries, records, length: 0 }
    }

    /// Sets the stamp of the file of record `number`, if the file has the length that the record
    /// says.
    pub fn see(&mut self, number: u32, stamp: Stamp) {
        if let Body::File(own) = &mut self.entries[number as usize].body
            && own.length == stamp.length
        {
            *own = stamp;
        }
    }

    /// Records that the file of record `number` is missing or differs.
    pub fn unsee(&mut self, number: u32) {
        if let Body::File(own) = &mut self.entries[number as usize].body {
            *own = Stamp::unseen(own.length);
        }
    }

    /// Returns the encoded records, one after another.
    pub fn records(&self) -> &[u8] {
        &self.records
    }

    /// Adds a record of an entry in the directory with the record number `folder`, or [`TOP`].
    /// Returns the number of the new record.
    pub fn push(&mut self, folder: u32, record: &Record, body: Body) -> u32 {
        self.push_bytes(folder, &record.to_bytes(), body)
    }

    /// Like [`Self::push`], but adds a record that is already encoded. Returns the number of the
    /// new record.
    pub fn push_bytes(&mut self, folder: u32, bytes: &[u8], body: Body) -> u32 {
        let at = self.length;
        let record = self.records.len() as u64;
        self.records.extend_from_slice(bytes);
        let behind = match body {
            Body::File(stamp) => stamp.length + 1,
            Body::None | Body::NameOf(_) => 0,
        };
        self.length += bytes.len() as u64 + behind;
        self.entries.push(Entry { at, record, folder, body });
        self.len() - 1
    }

    /// Returns the number of records.
    #[allow(clippy::len_without_is_empty)] // It would have no caller.
    pub fn len(&self) -> u32 {
        u32::try_from(self.entries.len()).unwrap_or(u32::MAX)
    }

    /// Releases unused capacity after the last record was added.
    pub fn close(&mut self) {
        self.entries.shrink_to_fit();
        self.records.shrink_to_fit();
    }

    /// Returns the length of the stream in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the number of the record to which the stream's offset `at` belongs: it lies in the
    /// encoded record, in the bytes of its file, or in the end mark.
    pub fn find(&self, at: u64) -> u32 {
        let after = self.entries.partition_point(|entry| entry.at <= at);
        u32::try_from(after.saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Returns the offsets in the stream at which record `number` and the next record begin.
    pub fn span(&self, number: u32) -> (u64, u64) {
        let end = self.entries.get(number as usize + 1).map_or(self.length, |next| next.at);
        (self.entries[number as usize].at, end)
    }

    /// Returns the encoded bytes of record `number`.
    pub fn bytes(&self, number: u32) -> &[u8] {
        let entry = &self.entries[number as usize];
        let next = self.entries.get(number as usize + 1);
        let end = next.map_or(self.records.len(), |next| next.record as usize);
        &self.records[entry.record as usize..end]
    }

    /// Returns what follows record `number`.
    pub fn body(&self, number: u32) -> Body {
        self.entries[number as usize].body
    }

    /// Returns the record number of the directory that record `number` is in; none for a top-level
    /// entry.
    pub fn folder(&self, number: u32) -> Option<u32> {
        Some(self.entries[number as usize].folder).filter(|folder| *folder != TOP)
    }
}

#[cfg(test)]
mod tests {
    use garland_core::tree::Meta;

    use super::*;

    #[test]
    fn every_byte_of_a_stream_belongs_to_a_record() {
        let mut index = Index::default();
        let stamp = Stamp { inode: 1, length: 5, changed: 0, changed_nanos: 0 };
        let name = b"f".to_vec();
        let meta = Meta::default();
        let file = Record::File { name, meta, length: 5, sparse: false, linked: false };
        let numbers = [
            index.push(
                TOP,
                &Record::Enter { name: b"d".to_vec(), meta: Meta::default() },
                Body::None,
            ),
            index.push(0, &file, Body::File(stamp)),
            index.push(TOP, &Record::Leave, Body::None),
        ];
        assert_eq!(numbers, [0, 1, 2]);
        let mut at = 0;
        for number in numbers {
            let (begin, end) = index.span(number);
            assert_eq!(begin, at);
            (begin..end).for_each(|byte| assert_eq!(index.find(byte), number));
            at = end;
        }
        assert_eq!(at, index.length());
        assert_eq!(index.bytes(2), Record::Leave.to_bytes());
        assert_eq!((index.folder(0), index.folder(1)), (None, Some(0)));
    }
}
