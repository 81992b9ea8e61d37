//! Errors of orders.

use std::io;

use garland_dataplane::budget::Busy;
use garland_dataplane::source::SourceError;
use garland_dataplane::store::StoreError;
use garland_dataplane::tree::ScanError;
use garland_sys::error::reason;
use thiserror::Error;

/// The reason why an order of the head cannot be executed. Its text is sent to the head.
#[derive(Debug, Error)]
pub enum OrderError {
    /// A system call failed: the attempted action, and the error.
    #[error("cannot {0}: {reason}", reason = reason(.1))]
    System(String, io::Error),
    /// Other copies use the memory.
    #[error("its agent's memory is used by {} other copies", .0.copies)]
    Busy(Busy),
    /// A source cannot be opened or read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A destination cannot be opened or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A tree cannot be scanned.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// Any other reason.
    #[error("{0}")]
    Other(String),
}

impl From<String> for OrderError {
    fn from(reason: String) -> Self {
        Self::Other(reason)
    }
}

impl From<&str> for OrderError {
    fn from(reason: &str) -> Self {
        Self::Other(reason.to_owned())
    }
}

/// Returns a function that adds the attempted action, such as `open /x`, to a system error.
pub fn cannot(act: impl Into<String>) -> impl FnOnce(io::Error) -> OrderError {
    move |error| OrderError::System(act.into(), error)
}
