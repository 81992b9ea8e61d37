//! The terminal behind standard error.

use rustix::termios::{isatty, tcgetwinsize};

/// What a terminal has that doesn't know its size.
const USUAL: (u16, u16) = (80, 24);

/// Its columns and rows, at present; `None` when standard error is no terminal.
#[must_use]
pub fn size() -> Option<(u16, u16)> {
    let error = std::io::stderr();
    if !isatty(&error) {
        return None;
    }
    let size = tcgetwinsize(&error).map_or(USUAL, |size| (size.ws_col, size.ws_row));
    Some(if size.0 == 0 || size.1 == 0 { USUAL } else { size })
}
