//! An incremental parser of tree streams. The steps do not depend on how the stream is cut into
//! pieces, except that the bytes of a file come in different pieces.

use thiserror::Error;

use super::record::{DEPTH_MAX, GOOD, HEADER, RECORD_MAX, Record, VOID};

/// The next step of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A valid record, which the caller applies.
    Record(Record),
    /// The name of a hard link that must not be created, since the linked file failed.
    Void(Vec<u8>),
    /// Bytes of the current file.
    Bytes(&'a [u8]),
    /// The end of the current file; `false` if its bytes are invalid.
    Over(bool),
}

/// The error for an invalid stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StreamError {
    /// A record cannot be decoded.
    #[error("a record cannot be decoded")]
    Record,
    /// A record is longer than [`RECORD_MAX`].
    #[error("a record has {0} bytes: the maximum is {RECORD_MAX}")]
    Long(u32),
    /// A name could lead out of the directory, or a record has other invalid values.
    #[error("a record has an invalid file name")]
    Name,
    /// Directories are nested more than [`DEPTH_MAX`] deep.
    #[error("there are more than {DEPTH_MAX} nested directories")]
    Deep,
    /// The number of `Leave` records does not match the number of `Enter` records.
    #[error("`Enter` and `Leave` records do not match")]
    Left,
    /// A validity byte has this value instead of 0 or 1.
    #[error("the validity byte is {0} instead of 0 or 1")]
    Mark(u8),
    /// Bytes follow the end of the stream.
    #[error("there are bytes after the end of the stream")]
    Behind,
}

/// A parser of one stream; it holds at most one record.
#[derive(Debug, Default)]
pub struct Parser {
    at: At,
    /// The beginning of an incomplete record.
    begun: Vec<u8>,
    depth: usize,
    /// The number of records so far, including void ones.
    records: u32,
}

#[derive(Clone, Copy, Debug, Default)]
enum At {
    #[default]
    Record,
    /// This number of bytes of the current file follows.
    File(u64),
    /// The validity byte of the current file follows.
    Mark,
    End,
}

impl Parser {
    /// Returns whether the end of the stream was read.
    pub fn is_over(&self) -> bool {
        matches!(self.at, At::End)
    }

    /// Returns the number of records so far, including void ones.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Returns the number of bytes of the current file that follow and can be skipped; `None` if
    /// there are none.
    pub fn passable(&self) -> Option<u64> {
        match self.at {
            At::File(left) if left > 0 => Some(left),
            _ => None,
        }
    }

    /// Skips up to `bytes` bytes of the current file.
    pub fn pass(&mut self, bytes: u64) {
        if let At::File(left) = &mut self.at {
            *left = left.saturating_sub(bytes);
        }
    }

