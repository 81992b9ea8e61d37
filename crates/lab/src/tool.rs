//! The network tools of the system: finds them and runs them with batches.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::LabError;

/// A tool that labs use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// ip(8) of iproute2.
    Ip,
    /// tc(8) of iproute2.
    Tc,
    /// bridge(8) of iproute2.
    Bridge,
    /// nft(8) of nftables.
    Nft,
}

impl Tool {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Ip => "ip",
            Tool::Tc => "tc",
            Tool::Bridge => "bridge",
            Tool::Nft => "nft",
        }
    }

    /// Returns the path of the tool. System directories are searched as well, since they are often
    /// missing from the search path of ordinary users.
    pub(crate) fn find(self) -> Result<PathBuf, LabError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
            .map(|folder| folder.join(self.name()))
            .find(|file| file.is_file())
            .ok_or(LabError::ToolMissing {
                tool: self.name(),
                package: match self {
                    Tool::Ip | Tool::Tc | Tool::Bridge => "iproute2",
                    Tool::Nft => "nftables",
                },
            })
    }

    /// Returns a command that reads a batch from standard input.
    pub(crate) fn batch(self) -> Result<Command, LabError> {
        let mut command = Command::new(self.find()?);
        match self {
            Tool::Ip | Tool::Tc | Tool::Bridge => command.args(["-batch", "-"]),
            Tool::Nft => command.args(["-f", "-"]),
        };
        Ok(command)
    }

    /// Runs `command` with `input` as its standard input, and returns its output.
    pub(crate) fn run(
        self,
        mut command: Command,
        input: &str,
        place: &str,
    ) -> Result<Vec<u8>, LabError> {
        let failed =
            |reason: String| LabError::Tool { tool: self.name(), place: place.to_owned(), reason };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let mut pipe = child.stdin.take().expect("standard input is a pipe");
        // A tool that fails early closes the pipe. Its error message is more useful than this write
        // error.
        let written = pipe.write_all(input.as_bytes());
        drop(pipe);
        let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            written.map_err(|error| failed(error.to_string()))?;
            return Ok(output.stdout);
        }
        let words = String::from_utf8_lossy(&output.stderr);
        Err(failed(blame(words.trim(), input)))
    }
}

/// Appends the failed line of `input` to a tool's error message, which ends with the line's number
/// ("Command failed -:3").
fn blame(words: &str, input: &str) -> String {
    let line = words
        .rsplit_once("-:")
        .and_then(|(_, number)| number.trim().parse::<usize>().ok())
        .and_then(|number| input.lines().nth(number.checked_sub(1)?));
    let words = words.replace('\n', "; ");
    match line {
        Some(line) => format!("{words} ({line})"),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_line() {
        let words = "RTNETLINK answers: File exists\nCommand failed -:2";
        assert_eq!(
            blame(words, "first\nsecond\n"),
            "RTNETLINK answers: File exists; Command failed -:2 (second)"
        );
    }
}
