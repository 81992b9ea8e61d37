//! Reads a tree's stream from files that already exist at its destination.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use garland_core::tree::GOOD;

use super::index::{Body, Index, Stamp};
use super::making::Bodies;
use super::place::{Opener, Place};

/// A file of a stream that does not have its final name yet.
pub struct WrittenFile {
    /// Its record number.
    pub number: u32,
    /// The open file.
    pub file: Arc<File>,
    /// The number of bytes written so far.
    pub length: u64,
}

/// Reads the bytes of a stream's files. All files that it reads must be intact.
pub struct Reading<'a> {
    /// The records of the stream.
    pub index: &'a Index,
    /// The directories that the sources' top-level entries are in.
    pub places: &'a [Place],
    /// Opens the files.
    pub opener: Opener,
    /// The files that do not have their final names yet.
    pub written: &'a [WrittenFile],
    /// The record number of the last file that could not be read, if any.
    pub failed: Option<u32>,
}

impl<'a> Reading<'a> {
    /// Creates a reader of a stream whose files all have their final names.
    pub fn new(index: &'a Index, places: &'a [Place], opener: Opener) -> Self {
        Self { index, places, opener, written: &[], failed: None }
    }
}

impl Bodies for Reading<'_> {
    fn is_void(&mut self, _: Body) -> bool {
        false
    }

    fn read(&mut self, number: u32, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let there = self.written.iter().find(|file| file.number == number);
        let left = there.map_or(0, |there| there.length.saturating_sub(offset));
        let left = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let (grown, old) = bytes.split_at_mut(left);
        let grown = there.map_or(Ok(()), |there| read_with_hole(&there.file, offset, grown));
        let read = grown.and_then(|()| match old {
            [] => Ok(()),
            old => {
                let from = offset + left as u64;
                self.opener.read(self.places, self.index, number, from, old)
            }
        });
        read.inspect_err(|_| self.failed = Some(number))
    }

    fn mark(&mut self, _: u32, _: Stamp) -> u8 {
        GOOD
    }
}

/// Fills `bytes` from a partial file. Bytes beyond the end of the file are a hole, that is, zeros.
fn read_with_hole(file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], offset + done as u64)? {
            0 => break,
            got => done += got,
        }
    }
    bytes[done..].fill(0);
    Ok(())
}
