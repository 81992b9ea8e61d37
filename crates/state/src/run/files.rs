//! Reads files in the directories of runs.

use std::io;
use std::path::Path;

use garland_sys::regular_file;

/// The maximum length of a file of a run that is read at once. The result of a copy to 2,000 nodes
/// has a few MB, the longest trace 64 MiB.
const FILE_MAX: u64 = 256 << 20;

/// Reads a file in the directory of a run. The directory may be another user's, who may have put
/// anything there: a pipe would be waited for, and a device without an end fill the memory.
///
/// # Errors
/// When it cannot be read, is longer than any command writes, or is no regular file.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    regular_file::read(path, FILE_MAX)
}
