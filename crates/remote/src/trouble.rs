//! Errors, which name the operation, the object, the reason, and what to do.

use std::fmt::Display;

use garland_core::printable;

/// An error that prevents reading a remote object. Its message is one line, whatever words of a
/// server are part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    message: String,
    hint: Option<String>,
    changed: bool,
    stale: bool,
}

impl Trouble {
    pub(crate) fn new(message: impl AsRef<str>) -> Self {
        let message = printable::line(message.as_ref());
        Self { message, hint: None, changed: false, stale: false }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Returns an error which says that the object `of` has changed since it was opened.
    pub(crate) fn changed(of: impl Display) -> Self {
        Self { changed: true, ..Self::new(format!("{of} changed while it was copied")) }
    }

    /// Returns an error which says that the caller no longer wants the object `of`.
    pub(crate) fn stale(of: impl Display) -> Self {
        Self { stale: true, ..Self::new(format!("stopped reading {of}: it is no longer needed")) }
    }

    /// Returns the error message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns what the user can do, if known.
    #[must_use]
    pub fn what_to_do(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns whether the error is that the object has changed.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.changed
    }

    /// Returns whether the error is only that the result is no longer wanted.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.stale
    }
}
