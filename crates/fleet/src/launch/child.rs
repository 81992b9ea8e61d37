//! The local process that keeps an agent alive (the agent itself, an ssh or an srun): starting it,
//! its standard error, and its end.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use garland_core::printable;
use garland_protocol::wire::ReadyLine;
use garland_sys::channel::{Receiver, RecvTimeoutError, channel};
use garland_sys::clock::after;
use garland_sys::threads::JoinHandle;
use garland_sys::{clock, signal, threads};

use super::bootstrap::BootstrapLine;
use super::cancellation::Cancellation;
use super::error::LaunchError;
use super::input::Input;
use super::stdout::pass_on;

/// Timeout for each line of output before an agent is ready.
const PATIENCE: Duration = Duration::from_secs(60);

/// Timeout for a process to end after it has closed its output, without an agent. An ssh that waits for
/// nothing (`SessionType none`), or a login that goes on without output, might never end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Timeout for processes to end after their input has ended.
pub const FAREWELL: Duration = Duration::from_secs(3);

/// Timeout for processes to end after an interrupt; then the processes are killed.
pub const HURRY: Duration = Duration::from_secs(1);

/// Timeout for reaping a killed process. Only a process that hangs in the kernel takes longer.
pub const REAPING: Duration = Duration::from_millis(300);

/// The number of last lines of standard error in an error message.
const ERROR_LINES: usize = 5;

/// The maximum number of bytes of standard error that are read for an error message.
const ERROR_BYTES: u64 = 64 << 10;

/// Returns the file name of the log of a node's agent.
pub fn log_name(node: &str) -> String {
    format!("{}.log", node.replace(['/', ':'], "_"))
}

/// A process that was started, and whose agent has not reported yet that it is ready.
pub struct Starting {
    child: LaunchedChild,
    cancellation: Cancellation,
    lines: Receiver<String>,
    /// The log, at the offset where the standard error of this process begins.
    log: File,
    /// The last line of its output that is not the script's or the agent's: a login shell that
    /// refuses, such as nologin, gives its reason there.
    other: Option<String>,
}

/// A process that keeps an agent alive. Dropping it closes its input, which ends the agent.
pub struct LaunchedChild {
    child: Child,
    input: Option<Input>,
    reader: Option<JoinHandle<()>>,
    /// Whether the process was killed. Its output is not awaited then: an agent that hangs in the
    /// kernel outlives the process that stands in for it in a lab, and holds the pipe open.
    is_killed: bool,
    /// Whether the process was killed but did not end. If so, it is not waited for again.
    is_left: bool,
}

impl Starting {
    /// Starts `command`. Its standard error is appended directly to the file `log`, so that an
    /// agent's messages are written even after this process has died.
    pub fn start(
        mut command: Command,
        log: &Path,
        cancellation: &Cancellation,
    ) -> io::Result<Self> {
        let errors = OpenOptions::new().append(true).create(true).mode(0o600).open(log)?;
        // Open the file again: a duplicated descriptor would share its offset.
        let mut log = File::open(log)?;
        log.seek(SeekFrom::End(0))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        signal::release_in(&mut command);
        let mut child = command.spawn()?;
        let pipe = child.stdin.take();
        let output = child.stdout.take();
        let mut child =
            LaunchedChild { child, input: None, reader: None, is_killed: false, is_left: false };
        child.input = pipe.map(|pipe| Input::new(pipe, cancellation.clone())).transpose()?;
        let (tell, lines) = channel();
        let reader = output.map(|output| {
            threads::spawn("child", move || {
                let mut output = BufReader::new(output);
                let mut line = String::new();
                let mut marked = false;
                // The bytes of a copy to standard output follow the ready line.
                while matches!(output.read_line(&mut line), Ok(read) if read > 0) {
                    let ready = ReadyLine::parse(&line).is_some();
                    // In a Slurm step the script prints a line after the agent has ended.
                    marked |= matches!(BootstrapLine::parse(&line), BootstrapLine::At(Some(_), _));
                    let _ = tell.send(std::mem::take(&mut line));
                    if ready {
                        drop(tell);
                        // Lock standard output only when there is output: a reader that waits with
                        // the lock would block the readers of other agents.
                        if !matches!(output.fill_buf(), Ok([]) | Err(_)) {
                            let passed = pass_on(&mut output, &mut io::stdout().lock(), marked);
                            // If standard output is closed, the agent's own write error ends the
                            // copy.
                            if passed.is_err_and(|error| error.kind() == ErrorKind::UnexpectedEof) {
                                garland_terminal::errln!(
                                    "error: srun lost the last bytes of the copy to standard output; \
                                     copy to a file on the node instead"
                                );
                            }
                        }
                        return;
                    }
                }
            })
        });
        child.reader = reader.transpose()?;
        Ok(Self { child, cancellation: cancellation.clone(), lines, log, other: None })
    }

