//! How commands end: one table of exit codes, and errors that say what to do.

use std::fmt;
use std::io;
use std::process::ExitCode;

use garland_sys::error::reason;

/// The exit codes, a promise to scripts.
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
    /// What a program that was run for the user ended with.
    Code(u8),
}

impl Exit {
    /// Its number.
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

/// An error for the user: what went wrong, and what to try.
#[derive(Clone, Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
    hints: Vec<String>,
}

impl Failure {
    /// The user asked for something that can't be.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string(), hints: Vec::new() }
    }

    /// Nothing could be done.
    pub fn nothing(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Nothing, message: message.to_string(), hints: Vec::new() }
    }

    /// A check found a fault.
    pub fn fault(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Fault, message: message.to_string(), hints: Vec::new() }
    }

    /// The user gave up while this was done.
    pub fn interrupted(operation: impl fmt::Display) -> Self {
        let message = format!("{operation}: interrupted");
        Self { exit: Exit::Interrupted, message, hints: Vec::new() }
    }

    /// With a hint.
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// What went wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// How the command ends.
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

/// Gives an error its operation, and makes it one for the user.
pub trait OrFailure<T> {
    /// Nothing was done because `operation` failed.
    fn or_nothing(self, operation: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> OrFailure<T> for Result<T, E> {
    fn or_nothing(self, operation: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::nothing(format!("{operation}: {}", in_words(&error))))
    }
}

/// An error's text; the system's own without their number, and small as the middle of a sentence.
fn in_words(error: &impl fmt::Display) -> String {
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
    fn errors_of_the_system_are_told_in_words() {
        let missing = io::Error::from_raw_os_error(2);
        assert_eq!(in_words(&missing), "no such file or directory");
        let own = "Reading X: No such file or directory (os error 2)";
        assert_eq!(in_words(&own), own);
    }
}
