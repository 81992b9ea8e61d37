//! The way of all text to the user: standard output and standard error. What comes from elsewhere (from
//! nodes, ssh, names) may hold what a terminal obeys; it is escaped here, in one place.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind, IsTerminal, Write};

use garland_core::printable;

use crate::failure::{Failure, OrFailure};

/// A line on standard output, as of `println!`.
#[macro_export]
macro_rules! outln {
    ($($words:tt)*) => { $crate::output::say(format_args!("{}\n", format_args!($($words)*))) };
}

/// A line on standard error, as of `eprintln!`.
#[macro_export]
macro_rules! errln {
    ($($words:tt)*) => { $crate::output::warn(format_args!("{}\n", format_args!($($words)*))) };
}

/// Text on standard output, as of `print!`; whoever doesn't read it any more needs none.
pub fn say(text: fmt::Arguments<'_>) {
    let _ = io::stdout().write_all(printable::text(&text.to_string()).as_bytes());
}

/// Text on standard error, as of `eprint!`; whoever doesn't read it any more needs none.
pub fn warn(text: impl Display) {
    let _ = io::stderr().write_all(printable::text(&text.to_string()).as_bytes());
}

/// A JSON object on standard error.
pub fn warn_json(json: &str) {
    let _ = io::stderr().write_all(format!("{}\n", printable::json(json)).as_bytes());
}

/// Prints `bytes` as they are, which need be no text.
///
/// # Errors
/// Those of [`print`].
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    written(io::stdout().write_all(bytes))
}

/// Prints what a command has said, on standard error or on standard output: as it is to a file or a
/// pipe, and as text to a terminal.
pub fn pass_on(bytes: &[u8], is_error: bool) {
    let is_terminal =
        if is_error { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let shown = is_terminal.then(|| printable::bytes(bytes));
    let bytes = shown.as_ref().map_or(bytes, String::as_bytes);
    // A reader that has gone away wants no more output.
    let _ = match is_error {
        true => io::stderr().write_all(bytes),
        false => io::stdout().write_all(bytes),
    };
}

/// Prints `text`. A reader that is gone (`garland cp .. | head -1`) has read what it wanted: the
/// command's own work is done, and its exit code says how it went.
///
/// # Errors
/// When standard output can't be written for another reason: a disk is full.
pub fn print(text: impl Display) -> Result<(), Failure> {
    written(io::stdout().write_all(printable::text(&text.to_string()).as_bytes()))
}

/// Prints a JSON object. Control characters in its strings are escaped, so that the values stay exact.
///
/// # Errors
/// Those of [`print`].
pub fn print_json(json: &str) -> Result<(), Failure> {
    written(io::stdout().write_all(format!("{}\n", printable::json(json)).as_bytes()))
}

fn written(written: io::Result<()>) -> Result<(), Failure> {
    match written.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.or_nothing("writing to standard output"),
    }
}
