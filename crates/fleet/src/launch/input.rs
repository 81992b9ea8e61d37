//! The standard input of a process that is being started, written with a timeout.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::process::ChildStdin;
use std::time::Duration;

use garland_sys::clock;
use garland_sys::event::{self, Interest};

use super::cancellation::Cancellation;
use super::error::{LaunchError, cannot};

/// Timeout for a write without progress.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The bytes that are passed on at once.
const PIECE: usize = 128 << 10;

/// The standard input of a process.
pub struct Input {
    pipe: ChildStdin,
    cancellation: Cancellation,
}

impl Input {
    /// Wraps `pipe`, which is made non-blocking. A write ends when `cancellation` cancels the
    /// start.
    ///
    /// # Errors
    /// When fcntl(2) fails.
    pub fn new(pipe: ChildStdin, cancellation: Cancellation) -> io::Result<Self> {
        event::never_block(pipe.as_fd())?;
        Ok(Self { pipe, cancellation })
    }

    /// Writes all of `bytes` as they come. Waits for the process for as long as it takes.
    ///
    /// # Errors
    /// When reading fails, or the process has ended.
    pub fn pass_on(&mut self, mut bytes: impl Read) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        loop {
            let read = match bytes.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let mut rest = &piece[..read];
            while !rest.is_empty() {
                match self.pipe.write(rest) {
                    Ok(taken) => rest = &rest[taken..],
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        let room = Interest { fd: self.pipe.as_fd(), write: true };
                        let _ = event::wait(&[room], None)?;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Writes all of `bytes`. Succeeds if the process has ended: the error message of the process
    /// says more than a broken pipe.
    ///
    /// # Errors
    /// When the process reads nothing for 30 seconds, or the start is cancelled.
    pub fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), LaunchError> {
        let timeout_ns = u64::try_from(TIMEOUT.as_nanos()).unwrap_or(u64::MAX);
        let mut taken_ns = clock::now_ns();
        while !bytes.is_empty() {
            match self.pipe.write(bytes) {
                Ok(taken) => {
                    bytes = &bytes[taken..];
                    taken_ns = clock::now_ns();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.cancellation.check()?;
                    if clock::now_ns().saturating_sub(taken_ns) > timeout_ns {
                        let what = "sending the program stalled for";
                        return Err(LaunchError::Stalled(what, TIMEOUT.as_secs()));
                    }
                    let room = Interest { fd: self.pipe.as_fd(), write: true };
                    event::wait(&[room], Some(Cancellation::POLL))
                        .map_err(cannot("wait to send the program", ""))?;
                }
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn everything_is_written_and_a_process_that_has_ended_is_no_error() {
        let start = |program: &str, argument: &str| {
            let mut command = Command::new(program);
            command.arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().expect("the program is installed");
            let pipe = child.stdin.take().expect("it is piped");
            (child, Input::new(pipe, Cancellation::default()).expect("a pipe"))
        };
        let bytes = vec![7; 1 << 20];
        let (child, mut input) = start("wc", "-c");
        assert_eq!(input.write_all(&bytes), Ok(()));
        drop(input);
        let counted = child.wait_with_output().expect("it ends").stdout;
        assert_eq!(String::from_utf8_lossy(&counted).trim(), "1048576");
        let (child, mut input) = start("true", "-");
        child.wait_with_output().expect("it ends");
        assert_eq!(input.write_all(&bytes), Ok(()));
    }
}
