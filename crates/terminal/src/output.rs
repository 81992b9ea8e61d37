//! Writes to standard output and standard error. Control sequences, which may be in names or in
//! messages of nodes and ssh, are escaped here, in one place.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind, IsTerminal, Write};

use garland_core::printable;
use garland_sys::terminal;

use crate::failure::{Failure, OrFailure};
use crate::signs;
use crate::wrapped::wrapped;

/// Prints a line to standard output, like `println!`, but escapes control sequences and ignores
/// errors.
#[macro_export]
macro_rules! outln {
    ($($words:tt)*) => { $crate::output::say(format_args!("{}\n", format_args!($($words)*))) };
}

/// Prints a line to standard error, like `eprintln!`, but escapes control sequences and ignores
/// errors.
#[macro_export]
macro_rules! errln {
    ($($words:tt)*) => { $crate::output::warn(format_args!("{}\n", format_args!($($words)*))) };
}

/// Prints text to standard output, like `print!`, but ignores errors.
pub fn say(text: fmt::Arguments<'_>) {
    let _ = io::stdout().write_all(readable(&text.to_string()).as_bytes());
}

/// Prints text to standard error, like `eprint!`, but ignores errors. On a terminal, long lines are
/// wrapped.
pub fn warn(text: impl Display) {
    let _ = io::stderr().write_all(fitting(&text, terminal::size()).as_bytes());
}

/// Returns text for a terminal of this size, if it is one.
fn fitting(text: &dyn Display, size: Option<(u16, u16)>) -> String {
    let shown = printable::text(&text.to_string());
    let lines = match size {
        Some((columns, _)) => wrapped(&shown, usize::from(columns)),
        None => shown,
    };
    signs::fitting(&lines).into_owned()
}

/// Returns text for a person: control sequences are escaped, and the signs are those of the locale.
pub fn readable(text: &str) -> String {
    signs::fitting(&printable::text(text)).into_owned()
}

/// Prints a JSON object and a newline to standard error; ignores errors.
pub fn warn_json(json: &str) {
    let _ = io::stderr().write_all(format!("{}\n", printable::json(json)).as_bytes());
}

/// Prints `bytes` unchanged to standard output; they need not be text.
///
/// # Errors
/// See [`print`].
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    written(io::stdout().write_all(bytes))
}

/// Passes a command's output on to standard error or standard output; control sequences are escaped
/// only on a terminal. Returns false if the reader closed the pipe, since it needs no more output.
///
/// # Errors
/// When it cannot be written for another reason, such as a full disk.
pub fn pass_on(bytes: &[u8], is_error: bool) -> io::Result<bool> {
    let is_terminal =
        if is_error { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let shown = is_terminal.then(|| printable::bytes(bytes));
    let bytes = shown.as_ref().map_or(bytes, String::as_bytes);
    let written = match is_error {
        true => io::stderr().write_all(bytes),
        false => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
    };
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}

/// Prints `text` to standard output. A closed pipe (`garland cp .. | head -1`) is not an error: the
/// reader needs no more output. On a terminal, long lines are wrapped.
///
/// # Errors
/// When standard output cannot be written for another reason, such as a full disk.
pub fn print(text: impl Display) -> Result<(), Failure> {
    written(io::stdout().write_all(fitting(&text, terminal::output_size()).as_bytes()))
}

/// Prints a JSON object and a newline to standard output. Control characters in its strings become
/// JSON escapes, so the values stay exact.
///
/// # Errors
/// See [`print`].
pub fn print_json(json: &str) -> Result<(), Failure> {
    written(io::stdout().write_all(format!("{}\n", printable::json(json)).as_bytes()))
}

/// Flushes standard output, to which something was `written`, or why it was not. A closed pipe is
/// not an error.
///
/// # Errors
/// See [`print`].
pub fn written(written: io::Result<()>) -> Result<(), Failure> {
    match written.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.or_nothing("cannot write to standard output"),
    }
}
