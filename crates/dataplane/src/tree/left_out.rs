//! The parts of a tree that are not copied.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use garland_core::printable;
use garland_protocol::copy::{Absence, Absent};

/// A file or directory that is not copied, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The path, as the user would write it.
    pub path: PathBuf,
    /// Why it is not copied.
    pub reason: String,
    /// Whether it should have been copied. False for files of a kind that is never copied, such as
    /// sockets.
    pub failed: bool,
}

impl LeftOut {
    /// Returns a file that should be copied but cannot be.
    pub fn failed(path: &[u8], reason: String) -> Self {
        Self { path: PathBuf::from(OsStr::from_bytes(path)), reason, failed: true }
    }

    /// Returns a file that is not copied because it is of the kind `is`.
    pub fn skipped(path: &[u8], is: &str) -> Self {
        Self { path: PathBuf::from(OsStr::from_bytes(path)), reason: is.to_owned(), failed: false }
    }
}

/// Returns the report about the files `left_out`: the numbers of failed and of skipped files, and
/// all files, failed ones first.
pub fn sum_absence(left_out: &[LeftOut]) -> Absence {
    let missed = left_out.iter().filter(|left| left.failed);
    let skipped = left_out.iter().filter(|left| !left.failed);
    Absence {
        missed: missed.clone().count() as u64,
        skipped: skipped.clone().count() as u64,
        parts: missed.chain(skipped).map(Absent::from).collect(),
    }
}

impl From<&LeftOut> for Absent {
    fn from(left: &LeftOut) -> Self {
        let path = left.path.as_os_str().as_bytes().to_vec();
        Self { path, reason: left.reason.clone(), missed: left.failed }
    }
}

impl From<Absent> for LeftOut {
    fn from(absent: Absent) -> Self {
        let path = PathBuf::from(OsString::from_vec(absent.path));
        Self { path, reason: absent.reason, failed: absent.missed }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", printable::name(self.path.as_os_str().as_bytes()), self.reason)
    }
}
