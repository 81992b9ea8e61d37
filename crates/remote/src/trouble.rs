//! Errors in words: the operation, the object, the reason, and the remedy.

use std::fmt::Display;

/// Why a remote object can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    message: String,
    hint: Option<String>,
    changed: bool,
    stale: bool,
}

impl Trouble {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, changed: false, stale: false }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The object has changed since it was opened.
    pub(crate) fn changed(of: impl Display) -> Self {
        Self { changed: true, ..Self::new(format!("{of} changed while it was copied")) }
    }

    /// The object is no longer wanted.
    pub(crate) fn stale(of: impl Display) -> Self {
        Self { stale: true, ..Self::new(format!("reading {of}: nobody waits for it any more")) }
    }

    /// The error message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The remedy, if known.
    #[must_use]
    pub fn what_to_do(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Whether the object has changed.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.changed
    }

    /// Whether the object is only no longer wanted.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.stale
    }
}
