//! What commands tell on standard output.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use crate::failure::{Failure, OrFailure};

/// Prints `bytes` as they are, which need be no text.
///
/// # Errors
/// As of [`print`].
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    told(output.write_all(bytes).and_then(|()| output.flush()))
}

/// Prints `text` as it is. A reader that is gone (`garland cp .. | head -1`) has read what it
/// wanted: the command's own work is done, and its exit code says how it went.
///
/// # Errors
/// When standard output can't be written for another reason: a disk is full.
pub fn print(text: impl Display) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    told(write!(output, "{text}").and_then(|()| output.flush()))
}

fn told(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.or_nothing("writing to standard output"),
    }
}
