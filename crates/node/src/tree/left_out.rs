//! What of a tree isn't copied.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Something that stays behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path, as the user would write it.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
    /// Whether it should have been copied; sockets and devices shouldn't.
    pub failed: bool,
}

impl LeftOut {
    /// What can't be copied, though it should.
    pub fn failed(path: &[u8], reason: String) -> Self {
        Self { path: PathBuf::from(OsStr::from_bytes(path)), reason, failed: true }
    }

    /// What isn't for copying.
    pub fn skipped(path: &[u8], is: &str) -> Self {
        Self { path: PathBuf::from(OsStr::from_bytes(path)), reason: is.to_owned(), failed: false }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}
