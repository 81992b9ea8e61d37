//! The input of a process that is being started: what it doesn't take in time ends the waiting.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::process::ChildStdin;
use std::time::Duration;

use garland_sys::clock;
use garland_sys::event::{self, Interest};

use super::will::Will;

/// How long it may take not a byte.
const STUCK: Duration = Duration::from_secs(30);

/// A process's input.
pub struct Input {
    pipe: ChildStdin,
    will: Will,
}

impl Input {
    /// The input `pipe`, for as long as `will` lasts.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn new(pipe: ChildStdin, will: Will) -> io::Result<Self> {
        event::never_block(pipe.as_fd())?;
        Ok(Self { pipe, will })
    }

    /// Says all of `bytes`. A process that is gone tells itself why, in better words.
    ///
    /// # Errors
    /// When it takes nothing for long, or the user gave up.
    pub fn say(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        let stuck_ns = u64::try_from(STUCK.as_nanos()).unwrap_or(u64::MAX);
        let mut taken_ns = clock::now_ns();
        while !bytes.is_empty() {
            match self.pipe.write(bytes) {
                Ok(taken) => {
                    bytes = &bytes[taken..];
                    taken_ns = clock::now_ns();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.will.check()?;
                    if clock::now_ns().saturating_sub(taken_ns) > stuck_ns {
                        let seconds = STUCK.as_secs();
                        return Err(format!("it took nothing of the binary for {seconds} s"));
                    }
                    let room = Interest { fd: self.pipe.as_fd(), write: true };
                    event::wait(&[room], Some(Will::LOOK))
                        .map_err(|error| format!("waiting for its input: {error}"))?;
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
    fn all_is_said_and_a_process_that_is_gone_is_no_error() {
        let start = |program: &str, argument: &str| {
            let mut command = Command::new(program);
            command.arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().expect("it is there");
            let pipe = child.stdin.take().expect("it is piped");
            (child, Input::new(pipe, Will::default()).expect("a pipe can"))
        };
        let bytes = vec![7; 1 << 20];
        let (child, mut input) = start("wc", "-c");
        assert_eq!(input.say(&bytes), Ok(()));
        drop(input);
        let counted = child.wait_with_output().expect("it ends").stdout;
        assert_eq!(String::from_utf8_lossy(&counted).trim(), "1048576");
        let (child, mut input) = start("true", "-");
        child.wait_with_output().expect("it ends");
        assert_eq!(input.say(&bytes), Ok(()));
    }
}
