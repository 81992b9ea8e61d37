//! The entries of a tree that were not copied, in results.

use std::fmt;
use std::os::unix::ffi::OsStrExt;

use garland_core::printable;
use garland_dataplane::tree::LeftOut;
use garland_protocol::copy::Absent;
use serde::{Deserialize, Serialize};

use crate::path::PathResult;

/// The maximum number of entries of one list that a table shows.
pub const SHOWN_MAX: usize = 5;

/// An entry that was not copied, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutResult {
    #[serde(flatten)]
    path: PathResult,
    reason: String,
    /// Whether an error prevented the copy of the entry; if not, the entry was skipped by design.
    pub missed: bool,
}

impl LeftOutResult {
    fn new(path: &[u8], reason: &str, missed: bool) -> Self {
        Self { path: PathResult::new(path), reason: reason.to_owned(), missed }
    }
}

impl From<&LeftOut> for LeftOutResult {
    fn from(left: &LeftOut) -> Self {
        Self::new(left.path.as_os_str().as_bytes(), &left.reason, left.failed)
    }
}

impl From<&Absent> for LeftOutResult {
    fn from(absent: &Absent) -> Self {
        Self::new(&absent.path, &absent.reason, absent.missed)
    }
}

/// Prints path and reason on one line.
impl fmt::Display for LeftOutResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, printable::line(&self.reason))
    }
}
