//! Errors of destinations.

use std::fmt;
use std::io;

use garland_sys::error::reason;
use thiserror::Error;

/// Why bytes cannot be put where they should go.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A system call on a path failed.
    #[error("{operation} {path}: {reason}")]
    Path {
        /// What was tried.
        operation: &'static str,
        /// The path.
        path: String,
        /// Why it failed.
        reason: String,
    },
    /// The file system has less space than the source has bytes.
    #[error("no space left on {path}: {needed} bytes needed, {free} free")]
    NoSpace {
        /// The directory.
        path: String,
        /// Bytes of the source.
        needed: u64,
        /// Bytes free for this user.
        free: u64,
    },
    /// A file without a name cannot be created.
    #[error("{0}")]
    Scratch(String),
    /// A command could not be started, or failed.
    #[error("{0}")]
    Command(String),
    /// Parts of a tree are missing; the rest is in place.
    #[error("{0}")]
    Incomplete(String),
}

impl StoreError {
    /// `operation` on `path` failed with a system error.
    pub(super) fn path(
        operation: &'static str,
        path: impl fmt::Display,
        error: &io::Error,
    ) -> Self {
        Self::refused(operation, path, reason(error))
    }

    /// `operation` on `path` is refused.
    pub(super) fn refused(
        operation: &'static str,
        path: impl fmt::Display,
        reason: impl Into<String>,
    ) -> Self {
        Self::Path { operation, path: path.to_string(), reason: reason.into() }
    }
}