    /// Returns the standard input of the process; none if it has been closed.
    pub fn input(&mut self) -> Option<&mut Input> {
        self.child.input.as_mut()
    }

    /// Waits for the next line of the process's output.
    ///
    /// # Errors
    /// When the process has ended, the timeout has passed, or the start is cancelled.
    pub fn next_line(&mut self) -> Result<String, LaunchError> {
        let mut waited = Duration::ZERO;
        while waited < PATIENCE {
            match self.lines.recv_timeout(Cancellation::POLL) {
                Ok(line) => {
                    let line = line.trim_end().to_owned();
                    if BootstrapLine::parse(&line) == BootstrapLine::Other && !line.is_empty() {
                        self.other = Some(line.clone());
                    }
                    return Ok(line);
                }
                Err(RecvTimeoutError::Timeout) => self.cancellation.check()?,
                Err(RecvTimeoutError::Disconnected) => return Err(self.last_words()),
            }
            waited += Cancellation::POLL;
        }
        Err(LaunchError::Stalled("its agent did not start within", PATIENCE.as_secs()))
    }

    /// Waits for the agent's ready line. Calls `answer` with every earlier line and the input of
    /// the process. An error of `answer` ends the wait. After an error the process is killed.
    pub fn ready_after(
        mut self,
        mut answer: impl FnMut(&str, &mut Input) -> Result<(), LaunchError>,
    ) -> Result<(ReadyLine, LaunchedChild), LaunchError> {
        loop {
            let next = self.next_line().and_then(|line| {
                let ready = ReadyLine::parse(&line);
                if let (None, Some(input)) = (&ready, self.input()) {
                    answer(&line, input)?;
                }
                Ok(ready)
            });
            match next {
                Ok(None) => {}
                Ok(Some(ready)) => return Ok((ready, self.keep())),
                Err(error) => {
                    // Without the agent the process is useless.
                    self.child.kill();
                    self.child.reap(after(REAPING));
                    return Err(error);
                }
            }
        }
    }

    /// Stops reading lines, and returns the process.
    pub fn keep(self) -> LaunchedChild {
        self.child
    }

    /// Waits for the process, whose output has ended, and returns why it ended: the last lines of its
    /// standard error, or, if there are none, its exit status and what it has said.
    fn last_words(&mut self) -> LaunchError {
        const POLL: Duration = Duration::from_millis(2);
        let until_ns = after(LAST_WORDS);
        let mut has_ended = true;
        let status = loop {
            match self.child.child.try_wait() {
                Ok(Some(status)) => break status.to_string(),
                Err(error) => break error.to_string(),
                Ok(None) if clock::now_ns() >= until_ns => {
                    has_ended = false;
                    break "the login closed its output, and did not end".to_owned();
                }
                Ok(None) => threads::sleep(POLL),
            }
            if let Err(cancelled) = self.cancellation.check() {
                return cancelled;
            }
        };
        let mut bytes = Vec::new();
        // If the log cannot be read, the status is used.
        let _ = (&self.log).take(ERROR_BYTES).read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let last = last_lines(&text);
        LaunchError::Ended(match &self.other {
            _ if !last.is_empty() && has_ended => last,
            _ if !last.is_empty() => format!("{status}; {last}"),
            Some(said) => format!("{status}; it said: {}", printable::line(said)),
            None => status,
        })
    }
}

