//! The result of a command.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The exit code and the output of a command.
#[derive(Clone, Debug)]
pub struct RunOutput {
    /// Its exit code; 128 plus the signal's number if a signal killed it.
    pub code: i32,
    /// Its standard output.
    pub out: String,
    /// Its standard output as bytes.
    pub bytes: Vec<u8>,
    /// Its standard error.
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

    /// Asserts that it ended with `code`, and returns it.
    ///
    /// # Panics
    /// When it ended otherwise; shows the output.
    #[must_use]
    #[track_caller]
    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n--- out\n{}--- err\n{}", self.out, self.err);
        self
    }

    /// The result object that `--json` printed.
    ///
    /// # Panics
    /// When the output isn't JSON; shows it.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error} in\n{}\n{}", self.out, self.err))
    }
}
