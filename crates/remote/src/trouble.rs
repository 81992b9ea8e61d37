//! What goes wrong, in words: the operation, the object, the reason, and what to do.

use std::fmt::Display;

/// Why something that is elsewhere can't be read.
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

    /// It is no longer what it was when it was opened.
    pub(crate) fn changed(of: impl Display) -> Self {
        Self { changed: true, ..Self::new(format!("{of} changed while it was copied")) }
    }

    /// Nobody wants it any more.
    pub(crate) fn stale(of: impl Display) -> Self {
        Self { stale: true, ..Self::new(format!("reading {of}: nobody waits for it any more")) }
    }

    /// What went wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it, if anybody knows.
    #[must_use]
    pub fn what_to_do(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Whether the object is no longer what it was.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.changed
    }

    /// Whether it only isn't waited for any more.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.stale
    }
}
