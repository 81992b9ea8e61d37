//! The exit codes of commands, and errors with hints for users.

use std::fmt;
use std::io;
use std::process::ExitCode;

use garland_core::command_error::{CommandError, ErrorKind};
use garland_sys::error::reason;

/// The exit codes of commands, on which scripts rely (docs/scripts.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done (0).
    Done,
    /// Some nodes failed (1).
    SomeFailed,
    /// The usage or the configuration is wrong (2).
    Usage,
    /// Nothing was done (3).
    Nothing,
    /// A check found a fault (4).
    Fault,
    /// The user interrupted the command (130).
    Interrupted,
    /// The exit code of a program that was run for the user.
    Code(u8),
}

impl Exit {
    /// Returns the exit code of work on several nodes. `all` says whether all of it succeeded,
    /// `any` whether any of it was done, and `interrupted` whether the user interrupted it.
    pub fn of_work(all: bool, any: bool, interrupted: bool) -> Self {
        match (all, any) {
            _ if interrupted => Self::Interrupted,
            (true, _) => Self::Done,
            (false, true) => Self::SomeFailed,
            (false, false) => Self::Nothing,
        }
    }

    /// Returns the exit code of a check of several nodes: [`Exit::Fault`] if it found one, and
    /// otherwise that of its work, as [`Exit::of_work`] has it.
    pub fn of_check(has_fault: bool, all: bool, any: bool, interrupted: bool) -> Self {
        match Self::of_work(all, any, interrupted) {
            Self::Done | Self::SomeFailed | Self::Nothing if has_fault => Self::Fault,
            exit => exit,
        }
    }

    /// Returns the number of the exit code.
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
    fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: message.to_string(), hints: Vec::new() }
    }

    /// Returns the failure of an invalid request.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Returns the failure of a command that did nothing.
    pub fn nothing(message: impl fmt::Display) -> Self {
        Self::new(Exit::Nothing, message)
    }

    /// Returns the failure of a check that found a fault.
    pub fn fault(message: impl fmt::Display) -> Self {
        Self::new(Exit::Fault, message)
    }

    /// Returns the failure of an `operation` that the user interrupted.
    pub fn interrupted(operation: impl fmt::Display) -> Self {
        Self::new(Exit::Interrupted, format!("{operation}: interrupted"))
    }

    /// Returns the failure of a command that cannot tell the user what its work has come to, whose
    /// exit code would be `work`. Work that was done is not told as "nothing done".
    #[must_use]
    pub fn after(self, work: Exit) -> Self {
        Self { exit: if work == Exit::Done { Exit::SomeFailed } else { work }, ..self }
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

/// The exit code of an error that ends a command follows from its kind.
impl<E: CommandError> From<E> for Failure {
    fn from(error: E) -> Self {
        let hints = error.hint().into_iter().collect();
        let failure = match error.kind() {
            ErrorKind::Usage => Self::usage(error),
            ErrorKind::Nothing => Self::nothing(error),
        };
        Self { hints, ..failure }
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
    /// Converts an error of `operation` to a failure with [`Exit::Nothing`]. The message of the
    /// failure begins with the operation.
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
    use garland_core::units::bytes;

    use super::*;

    #[test]
    fn work_that_is_done_and_not_told_is_not_told_as_nothing_done() {
        let untold = |work| Failure::nothing("the disk is full").after(work).exit();
        assert_eq!(untold(Exit::Done), Exit::SomeFailed);
        for work in [Exit::SomeFailed, Exit::Nothing, Exit::Fault, Exit::Interrupted] {
            assert_eq!(untold(work), work);
        }
    }

    #[test]
    fn the_exit_codes_are_those_of_the_documentation() {
        let kinds = [
            (Exit::Done, "success"),
            (Exit::SomeFailed, "some nodes failed"),
            (Exit::Usage, "wrong usage or configuration"),
            (Exit::Nothing, "nothing done"),
            (Exit::Fault, "a check found a fault"),
            (Exit::Interrupted, "interrupted"),
        ];
        let page = include_str!("../../../docs/scripts.md");
        let rows: Vec<(u8, &str)> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "))
            .filter_map(|(code, meaning)| Some((code.parse().ok()?, meaning)))
            .map(|(code, meaning)| (code, meaning.split(" (").next().unwrap_or(meaning)))
            .collect();
        assert_eq!(rows, kinds.map(|(exit, meaning)| (exit.code(), meaning)));
    }

    #[test]
    fn the_kind_of_an_error_decides_the_exit_code() {
        let wrong = Failure::from(bytes::parse("many").unwrap_err());
        assert_eq!(wrong.exit(), Exit::Usage);
        assert!(wrong.message().starts_with("`many` is not a number of bytes"), "{wrong}");
    }

    #[test]
    fn system_errors_have_no_number() {
        let missing = io::Error::from_raw_os_error(2);
        assert_eq!(text_of(&missing), "no such file or directory");
        let own = "Reading X: No such file or directory (os error 2)";
        assert_eq!(text_of(&own), own);
    }
}