/// Returns the last lines of standard error as a reason, which `failed` and the node's name, or
/// another `error: `, precede where it is printed.
fn last_lines(text: &str) -> String {
    let bare = |line: &str| {
        let line = line.trim_end();
        line.strip_prefix("error: ").or(line.strip_prefix("hint: ")).unwrap_or(line).to_owned()
    };
    let lines: Vec<String> = text.lines().map(bare).collect();
    lines[lines.len().saturating_sub(ERROR_LINES)..].join("; ")
}

impl LaunchedChild {
    /// Closes the input, which ends the agent; does not wait for it.
    pub fn close_input(&mut self) {
        drop(self.input.take());
    }

    /// Kills the process. An agent that hangs does not notice the end of its input.
    pub fn kill(&mut self) {
        self.is_killed = true;
        // Fails if the process has ended.
        let _ = self.child.kill();
    }

    /// Closes the input and waits for the process until `deadline_ns`, then kills it.
    pub fn end(&mut self, deadline_ns: u64) {
        self.close_input();
        if !self.await_end(deadline_ns) {
            self.kill();
        }
    }

    /// Waits until `deadline_ns` (monotonic) for the process, which was killed or has ended. A
    /// process that hangs in the kernel, in a call on a disk that does not answer, cannot be
    /// killed: it is left to init.
    pub fn reap(&mut self, deadline_ns: u64) {
        if !self.await_end(deadline_ns) {
            self.is_left = true;
            return;
        }
        if let Some(reader) = self.reader.take().filter(|_| !self.is_killed) {
            // A panic of the thread has been printed already.
            let _ = reader.join();
        }
    }

    /// Waits for the process until `deadline_ns`. Returns whether it has ended.
    fn await_end(&mut self, deadline_ns: u64) -> bool {
        const POLL: Duration = Duration::from_millis(2);
        while matches!(self.child.try_wait(), Ok(None)) {
            if clock::now_ns() >= deadline_ns {
                return false;
            }
            threads::sleep(POLL);
        }
        true
    }
}

impl Drop for LaunchedChild {
    fn drop(&mut self) {
        if !self.is_left {
            self.end(after(FAREWELL));
            self.reap(after(REAPING));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_an_agent_has_no_error_within() {
        let text = "error: cannot open the agent's root /x: permission denied\nhint: make it\n";
        let reason = "cannot open the agent's root /x: permission denied; make it";
        assert_eq!(last_lines(text), reason);
        assert_eq!(last_lines("1\n2\n3 \n4\n5\n6\n"), "2; 3; 4; 5; 6");
        assert_eq!(last_lines(""), "");
    }

    #[test]
    fn a_login_shell_that_refuses_is_told_in_its_own_words() {
        let why = |script: &str| {
            let folder = std::env::temp_dir();
            let log = folder.join(format!("garland-refusal-{}.log", std::process::id()));
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            let starting = Starting::start(shell, &log, &Cancellation::default()).expect("there");
            let _ = std::fs::remove_file(log);
            let ended = starting.ready_after(|_, _| Ok(())).err().expect("no agent");
            ended.to_string()
        };
        assert_eq!(
            why("echo This account is currently not available.; exit 1"),
            "exit status: 1; it said: This account is currently not available."
        );
        assert_eq!(why("echo welcome; echo no shell >&2; exit 1"), "no shell");
        assert_eq!(why("echo AT - -; exit 3"), "exit status: 3");
        // It is not waited for: other nodes would wait, too.
        let silent = "the login closed its output, and did not end";
        assert_eq!(why("exec >&- 2>&-; exec sleep 600"), silent);
    }
}
