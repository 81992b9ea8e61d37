//! A broken rule and its location.

use std::fmt;

/// One broken rule: its location, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The file, relative to the repository.
    pub(crate) path: String,
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// The message: what is wrong, and what to do instead.
    pub(crate) why: String,
}

impl Finding {
    /// Returns a finding at `line` (from 1) of `path`.
    pub(crate) fn new(path: &str, line: usize, why: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, why: why.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.why)
    }
}
