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

/// What the program may take to be sent beyond the time of its bytes at [`UPLOAD_RATE`].
const UPLOAD_SLACK: Duration = Duration::from_secs(60);

/// The least rate at which the program must be taken, in bytes per second: that of a wire of 1
/// Mbit/s which two uploads share.
const UPLOAD_RATE: u64 = 64_000;

/// How long a process may read nothing of what is left for it when nobody uses its connection any
/// more: it would stay, and more of them with each connection.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The interval at which it is looked at whether anybody does.
const UNREAD_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The bytes that are passed on at once.
const PIECE: usize = 128 << 10;

/// Returns how long `bytes` bytes of the program may take to be sent. A node that takes them slowly
/// holds up the others that long at most.
pub fn upload_limit(bytes: usize) -> Duration {
    UPLOAD_SLACK + Duration::from_secs(bytes as u64 / UPLOAD_RATE)
}

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

    /// From now on a write ends when `cancellation` cancels the start.
    pub fn cancel_by(&mut self, cancellation: Cancellation) {
        self.cancellation = cancellation;
    }

    /// Writes all of the bytes of a connection as they come. Waits for the process for as long as
    /// it takes, but not long after the other end of the connection is closed.
    ///
    /// # Errors
    /// When reading fails, or the process has ended or reads nothing of what is left.
    pub fn pass_on(&mut self, mut bytes: impl Read + AsFd) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        loop {
            let read = match bytes.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let mut rest = &piece[..read];
            let mut alone = Duration::ZERO;
            while !rest.is_empty() {
                match self.pipe.write(rest) {
                    Ok(taken) => {
                        rest = &rest[taken..];
                        alone = Duration::ZERO;
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        if alone > UNREAD_TIMEOUT {
                            return Err(ErrorKind::TimedOut.into());
                        }
                        let room = Interest { fd: self.pipe.as_fd(), write: true };
                        let ready = event::wait(&[room], Some(UNREAD_CHECK_INTERVAL))?;
                        let is_stuck = ready.iter().all(|ready| !ready.write);
                        if is_stuck && event::has_hung_up(bytes.as_fd()) {
                            alone += UNREAD_CHECK_INTERVAL;
                        }
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Writes as many of `bytes` as the process takes at once, and returns their number: all if the
    /// process has ended, whose error message says more than a broken pipe.
    pub fn write_some(&mut self, bytes: &[u8]) -> usize {
        match self.pipe.write(bytes) {
            Ok(taken) => taken,
            Err(error)
                if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) =>
            {
                0
            }
            Err(_) => bytes.len(),
        }
    }

    /// Writes all of `bytes`. Succeeds if the process has ended: the error message of the process
    /// says more than a broken pipe.
    ///
    /// # Errors
    /// When the process reads nothing for 30 seconds, or takes longer in all than [`upload_limit`],
    /// or the start is cancelled.
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<(), LaunchError> {
        self.write_within(bytes, upload_limit(bytes.len()))
    }

    /// Writes all of `bytes` as [`write_all`](Self::write_all) does, within `limit`.
    fn write_within(&mut self, mut bytes: &[u8], limit: Duration) -> Result<(), LaunchError> {
        // A head that stood still has not waited.
        let mut waited = Duration::ZERO;
        let mut taken = Duration::ZERO;
        while !bytes.is_empty() {
            match self.pipe.write(bytes) {
                Ok(count) => {
                    bytes = &bytes[count..];
                    taken = waited;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.cancellation.check()?;
                    if waited - taken > TIMEOUT {
                        let what = "sending the program stalled for";
                        return Err(LaunchError::Stalled(what, TIMEOUT.as_secs()));
                    }
                    if waited > limit {
                        let what = "it did not take the program within";
                        return Err(LaunchError::Stalled(what, limit.as_secs()));
                    }
                    let began_ns = clock::now_ns();
                    let room = Interest { fd: self.pipe.as_fd(), write: true };
                    event::wait(&[room], Some(Cancellation::POLL_INTERVAL))
                        .map_err(cannot("wait to send the program", ""))?;
                    let passed = Duration::from_nanos(clock::now_ns() - began_ns);
                    waited += passed.min(2 * Cancellation::POLL_INTERVAL);
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

    #[test]
    fn a_process_that_takes_the_program_byte_by_byte_holds_up_nobody_for_long() {
        // It never reads nothing for long.
        let script = "while dd bs=4096 count=1 2>/dev/null | read -r _ || :; do sleep 0.05; done";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().expect("sh is there");
        let pipe = child.stdin.take().expect("it is piped");
        let mut input = Input::new(pipe, Cancellation::default()).expect("a pipe");
        let slow = input.write_within(&vec![7; 16 << 20], Duration::from_millis(300));
        let what = "it did not take the program within";
        assert_eq!(slow, Err(LaunchError::Stalled(what, 0)));
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }

    #[test]
    fn the_program_may_come_over_a_slow_wire() {
        assert_eq!(upload_limit(0), UPLOAD_SLACK);
        let program: usize = 6 << 20;
        let half_a_megabit = Duration::from_secs(program as u64 * 8 / 500_000);
        assert!(half_a_megabit < upload_limit(program));
    }
}
