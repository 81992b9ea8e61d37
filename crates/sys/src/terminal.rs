//! The terminal of the standard streams: its size, and single key presses.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::stdio;
use rustix::termios::{
    OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr,
};

/// The columns and rows of a terminal that does not report its size.
const USUAL: (u16, u16) = (80, 24);

/// Returns the columns and rows of the terminal of standard error; `None` if it is not a terminal.
#[must_use]
pub fn size() -> Option<(u16, u16)> {
    size_of(io::stderr().as_fd())
}

/// Returns the columns and rows of the terminal of standard output; `None` if it is not a terminal.
#[must_use]
pub fn output_size() -> Option<(u16, u16)> {
    size_of(io::stdout().as_fd())
}

/// Returns standard input if it is a terminal.
#[must_use]
pub fn input() -> Option<BorrowedFd<'static>> {
    let input = stdio::stdin();
    isatty(input).then_some(input)
}

fn size_of(fd: BorrowedFd<'_>) -> Option<(u16, u16)> {
    if !isatty(fd) {
        return None;
    }
    let size = tcgetwinsize(fd).map_or(USUAL, |size| (size.ws_col, size.ws_row));
    Some(if size.0 == 0 || size.1 == 0 { USUAL } else { size })
}

/// The terminal of standard input in raw mode: each key is delivered at once, including Ctrl-C, and
/// not echoed. Dropping this value restores the terminal.
#[derive(Debug)]
pub struct Keys {
    before: Termios,
}

impl Keys {
    /// Puts the terminal into raw mode; returns `None` if standard input is not a terminal.
    ///
    /// # Errors
    /// When the terminal refuses.
    pub fn take() -> io::Result<Option<Self>> {
        let input = stdio::stdin();
        if !isatty(input) {
            return Ok(None);
        }
        let before = tcgetattr(input)?;
        let mut raw = before.clone();
        raw.make_raw();
        // Reads return at once.
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(input, OptionalActions::Now, &raw)?;
        Ok(Some(Self { before }))
    }

    /// Reads the codes of the pressed keys into `into`, without waiting. Returns the number of
    /// bytes; 0 if no key was pressed.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(stdio::stdin(), into)?)
    }

    /// Restores the original mode of the terminal.
    pub fn give_back(&self) {
        // A terminal that is gone need not be restored.
        let _ = tcsetattr(stdio::stdin(), OptionalActions::Now, &self.before);
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.give_back();
    }
}
