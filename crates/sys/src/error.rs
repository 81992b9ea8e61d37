//! Texts of system call errors.

use std::io;

/// Returns the text of an error without the trailing `(os error N)`, in lower case.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
