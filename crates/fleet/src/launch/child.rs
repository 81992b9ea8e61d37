//! The local process that keeps an agent alive (the agent itself, an ssh or an srun): starting it,
//! its standard error, and its end.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use garland_core::printable;
use garland_protocol::wire::ReadyLine;
use garland_sys::channel::{Receiver, RecvTimeoutError, channel};
use garland_sys::clock::after;
use garland_sys::threads::JoinHandle;
use garland_sys::{clock, process, signal, threads};

use super::bootstrap::BootstrapLine;
use super::cancellation::Cancellation;
use super::error::LaunchError;
use super::input::Input;
use super::messages::Messages;
use super::stdout::{self, Rest};

/// Timeout for each step before an agent is ready.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout for all steps together. What the head itself does in between, such as sending the
/// program, does not count.
const START_MAX: Duration = Duration::from_secs(180);

/// Timeout for a process to end after it has closed its output, without an agent. An ssh that waits
/// for nothing (`SessionType none`), or a login that goes on without output, might never end.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for processes to end after their input has ended.
pub const END_TIMEOUT: Duration = Duration::from_secs(3);

/// Timeout for processes to end after an interrupt; then the processes are killed.
pub const INTERRUPTED_END_TIMEOUT: Duration = Duration::from_secs(1);

/// Timeout for reaping a killed process. Only a process that hangs in the kernel takes longer.
pub const REAP_TIMEOUT: Duration = Duration::from_millis(300);

/// The number of last lines of standard error in an error message.
const ERROR_LINES: usize = 5;

/// The maximum number of bytes of standard error that are read for an error message.
const ERROR_BYTES: u64 = 64 << 10;

/// Returns the file name of the log of a node's agent.
pub fn log_name(node: &str) -> String {
    format!("{}.log", node.replace(['/', ':'], "_"))
}

/// On which terms a process is started.
#[derive(Clone, Debug, Default)]
pub struct StartTerms {
    /// Whether the start is cancelled.
    pub cancellation: Cancellation,
    /// Where its output goes after the ready line.
    pub rest: Rest,
    /// The time that each step of the start has; `None` for a minute.
    pub step_max: Option<Duration>,
    /// Whether the kernel ends the process with this one. It does not hear Ctrl-C then.
    pub is_for_life: bool,
    /// Whether it runs something on another machine, and writes nothing on this one but its log.
    pub is_elsewhere: bool,
    /// The number of tasks of a Slurm step whose output it passes on, if there are several: their
    /// lines have numbers.
    pub tasks: Option<usize>,
}

/// Whether a line of output was a step of the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It was one, which does not come again.
    Step,
    /// It was another line, such as one of a login shell.
    Other,
}

/// A process that was started, and whose agent has not reported yet that it is ready.
pub struct Starting {
    child: LaunchedChild,
    cancellation: Cancellation,
    lines: Receiver<Result<String, LaunchError>>,
    /// The next lines, or why there are no more, which were waited for and not read.
    ahead: VecDeque<Ahead>,
    messages: ErrorOutput,
    /// The last line of its output that is not the script's or the agent's: a login shell that
    /// refuses, such as nologin, gives its reason there.
    other: Option<String>,
    /// How long the next step has been awaited.
    waited: Duration,
    /// How long it may take.
    step_max: Duration,
    /// How long earlier steps were awaited.
    earlier: Duration,
    /// How much of `waited` passed after the last line that was read had come.
    since_read: Duration,
}

/// A line that was waited for and not read, or why there is none.
struct Ahead {
    line: Result<String, LaunchError>,
    /// How long all was awaited when it came.
    at: Duration,
}

