//! The exit codes of commands, and errors with hints for users.

use std::fmt;
use std::io;
use std::process::ExitCode;

use garland_sys::error::reason;

/// The exit codes of commands, on which scripts rely (docs/scripts.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All done.
    Done,
    /// Some nodes failed.
    SomeFailed,
    /// Wrong usage or configuration.
    Usage,
    /// Nothing done.
    Nothing,
    /// A check found a fault.
    Fault,
    /// Interrupted.
    Interrupted,
    /// The exit code of a program that was run for the user.
    Code(u8),
}

impl Exit {
    /// The number of the code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::SomeFailed => 1,
            Self::Usage => 2,
            Self::Nothing => 3,
            Self::Fault => 4,
            Self::Interrupted => 130,
            Self::Code(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error for the user: the exit code, a message, and hints.
#[derive(Clone, Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
    hints: Vec<String>,
}

impl Failure {
    /// Returns the failure of an invalid request.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string(), hints: Vec::new() }
    }

    /// Returns the failure of a command that did nothing.
    pub fn nothing(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Nothing, message: message.to_string(), hints: Vec::new() }
    }

    /// Returns the failure of a check that found a fault.
    pub fn fault(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Fault, message: message.to_string(), hints: Vec::new() }
    }

    /// Returns the failure of an `operation` that the user interrupted.
    pub fn interrupted(operation: impl fmt::Display) -> Self {
        let message = format!("{operation}: interrupted");
        Self { exit: Exit::Interrupted, message, hints: Vec::new() }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the exit code of the command.
    pub fn exit(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.message)?;
        self.hints.iter().try_for_each(|hint| writeln!(f, "hint: {hint}"))
    }
}

/// Converts errors to failures of an operation.
pub trait OrFailure<T> {
    /// Converts an error of `operation` to a failure with [`Exit::Nothing`], whose message begins
    /// with the operation.
    fn or_nothing(self, operation: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> OrFailure<T> for Result<T, E> {
    fn or_nothing(self, operation: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::nothing(format!("{operation}: {}", text_of(&error))))
    }
}

/// Returns an error's text; for a system error, in lower case and without its number.
fn text_of(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    let number = text.rsplit_once("(os error ").and_then(|(_, rest)| rest.strip_suffix(')'));
    let system = number.and_then(|n| n.parse().ok()).map(io::Error::from_raw_os_error);
    match system {
        Some(system) if system.to_string() == text => reason(&system),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_have_no_number() {
        let missing = io::Error::from_raw_os_error(2);
        assert_eq!(text_of(&missing), "no such file or directory");
        let own = "Reading X: No such file or directory (os error 2)";
        assert_eq!(text_of(&own), own);
    }
}
