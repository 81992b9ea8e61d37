//! The result of running a command.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The exit code and the output of a command that has ended.
#[derive(Clone, Debug)]
pub struct RunOutput {
    /// The exit code; 128 plus the number of the signal if a signal killed the command.
    pub code: i32,
    /// The standard output as text.
    pub out: String,
    /// The standard output as bytes, which need not be UTF-8.
    pub bytes: Vec<u8>,
    /// The standard error as text.
    pub err: String,
}

impl RunOutput {
    pub(crate) fn new(status: ExitStatus, out: Vec<u8>, err: &[u8]) -> Self {
        let signal = status.signal().map(|signal| 128 + signal);
        Self {
            code: status.code().or(signal).unwrap_or(-1),
            out: String::from_utf8_lossy(&out).into_owned(),
            err: String::from_utf8_lossy(err).into_owned(),
            bytes: out,
        }
    }

    /// Asserts that the command ended with the exit code `code`, and returns the value itself.
    ///
    /// # Panics
    /// When the exit code differs; the message contains the output.
    #[must_use]
    #[track_caller]
    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n--- out\n{}--- err\n{}", self.out, self.err);
        self
    }

    /// Returns the result object that a command with `--json` printed.
    ///
    /// # Panics
    /// When the output is not JSON; the message contains it.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error} in\n{}\n{}", self.out, self.err))
    }
}