/// Where the standard error of a process is.
enum ErrorOutput {
    /// In the log, from its offset on.
    InLog(File),
    /// In a pipe that is read.
    Piped(Messages),
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
    /// Starts `command`. The standard error of an agent on this machine is appended directly to the
    /// file `log`, so that its messages are written even after this process has died.
    pub fn start(mut command: Command, log: &Path, terms: &StartTerms) -> io::Result<Self> {
        let errors = OpenOptions::new().append(true).create(true).mode(0o600).open(log)?;
        // Open the file again: a duplicated descriptor would share its offset.
        let mut log = File::open(log)?;
        log.seek(SeekFrom::End(0))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        match terms.is_elsewhere {
            true => command.stderr(Stdio::piped()),
            false => command.stderr(errors.try_clone()?),
        };
        signal::release_in(&mut command);
        let mut child = match terms.is_for_life {
            true => process::start_for_life(command)?,
            false => command.spawn()?,
        };
        let pipe = child.stdin.take();
        let output = child.stdout.take();
        let messages = child.stderr.take().map(|piped| Messages::read(piped, errors)).transpose();
        let mut child =
            LaunchedChild { child, input: None, reader: None, is_killed: false, is_left: false };
        let cancellation = terms.cancellation.clone();
        child.input = pipe.map(|pipe| Input::new(pipe, cancellation.clone())).transpose()?;
        let (tell, lines) = channel();
        let rest = terms.rest.clone();
        let tasks = terms.tasks;
        let read = move |output: ChildStdout| match tasks {
            Some(tasks) => stdout::read_labelled(output, tasks, &tell),
            None => stdout::read(output, tell, rest),
        };
        let reader = output.map(|output| threads::spawn("child", move || read(output)));
        child.reader = reader.transpose()?;
        let step_max = terms.step_max.unwrap_or(READY_TIMEOUT);
        let messages = messages?.map_or(ErrorOutput::InLog(log), ErrorOutput::Piped);
        Ok(Self {
            child,
            cancellation,
            lines,
            ahead: VecDeque::new(),
            messages,
            other: None,
            waited: Duration::ZERO,
            step_max,
            earlier: Duration::ZERO,
            since_read: Duration::ZERO,
        })
    }

    /// Returns the standard input of the process; none if it has been closed.
    pub fn input(&mut self) -> Option<&mut Input> {
        self.child.input.as_mut()
    }

    /// Waits for the next line of the process's output.
    ///
    /// # Errors
    /// When the process has ended or has printed too much, the start is cancelled, a minute has
    /// passed since the start or the last step ([`Starting::has_gone_on`]), or three since the
    /// start.
    pub fn next_line(&mut self) -> Result<String, LaunchError> {
        let limit = self.step_max.min(START_MAX.saturating_sub(self.earlier));
        while !self.ahead.is_empty() || self.waited < limit {
            if let Some(line) = self.line_within(Cancellation::POLL_INTERVAL)? {
                return Ok(line);
            }
        }
        let seconds = (self.earlier + self.waited).max(self.step_max).as_secs();
        Err(LaunchError::Stalled("its agent did not start within", seconds))
    }

    /// Returns the next line of the process's output, or `None` if none comes within `time`.
    ///
    /// # Errors
    /// When the process has ended or has printed too much, or the start is cancelled.
    pub fn line_within(&mut self, time: Duration) -> Result<Option<String>, LaunchError> {
        if let Some(Ahead { line, at }) = self.ahead.pop_front() {
            self.since_read = (self.earlier + self.waited).saturating_sub(at);
            return line.map(Some);
        }
        self.since_read = Duration::ZERO;
        self.new_line_within(time)
    }

    fn new_line_within(&mut self, time: Duration) -> Result<Option<String>, LaunchError> {
        let began_ns = clock::now_ns();
        let line = self.lines.recv_timeout(time);
        // A head that stood still has not waited.
        let waited = Duration::from_nanos(clock::now_ns() - began_ns);
        self.waited += waited.min(2 * Cancellation::POLL_INTERVAL);
        match line {
            Ok(line) => {
                let line = line?.trim_end().to_owned();
                if BootstrapLine::parse(&line) == BootstrapLine::Other && !line.is_empty() {
                    self.other = Some(line.clone());
                }
                Ok(Some(line))
            }
            Err(RecvTimeoutError::Timeout) => self.cancellation.check().map(|()| None),
            Err(RecvTimeoutError::Disconnected) => Err(self.last_words()),
        }
    }

    /// Waits for `time` for the next line of output, which stays to be read. Returns whether the
    /// start has got somewhere, has failed, or has taken too long. The login shell and the script
    /// may speak although the home directory hangs: only what follows counts.
    pub fn has_got_on(&mut self, time: Duration) -> bool {
        let line = self.new_line_within(time).transpose();
        let has_got_on = line.as_ref().is_some_and(|line| match line {
            Ok(line) => {
                let said = BootstrapLine::parse(line);
                let is_early = matches!(said, BootstrapLine::At(..) | BootstrapLine::Other);
                !is_early || ReadyLine::parse(line).is_some()
            }
            Err(_) => true,
        });
        let at = self.earlier + self.waited;
        self.ahead.extend(line.map(|line| Ahead { line, at }));
        has_got_on || self.waited >= self.step_max
    }

