//! Errors of meetings.

use std::io;

use garland_transport::break_reason;
use thiserror::Error;

use super::SILENCE;
use crate::error::OrderError;

/// The reason why a meeting failed. Its text is sent to the head.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// The connection to the other agent broke, or the agent was silent for too long.
    #[error("{reason}", reason = lost(.0))]
    Lost(#[from] io::Error),
    /// The head ended the meeting, or its time is over.
    #[error("the meeting was ended, or exceeded its time limit")]
    Over,
    /// Any other reason.
    #[error(transparent)]
    Order(#[from] OrderError),
}

impl From<String> for ProbeError {
    fn from(reason: String) -> Self {
        Self::Order(reason.into())
    }
}

impl From<&str> for ProbeError {
    fn from(reason: &str) -> Self {
        Self::Order(reason.into())
    }
}

fn lost(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("timed out after {SILENCE:?} waiting for the other agent")
        }
        _ => format!("lost the connection to the other agent: {}", break_reason(error)),
    }
}
