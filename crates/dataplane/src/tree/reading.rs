//! Reads a tree's stream from files that already exist at its destination.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use garland_core::tree::GOOD;

use super::index::{Body, Index, Stamp};
use super::making::Bodies;
use super::place::{Opener, Place};

/// Reads the bytes of a stream's files. All files that it reads must be intact.
pub struct Reading<'a> {
    /// The records of the stream.
    pub index: &'a Index,
    /// The directories that the sources' top-level entries are in.
    pub places: &'a [Place],
    /// Opens the files.
    pub opener: Opener,
    /// The file that is still being written under a hidden name, if any: its record number, the
    /// file, and the number of bytes written so far.
    pub partial: Option<(u32, &'a File, u64)>,
    /// The record number of the last file that could not be read, if any.
    pub failed: Option<u32>,
}

impl<'a> Reading<'a> {
    /// Creates a reader without a partial file: every file of the stream has its final name.
    pub fn new(index: &'a Index, places: &'a [Place], opener: Opener) -> Self {
        Self { index, places, opener, partial: None, failed: None }
    }
}

impl Bodies for Reading<'_> {
    fn is_void(&mut self, _: Body) -> bool {
        false
    }

    fn read(&mut self, number: u32, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let there = self.partial.filter(|(of, ..)| *of == number);
        let left = there.map_or(0, |(.., there)| there.saturating_sub(offset));
        let left = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let (grown, old) = bytes.split_at_mut(left);
        let grown = there.map_or(Ok(()), |(_, file, _)| read_with_hole(file, offset, grown));
        let read = grown.and_then(|()| match old {
            [] => Ok(()),
            old => {
                let file = self.opener.file(self.places, self.index, number)?;
                file.read_exact_at(old, offset + left as u64)
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
