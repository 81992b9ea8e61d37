//! The terminal behind standard error, and that behind standard input and output: its size, and its keys
//! one by one.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::termios::{
    OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr,
};

/// The columns and rows of a terminal that doesn't report its size.
const USUAL: (u16, u16) = (80, 24);

/// The columns and rows of standard error; `None` if it is no terminal.
#[must_use]
pub fn size() -> Option<(u16, u16)> {
    size_of(io::stderr().as_fd())
}

/// The columns and rows of standard output; `None` if it is no terminal.
#[must_use]
pub fn output_size() -> Option<(u16, u16)> {
    size_of(io::stdout().as_fd())
}

/// Standard input, if it is a terminal.
#[must_use]
pub fn input() -> Option<BorrowedFd<'static>> {
    let input = rustix::stdio::stdin();
    isatty(input).then_some(input)
}

fn size_of(fd: BorrowedFd<'_>) -> Option<(u16, u16)> {
    if !isatty(fd) {
        return None;
    }
    let size = tcgetwinsize(fd).map_or(USUAL, |size| (size.ws_col, size.ws_row));
    Some(if size.0 == 0 || size.1 == 0 { USUAL } else { size })
}

/// Standard input's terminal gives every key as it is pressed, Ctrl-C too, and shows none. Dropping this
/// makes it what it was.
#[derive(Debug)]
pub struct Keys {
    before: Termios,
}

impl Keys {
    /// Takes the keys; `None` when standard input is no terminal.
    ///
    /// # Errors
    /// When the terminal refuses.
    pub fn take() -> io::Result<Option<Self>> {
        let input = io::stdin();
        if !isatty(&input) {
            return Ok(None);
        }
        let before = tcgetattr(&input)?;
        let mut raw = before.clone();
        raw.make_raw();
        // Reading waits for nothing.
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&input, OptionalActions::Now, &raw)?;
        Ok(Some(Self { before }))
    }

    /// What has been pressed, as the terminal codes it; nothing yet is 0 bytes.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(io::stdin(), into)?)
    }

    /// Makes the terminal what it was.
    pub fn give_back(&self) {
        // One that is gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.give_back();
    }
}
