//! Reading a tree's stream, a piece at a time: whatever the pieces are, the steps are the same.

use thiserror::Error;

use super::record::{DEPTH_MAX, GOOD, RECORD_MAX, Record, VOID};

/// What the next bytes of a stream say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// What is to be done.
    Record(Record),
    /// What isn't: another name, of a file that failed.
    Void(Vec<u8>),
    /// Bytes of the file that began last.
    Bytes(&'a [u8]),
    /// That file is over; whether its bytes are what it was.
    Over(bool),
}

/// Why bytes are no tree's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StreamError {
    /// There is no such record.
    #[error("a record that can't be read")]
    Record,
    /// It is longer than records are.
    #[error("a record of {0} bytes: allowed are {RECORD_MAX}")]
    Long(u32),
    /// A name that could lead out of the directory, or that no system has.
    #[error("a name that can't be")]
    Name,
    /// Folders within directories without end.
    #[error("more than {DEPTH_MAX} folders within each other")]
    Deep,
    /// A directory is left that wasn't entered.
    #[error("a folder is left that wasn't entered")]
    Left,
    /// A byte that says whether what is beside it is good says something else.
    #[error("a mark of {0}")]
    Mark(u8),
    /// There is more behind the end.
    #[error("bytes behind the end")]
    Behind,
}

/// The mark and the length before a record.
const BEFORE: usize = 5;

/// Reads a stream; keeps no more of it than one record.
#[derive(Debug, Default)]
pub struct Parser {
    at: At,
    /// The beginning of a record whose end hasn't come.
    begun: Vec<u8>,
    depth: usize,
    /// Records so far, those that weren't to be obeyed among them.
    records: u32,
}

#[derive(Clone, Copy, Debug, Default)]
enum At {
    #[default]
    Record,
    /// This number of bytes of a file follows.
    File(u64),
    /// The mark behind a file.
    Mark,
    End,
}

impl Parser {
    /// Whether the whole stream has been read.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.at, At::End)
    }

    /// How many records there were so far, those that weren't to be obeyed among them.
    #[must_use]
    pub fn records(&self) -> u32 {
        self.records
    }

    /// How many bytes of a file come next that can be passed over, if its bytes come next.
    #[must_use]
    pub fn passable(&self) -> Option<u64> {
        match self.at {
            At::File(left) if left > 0 => Some(left),
            _ => None,
        }
    }

    /// Skips bytes of a file, as far as there are any.
    pub fn pass(&mut self, bytes: u64) {
        if let At::File(left) = &mut self.at {
            *left = left.saturating_sub(bytes);
        }
    }

    /// Takes the next step off the front of `bytes`; `None` when more of them are needed.
    ///
    /// # Errors
    /// When they are no tree's stream.
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

    /// The record that the next bytes end; none if they don't.
    fn record<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<Step<'a>>, StreamError> {
        if !self.gather(bytes, BEFORE) {
            return Ok(None);
        }
        let length = u32::from_le_bytes([1, 2, 3, 4].map(|at| self.begun[at]));
        let whole = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(BEFORE);
        if whole > RECORD_MAX {
            return Err(StreamError::Long(length));
        }
        if !self.gather(bytes, whole) {
            return Ok(None);
        }
        let (record, rest): (Record, _) =
            postcard::take_from_bytes(&self.begun[BEFORE..]).map_err(|_| StreamError::Record)?;
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

    /// Moves bytes to the unfinished record until it has a length; returns whether it has.
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
            Record::Spare(_) | Record::Sweep => {}
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
        let (name, meta) = (name.to_vec(), Meta::default());
        Record::File { name, meta, length, sparse: false, linked: false }
    }

    fn enter(name: &[u8]) -> Record {
        Record::Enter { name: name.to_vec(), meta: Meta::default() }
    }

    /// The steps of `stream`, cut into pieces of `piece` bytes; bytes of a file are put together.
    fn steps(stream: &[u8], piece: usize) -> Result<Vec<String>, StreamError> {
        let mut parser = Parser::default();
        let (mut said, mut gathered) = (Vec::new(), Vec::new());
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
