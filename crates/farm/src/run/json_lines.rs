//! Writes files of JSON lines.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;

/// Creates the file `path`, which only its user can read and write, with one line for each of
/// `items`. Returns the file.
///
/// # Errors
/// When the file cannot be written.
pub fn write<T: Serialize>(path: &Path, items: impl Iterator<Item = T>) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let mut file = BufWriter::new(file);
    for item in items {
        serde_json::to_writer(&mut file, &item)?;
        file.write_all(b"\n")?;
    }
    Ok(file.into_inner()?)
}
