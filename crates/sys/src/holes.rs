//! Finds the holes of sparse files (`SEEK_DATA` of lseek(2)).

use std::fs::File;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Returns whether a file has no data from `offset` to before `end`.
pub fn is_hole(file: &File, offset: u64, end: u64) -> bool {
    data_after(file, offset) >= end
}

/// Returns the offset of the first data of a file from `offset` on: the largest number if there is
/// none, and `offset` if the file system can't tell.
pub fn data_after(file: &File, offset: u64) -> u64 {
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => data,
        Err(Errno::NXIO) => u64::MAX,
        Err(_) => offset,
    }
}