    /// Removes the next step from the front of `bytes`; `None` if more bytes are needed.
    ///
    /// # Errors
    /// If the stream is invalid.
    pub fn step<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<Step<'a>>, StreamError> {
        loop {
            if bytes.is_empty() {
                return Ok(None);
            }
            match self.at {
                At::Record => {
                    let Some(step) = self.record(bytes)? else { continue };
                    return Ok(Some(step));
                }
                At::File(0) => self.at = At::Mark,
                At::File(left) => {
                    let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    let (part, rest) = bytes.split_at(taken);
                    *bytes = rest;
                    self.at = At::File(left - taken as u64);
                    return Ok(Some(Step::Bytes(part)));
                }
                At::Mark => {
                    let mark = bytes[0];
                    *bytes = &bytes[1..];
                    self.at = At::Record;
                    return match mark {
                        GOOD | VOID => Ok(Some(Step::Over(mark == GOOD))),
                        other => Err(StreamError::Mark(other)),
                    };
                }
                At::End => return Err(StreamError::Behind),
            }
        }
    }

    /// Returns the step of the next record; `None` if the record is not complete yet.
    fn record<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<Step<'a>>, StreamError> {
        if !self.gather(bytes, HEADER) {
            return Ok(None);
        }
        let length = u32::from_le_bytes([1, 2, 3, 4].map(|at| self.begun[at]));
        let whole = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(HEADER);
        if whole > RECORD_MAX {
            return Err(StreamError::Long(length));
        }
        if !self.gather(bytes, whole) {
            return Ok(None);
        }
        let (record, rest): (Record, _) =
            postcard::take_from_bytes(&self.begun[HEADER..]).map_err(|_| StreamError::Record)?;
        if !rest.is_empty() {
            return Err(StreamError::Record);
        }
        let mark = self.begun[0];
        self.begun.clear();
        self.records = self.records.saturating_add(1);
        if !record.is_sound() {
            return Err(StreamError::Name);
        }
        match (mark, record) {
            (GOOD, record) => {
                self.follow(&record)?;
                Ok(Some(Step::Record(record)))
            }
            (VOID, Record::Name { name, .. }) => Ok(Some(Step::Void(name))),
            (other, _) => Err(StreamError::Mark(other)),
        }
    }

    /// Moves bytes to the incomplete record until it has `wanted` bytes; returns whether it has.
    fn gather(&mut self, bytes: &mut &[u8], wanted: usize) -> bool {
        let lacking = wanted.saturating_sub(self.begun.len()).min(bytes.len());
        let (part, rest) = bytes.split_at(lacking);
        self.begun.extend_from_slice(part);
        *bytes = rest;
        self.begun.len() >= wanted
    }

    fn follow(&mut self, record: &Record) -> Result<(), StreamError> {
        match record {
            Record::Enter { .. } if self.depth == DEPTH_MAX => return Err(StreamError::Deep),
            Record::Enter { .. } => self.depth += 1,
            Record::Leave => self.depth = self.depth.checked_sub(1).ok_or(StreamError::Left)?,
            Record::File { length, .. } => self.at = At::File(*length),
            Record::End if self.depth > 0 => return Err(StreamError::Left),
            Record::End => self.at = At::End,
            Record::Top(_) | Record::Link { .. } | Record::Name { .. } => {}
            Record::Spare(_) | Record::Sweep | Record::Kept { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::record::Meta;
    use super::*;

    fn file(name: &[u8], length: u64) -> Record {
        let name = name.to_vec();
        let meta = Meta::default();
        Record::File { name, meta, length, sparse: false, linked: false }
    }

    fn enter(name: &[u8]) -> Record {
        Record::Enter { name: name.to_vec(), meta: Meta::default() }
    }

    /// Returns the steps of `stream`, cut into pieces of `piece` bytes; adjacent bytes of a file
    /// are joined.
    fn steps(stream: &[u8], piece: usize) -> Result<Vec<String>, StreamError> {
        let mut parser = Parser::default();
        let mut said = Vec::new();
        let mut gathered = Vec::new();
        for mut bytes in stream.chunks(piece) {
            while let Some(step) = parser.step(&mut bytes)? {
                if let Step::Bytes(part) = step {
                    gathered.extend_from_slice(part);
                    continue;
                }
                if !gathered.is_empty() {
                    said.push(format!("{:?}", std::mem::take(&mut gathered)));
                }
                said.push(format!("{step:?}"));
            }
        }
        assert!(parser.is_over(), "there is no end");
        Ok(said)
    }

    #[test]
    fn a_stream_says_the_same_in_pieces_of_any_size() {
        let name = Record::Name { name: b"h".to_vec(), first: vec![b"d".to_vec(), b"f".to_vec()] };
        let mut void = name.to_bytes();
        void[0] = VOID;
        let stream = [
            enter(b"d").to_bytes(),
            file(b"f", 3).to_bytes(),
            vec![7, 8, 9, GOOD],
            file(b"empty \xff", 0).to_bytes(),
            vec![VOID],
            Record::Leave.to_bytes(),
            name.to_bytes(),
            void,
            Record::End.to_bytes(),
        ]
        .concat();
        let whole = steps(&stream, stream.len()).unwrap();
        assert_eq!(whole.len(), 10, "{whole:?}");
        assert_eq!((whole[2].as_str(), whole[3].as_str()), ("[7, 8, 9]", "Over(true)"));
        for piece in 1..stream.len() {
            assert_eq!(steps(&stream, piece).unwrap(), whole, "{piece}");
        }
    }

    #[test]
    fn bytes_of_files_can_be_passed_over() {
        let stream = [file(b"f", 5).to_bytes(), vec![1, 2, 3, 4, 5, GOOD], Record::End.to_bytes()];
        let stream = stream.concat();
        let record = stream.len() - 6 - Record::End.to_bytes().len();
        let mut parser = Parser::default();
        assert!(parser.passable().is_none());
        let mut bytes = &stream[..record + 2];
        assert!(matches!(parser.step(&mut bytes), Ok(Some(Step::Record(_)))));
        assert_eq!(parser.step(&mut bytes), Ok(Some(Step::Bytes(&[1, 2]))));
        assert_eq!((parser.passable(), parser.records()), (Some(3), 1));
        parser.pass(3);
        assert!(parser.passable().is_none());
        let mut bytes = &stream[record + 5..];
        assert_eq!(parser.step(&mut bytes), Ok(Some(Step::Over(true))));
        assert_eq!(parser.step(&mut bytes), Ok(Some(Step::Record(Record::End))));
        assert!(parser.is_over() && parser.records() == 2);
    }

    #[test]
    fn names_that_lead_away_are_refused() {
        for name in [&b"."[..], b"..", b"a/b", b"/", b"", b"a\0", &[b'n'; 256]] {
            assert_eq!(steps(&enter(name).to_bytes(), 64), Err(StreamError::Name), "{name:?}");
        }
        let first = vec![b"..".to_vec()];
        let name = Record::Name { name: b"x".to_vec(), first };
        assert_eq!(steps(&name.to_bytes(), 64), Err(StreamError::Name));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(steps(&Record::Leave.to_bytes(), 64), Err(StreamError::Left));
        assert_eq!(steps(&[0, 255, 255, 255, 255, 0], 64), Err(StreamError::Long(u32::MAX)));
        let deep = enter(b"d").to_bytes().repeat(DEPTH_MAX + 1);
        assert_eq!(steps(&deep, 64), Err(StreamError::Deep));
        let behind = [Record::End.to_bytes(), vec![0]].concat();
        assert_eq!(steps(&behind, 64), Err(StreamError::Behind));
        let open = [enter(b"d"), Record::End].map(|record| record.to_bytes()).concat();
        assert_eq!(steps(&open, 64), Err(StreamError::Left));
        let mut void = Record::End.to_bytes();
        void[0] = VOID;
        assert_eq!(steps(&void, 64), Err(StreamError::Mark(VOID)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(stream in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut parser = Parser::default();
            for mut bytes in stream.chunks(7) {
                while let Ok(Some(_)) = parser.step(&mut bytes) {}
            }
        }
    }
}