    /// Returns this start, which `cancellation` cancels from now on.
    pub fn cancelled_by(mut self, cancellation: Cancellation) -> Self {
        self.child.input.iter_mut().for_each(|input| input.cancel_by(cancellation.clone()));
        Self { cancellation, ..self }
    }

    /// Returns how long lines have been waited for, since the start or the last step.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Ends the process at once.
    pub fn abandon(mut self) {
        self.child.kill();
        self.child.reap(after(REAP_TIMEOUT));
    }

    /// Notes that the start has come a step further, so that the next step has all of its time.
    /// Only what happens once is a step: a node that talks on and on must not hold up all others.
    pub fn has_gone_on(&mut self) {
        // The next step began when the last line came, not when it was read.
        let next = self.since_read.min(self.waited);
        self.earlier += self.waited - next;
        self.waited = next;
    }

    /// Waits for the agent's ready line. Calls `answer` with every earlier line and the input of
    /// the process. An error of `answer` ends the wait. After an error the process is killed.
    pub fn ready_after(
        mut self,
        mut answer: impl FnMut(&str, &mut Input) -> Result<Answered, LaunchError>,
    ) -> Result<(ReadyLine, LaunchedChild), LaunchError> {
        loop {
            let next = self.next_line().and_then(|line| {
                let ready = ReadyLine::parse(&line);
                if let (None, Some(input)) = (&ready, self.input())
                    && answer(&line, input)? == Answered::Step
                {
                    self.has_gone_on();
                }
                Ok(ready)
            });
            match next {
                Ok(None) => {}
                Ok(Some(ready)) => return Ok((ready, self.keep())),
                Err(error) => {
                    // Without the agent the process is useless.
                    self.abandon();
                    return Err(error);
                }
            }
        }
    }

    /// Stops reading lines, and returns the process.
    pub fn keep(self) -> LaunchedChild {
        self.child
    }

    /// Waits for the process, whose output has ended, and returns why it ended: the last lines of
    /// its standard error, or, if there are none, its exit status and what it has said.
    fn last_words(&mut self) -> LaunchError {
        const POLL_INTERVAL: Duration = Duration::from_millis(2);
        let until_ns = after(LAST_WORDS_TIMEOUT);
        let mut has_ended = true;
        let status = loop {
            match self.child.child.try_wait() {
                Ok(Some(status)) => break status.to_string(),
                Err(error) => break error.to_string(),
                Ok(None) if clock::now_ns() >= until_ns => {
                    has_ended = false;
                    break "the login closed its output, and did not end".to_owned();
                }
                Ok(None) => threads::sleep(POLL_INTERVAL),
            }
            if let Err(cancelled) = self.cancellation.check() {
                return cancelled;
            }
        };
        let bytes = match &self.messages {
            ErrorOutput::InLog(log) => {
                let mut bytes = Vec::new();
                // If the log cannot be read, the status is used.
                let _ = log.take(ERROR_BYTES).read_to_end(&mut bytes);
                bytes
            }
            ErrorOutput::Piped(messages) => messages.last(),
        };
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
    /// Passes all bytes of a connection on to the process, to their end or until it ends, and waits
    /// a moment for its end.
    pub fn feed(mut self, bytes: impl Read + AsFd) {
        if let Some(input) = self.input.as_mut() {
            // A login that is gone is noticed by the end of what it sends.
            let _ = input.pass_on(bytes);
        }
    }

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
        const POLL_INTERVAL: Duration = Duration::from_millis(2);
        while matches!(self.child.try_wait(), Ok(None)) {
            if clock::now_ns() >= deadline_ns {
                return false;
            }
            threads::sleep(POLL_INTERVAL);
        }
        true
    }
}

