//! Errors of system calls in words.

use std::io;

/// An error's reason in words, without the system's number.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
