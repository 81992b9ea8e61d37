//! Errors of destinations.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

use garland_sys::error::{reason, reason_in};
use thiserror::Error;

/// Why a destination cannot be opened, written or committed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// An operation on a path failed or is refused.
    #[error("cannot {operation} {path}: {reason}")]
    Path {
        /// The operation that failed, as an infinitive.
        operation: &'static str,
        /// The path, or another name of the destination.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The file system has less free space than the copy needs.
    #[error("no space left on {path}: {needed} bytes needed, {free} free")]
    NoSpace {
        /// The directory of the destination.
        path: String,
        /// The number of bytes needed.
        needed: u64,
        /// The number of bytes that are free for this user.
        free: u64,
    },
    /// Any other error, such as wrong content of the destination or a command that failed; the
    /// message.
    #[error("{0}")]
    Failed(String),
}

impl StoreError {
    /// Returns the error for an `operation` on `path` that failed with the system error `error`.
    pub(crate) fn path(
        operation: &'static str,
        path: impl fmt::Display,
        error: &io::Error,
    ) -> Self {
        Self::refused(operation, path, reason(error))
    }

    /// Returns the error for an `operation` on `path` that failed with the system error `error` on
    /// the file system of the directory `folder`.
    pub(crate) fn path_in(
        folder: &OwnedFd,
        operation: &'static str,
        path: impl fmt::Display,
        error: &io::Error,
    ) -> Self {
        Self::refused(operation, path, reason_in(folder, error))
    }

    /// Returns the error for an `operation` on `path` that is refused for `reason`.
    pub(super) fn refused(
        operation: &'static str,
        path: impl fmt::Display,
        reason: impl Into<String>,
    ) -> Self {
        Self::Path { operation, path: path.to_string(), reason: reason.into() }
    }
}
