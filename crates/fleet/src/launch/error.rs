//! Errors of starting agents.

use std::io;

use garland_lab::LabError;
use garland_sys::error::reason;
use garland_terminal::failure::Failure;
use thiserror::Error;

use super::resolve::Unresolved;

/// The reason why a node has no agent. Results contain its text as the node's reason.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LaunchError {
    /// The user interrupted the start, or the purpose of the start is over.
    #[error("interrupted")]
    Cancelled,
    /// A system call on this machine failed: the attempted action, the reason, and a hint, which
    /// may be empty.
    #[error("cannot {0}: {1}{2}")]
    System(String, String, &'static str),
    /// The launched process ended before its agent was ready: its last words, or its exit status.
    #[error("{0}")]
    Ended(String),
    /// The launched process printed nothing or read nothing for too long: the message up to the
    /// number, such as `its agent did not start within`, and the timeout in seconds.
    #[error("{0} {1} s")]
    Stalled(&'static str, u64),
    /// The node has not answered for longer than the others waited for it: for how long. Its login
    /// goes on.
    #[error("{0}")]
    Late(String),
    /// The name of the node cannot be resolved.
    #[error("{0}; set its `address` in the cluster file")]
    Unresolved(#[from] Unresolved),
    /// The launcher or the node cannot run this agent: the reason, with advice.
    #[error("{0}")]
    Refused(String),
}

impl From<&str> for LaunchError {
    fn from(why: &str) -> Self {
        Self::Refused(why.to_owned())
    }
}

impl From<LabError> for LaunchError {
    fn from(error: LabError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<Failure> for LaunchError {
    fn from(failure: Failure) -> Self {
        failure.message().into()
    }
}

/// Returns a function that adds the attempted action, such as `run ssh`, and a `hint`, such as
/// `; install it`, to a system error.
pub fn cannot(
    action: impl Into<String>,
    hint: &'static str,
) -> impl FnOnce(io::Error) -> LaunchError {
    move |error| LaunchError::System(action.into(), reason(&error), hint)
}
