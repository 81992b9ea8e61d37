//! Errors of destinations.

use std::fmt;
use std::io;

use garland_sys::error::reason;
use thiserror::Error;

/// Why a destination cannot be opened, written or committed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A system call on a path failed.
    #[error("cannot {operation} {path}: {reason}")]
    Path {
        /// The operation that failed, as an infinitive.
        operation: &'static str,
        /// The path, or another name of the destination.
        path: String,
        /// Why it failed.
        reason: String,
    },
    /// The file system has less space than the source has bytes.
    #[error("no space left on {path}: {needed} bytes needed, {free} free")]
    NoSpace {
        /// The directory.
        path: String,
        /// The number of bytes needed.
        needed: u64,
        /// The number of bytes that are free for this user.
        free: u64,
    },
    /// The content of the destination is wrong, or the command failed; the text describes the
    /// error.
    #[error("{0}")]
    Failed(String),
}

impl StoreError {
    /// Returns the error that `operation` on `path` failed with a system error.
    pub(crate) fn path(
        operation: &'static str,
        path: impl fmt::Display,
        error: &io::Error,
    ) -> Self {
        Self::refused(operation, path, reason(error))
    }

    /// Returns the error that `operation` on `path` is refused.
    pub(super) fn refused(
        operation: &'static str,
        path: impl fmt::Display,
        reason: impl Into<String>,
    ) -> Self {
        Self::Path { operation, path: path.to_string(), reason: reason.into() }
    }
}
