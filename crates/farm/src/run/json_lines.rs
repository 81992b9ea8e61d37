//! Writes files of JSON lines.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;

/// Creates the file `path` with one line for each of `items`. Returns the file.
///
/// # Errors
/// When the file cannot be written.
pub fn write<T: Serialize>(path: &Path, items: impl Iterator<Item = T>) -> io::Result<File> {
    let mut file = BufWriter::new(File::create(path)?);
    for item in items {
        serde_json::to_writer(&mut file, &item)?;
        file.write_all(b"\n")?;
    }
    Ok(file.into_inner()?)
}