impl Drop for LaunchedChild {
    fn drop(&mut self) {
        if !self.is_left {
            self.end(after(END_TIMEOUT));
            self.reap(after(REAP_TIMEOUT));
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
    fn what_is_said_before_the_home_directory_is_used_is_no_progress_and_is_read_later() {
        let log = std::env::temp_dir().join(format!("garland-early-{}.log", std::process::id()));
        let mut shell = Command::new("sh");
        let script = "echo Welcome; echo AT - -; read -r go; echo NEED x86_64 -; read -r end";
        shell.args(["-c", script]);
        let mut starting = Starting::start(shell, &log, &StartTerms::default()).expect("there");
        let _ = std::fs::remove_file(log);
        while starting.ahead.len() < 2 {
            assert!(!starting.has_got_on(Cancellation::POLL_INTERVAL));
        }
        assert!(!starting.has_got_on(Duration::ZERO));
        let input = starting.input().expect("it is open");
        input.write_all(b"\n").expect("it is read");
        while !starting.has_got_on(Cancellation::POLL_INTERVAL) {}
        let total = starting.waited();
        for wanted in ["Welcome", "AT - -", "NEED x86_64 -"] {
            assert_eq!(starting.next_line(), Ok(wanted.to_owned()));
            starting.has_gone_on();
        }
        // The last step was over when its line came.
        assert_eq!((starting.earlier, starting.waited), (total, Duration::ZERO));
        starting.abandon();
    }

    #[test]
    fn a_login_shell_that_refuses_is_told_in_its_own_words() {
        let why = |script: &str| {
            let folder = std::env::temp_dir();
            let log = folder.join(format!("garland-refusal-{}.log", std::process::id()));
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            let starting = Starting::start(shell, &log, &StartTerms::default()).expect("there");
            let _ = std::fs::remove_file(log);
            let answer = |_: &str, _: &mut Input| Ok(Answered::Other);
            let ended = starting.ready_after(answer).err().expect("no agent");
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

    /// Starts a shell that runs `script` instead of logging in. Its log is `name` in the directory
    /// of temporary files.
    fn login(script: &str, name: &str) -> Starting {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        let terms = StartTerms { is_elsewhere: true, ..StartTerms::default() };
        Starting::start(shell, &log_of(name), &terms).expect("sh is there")
    }

    fn log_of(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("garland-login-{}-{name}", std::process::id()))
    }

    /// Returns why the agent is not ready, if nothing that is said is a step.
    fn reason(starting: Starting, name: &str) -> String {
        let ended = starting.ready_after(|_, _| Ok(Answered::Other)).err().expect("no agent");
        std::fs::remove_file(log_of(name)).expect("there is a log");
        ended.to_string()
    }

    #[test]
    fn a_login_that_prints_on_and_on_is_ended() {
        let too_much = "it printed more than 8388608 bytes before its agent was ready";
        for (name, script) in [("lines", "exec yes ''"), ("line", "exec cat /dev/zero")] {
            assert_eq!(reason(login(script, name), name), too_much, "{name}");
        }
        let mut starting = login("while :; do echo x; sleep 0.02; done", "words");
        starting.waited = READY_TIMEOUT - Duration::from_millis(300);
        assert_eq!(reason(starting, "words"), "its agent did not start within 60 s");
    }

    #[test]
    fn all_steps_of_a_login_together_have_a_limit() {
        let mut starting = login("while :; do echo x; sleep 0.02; done", "steps");
        for _ in 0..4 {
            starting.waited = Duration::from_secs(45) - Duration::from_millis(50);
            starting.has_gone_on();
        }
        assert_eq!(reason(starting, "steps"), "its agent did not start within 180 s");
    }

    #[test]
    fn the_log_of_a_login_has_a_limit_and_what_it_says_last_is_told() {
        let script = "head -c 40000000 /dev/zero >&2; echo >&2; echo 'no shell' >&2; exit 1";
        let log = log_of("log");
        for _ in 0..2 {
            let starting = login(script, "log");
            let ended = starting.ready_after(|_, _| Ok(Answered::Other)).err().expect("no agent");
            assert!(ended.to_string().ends_with("; no shell"));
            assert_eq!(std::fs::metadata(&log).expect("the log exists").len(), 16 << 20);
        }
        std::fs::remove_file(log).expect("the log exists");
    }

    #[test]
    fn a_head_that_stood_still_has_not_waited() {
        let ready = format!("garland-agent 0.1.0 4001 {}", "0a".repeat(32));
        let mut starting = login(&format!("echo '{ready}'; read end"), "still");
        // As after a pause: the line has come long ago, and nobody has looked.
        starting.waited = READY_TIMEOUT - Duration::from_millis(1);
        assert!(starting.ready_after(|_, _| Ok(Answered::Other)).is_ok());
        std::fs::remove_file(log_of("still")).expect("the log exists");
    }
}
