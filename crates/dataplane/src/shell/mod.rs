//! A shell command as the source or destination of a copy. A pipe carries the bytes. The exit code
//! shows whether the command succeeded; if it failed, the last lines of its standard error are the
//! reason.
//!
//! The command runs in a process group of its own, together with a guard: a second shell, which
//! holds the write end of the command's input open and waits for a line from the agent. If the
//! agent is killed, the line never arrives; the guard then kills the group, before the command can
//! take the closed pipe for the end of its input. The guard also keeps the ID of the group from
//! being reused. Processes that have left the group are found by a mark and killed as well, unless
//! the agent is killed.

mod stderr;

use std::ffi::OsStr;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use garland_sys::channel::channel;
use garland_sys::mark::Mark;
use garland_sys::sync::{Condvar, Mutex};
use garland_sys::{process, signal, threads};

use self::stderr::StderrTail;

/// The guard's script: unless it reads the line `over`, it kills its process group, itself
/// included.
const GUARD: &str = "read -r word && [ \"$word\" = over ] || kill -s KILL 0";

/// How long to wait for a killed command to end; it may hang in the kernel.
const KILLED_END_TIMEOUT: Duration = Duration::from_secs(1);

/// A function that is called with the reason if a command fails.
pub type Watcher = Box<dyn FnOnce(String) + Send>;

/// A command that was started. Dropping it kills the command, unless it has succeeded.
pub struct Shell {
    line: String,
    group: u32,
    mark: Mark,
    guard: Mutex<Guard>,
    ending: Arc<Ending>,
}

/// The process that kills the command's process group, itself included, if the agent dies. The ID
/// of the group stays reserved until the guard has been waited for.
struct Guard {
    child: Child,
    word: Option<PipeWriter>,
    over: bool,
}

/// The result of a command, and the threads and the watcher that wait for it.
#[derive(Default)]
struct Ending {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// The verdict, once the command has ended: success, or the reason of its failure.
    verdict: Option<Result<(), String>>,
    /// The function to call when the command fails, if any.
    watcher: Option<Watcher>,
}

impl Shell {
    /// Starts the command `line` in the directory `folder`, by default that of this process. The
    /// command reads from the returned pipe.
    ///
    /// # Errors
    /// When the system cannot start it.
    pub fn reading(line: &[u8], folder: Option<&Path>) -> io::Result<(Self, PipeWriter)> {
        let (input, writer) = io::pipe()?;
        let held = Some(writer.try_clone()?);
        Ok((Self::start(line, folder, input.into(), Stdio::null(), held)?, writer))
    }

    /// Starts the command `line` in the directory `folder`, by default that of this process. The
    /// command writes to the returned pipe.
    ///
    /// # Errors
    /// When the system cannot start it.
    pub fn writing(line: &[u8], folder: Option<&Path>) -> io::Result<(Self, PipeReader)> {
        let (reader, output) = io::pipe()?;
        Ok((Self::start(line, folder, Stdio::null(), output.into(), None)?, reader))
    }

    /// Starts the command `line` in the directory `folder`, by default that of this process. `held`
    /// is the write end of the command's input, which the guard keeps open.
    fn start(
        line: &[u8],
        folder: Option<&Path>,
        input: Stdio,
        output: Stdio,
        held: Option<PipeWriter>,
    ) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(OsStr::from_bytes(line));
        command.stdin(input).stdout(output).stderr(Stdio::piped()).process_group(0);
        signal::release_in(&mut command);
        let mark = Mark::new();
        mark.put_on(&mut command);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        // Start the thread first: if it cannot be created the command must not run.
        let line = shown(line);
        let ending = Arc::<Ending>::default();
        let its = Arc::clone(&ending);
        let name = line.clone();
        let (give, given) = channel::<(Child, Option<StderrTail>)>();
        threads::spawn("shell", move || {
            if let Ok((child, stderr)) = given.recv() {
                its.await_end(child, stderr, &name);
            }
        })?;
        let mut child = command.spawn()?;
        // Close the command's ends of the pipe here, or the end of its bytes would never be seen.
        drop(command);
        let group = child.id();
        let stderr = child.stderr.take().map(StderrTail::start).transpose();
        let begun = stderr.and_then(|stderr| Ok((stderr, Guard::start(group, held)?)));
        let (stderr, guard) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                process::kill_group(group);
                // It was killed: this takes no time.
                let _ = child.wait();
                return Err(error);
            }
        };
        // Cannot fail: the thread waits for it.
        let _ = give.send((child, stderr));
        Ok(Self { line, group, mark, guard: Mutex::new(guard), ending })
    }

    /// Returns the command line for messages: printable, and shortened.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Calls `watcher` when the command fails, or at once if it has already failed. Not called
    /// after [`Shell::kill`].
    pub fn watch(&self, watcher: Watcher) {
        let mut state = self.ending.state.lock();
        match state.verdict.clone() {
            None => state.watcher = Some(watcher),
            Some(Ok(())) => {}
            Some(Err(reason)) => {
                drop(state);
                watcher(reason);
            }
        }
    }

    /// Makes the guard close its end of the pipe. Once the caller has closed its own end, too, the
    /// command sees the end of its input.
    pub fn release(&self) {
        self.guard.lock().dismiss();
    }

    /// Waits until the command has ended, by itself or by [`Shell::kill`].
    ///
    /// # Errors
    /// When the command failed; the message is the reason.
    pub fn wait(&self) -> Result<(), String> {
        let mut state = self.ending.state.lock();
        loop {
            if let Some(verdict) = &state.verdict {
                return verdict.clone();
            }
            self.ending.ended.wait(&mut state);
        }
    }

    /// Waits for the command, but no longer than `moment`. Returns its result like [`Shell::wait`];
    /// none if the command has not ended.
    pub fn verdict(&self, moment: Duration) -> Option<Result<(), String>> {
        let runs = |state: &mut State| state.verdict.is_none();
        let mut state = self.ending.state.lock();
        let _ = self.ending.ended.wait_while_for(&mut state, runs, moment);
        state.verdict.clone()
    }

    /// Kills the process group of the command, unless the command has succeeded, and waits at most
    /// a second until the command has ended. The command does not see the end of its input.
    pub fn kill(&self) {
        let mut guard = self.guard.lock();
        let mut state = self.ending.state.lock();
        // The caller knows that the command fails.
        state.watcher = None;
        // Processes which a successful command left running are not killed.
        if !matches!(state.verdict, Some(Ok(()))) && !guard.over {
            self.mark.kill_all(&[self.group]);
        }
        let lives = |state: &mut State| state.verdict.is_none();
        let _ = self.ending.ended.wait_while_for(&mut state, lives, KILLED_END_TIMEOUT);
        drop(state);
        guard.end();
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Guard {
    fn start(group: u32, held: Option<PipeWriter>) -> io::Result<Self> {
        let (input, word) = io::pipe()?;
        let group = i32::try_from(group).map_err(io::Error::other)?;
        let output = held.map_or_else(Stdio::null, Stdio::from);
        let mut command = Command::new("sh");
        command.args(["-c", GUARD]).process_group(group);
        command.stdin(input).stdout(output).stderr(Stdio::null());
        Ok(Self { child: command.spawn()?, word: Some(word), over: false })
    }

    /// Makes the guard exit without killing the group.
    fn dismiss(&mut self) {
        if let Some(mut word) = self.word.take() {
            // Fails if the guard has exited already; then it holds nothing open.
            let _ = word.write_all(b"over\n");
        }
    }

    fn end(&mut self) {
        self.dismiss();
        // From here on the number of the group may be reused.
        self.over |= self.child.wait().is_ok();
    }
}

impl Ending {
    fn await_end(&self, mut child: Child, stderr: Option<StderrTail>, line: &str) {
        let ended = child.wait();
        let verdict = match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failure(line, status, stderr)),
            Err(error) => Err(format!("cannot get the exit code of `{line}`: {error}")),
        };
        let mut state = self.state.lock();
        state.verdict = Some(verdict.clone());
        let watcher = state.watcher.take();
        self.ended.notify_all();
        drop(state);
        if let (Err(reason), Some(watcher)) = (verdict, watcher) {
            watcher(reason);
        }
    }
}

fn failure(line: &str, status: ExitStatus, stderr: Option<StderrTail>) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("`{line}` ended with code {code}"),
        (None, Some(signal)) => format!("`{line}` was killed by signal {signal}"),
        (None, None) => format!("`{line}` failed"),
    };
    match stderr.map(StderrTail::into_text) {
        Some(stderr) if !stderr.is_empty() => format!("{how}: {stderr}"),
        _ => how,
    }
}

/// Returns a command line without control characters, shortened for messages.
fn shown(line: &[u8]) -> String {
    const LONGEST: usize = 60;
    let text = String::from_utf8_lossy(line);
    let text: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::tests::Scratch;

    #[test]
    fn bytes_go_in_and_the_exit_code_comes_out() {
        let dir = Scratch::new("shell-in");
        let (shell, mut input) = Shell::reading(b"cat > 'a b'; exit 3", Some(&dir)).unwrap();
        input.write_all(b"these").unwrap();
        drop(input);
        shell.release();
        assert_eq!(shell.wait(), Err("`cat > 'a b'; exit 3` ended with code 3".to_owned()));
        assert_eq!(std::fs::read(dir.join("a b")).unwrap(), b"these");
    }

    #[test]
    fn the_last_words_are_the_reason() {
        let line = b"for n in 1 2 3 4 5; do echo line $n >&2; done; exit 1";
        let (shell, _input) = Shell::reading(line, None).unwrap();
        let reason = shell.wait().unwrap_err();
        assert!(reason.ends_with("ended with code 1: line 3; line 4; line 5"), "{reason}");
    }

    #[test]
    fn one_that_is_killed_never_sees_its_input_end() {
        let dir = Scratch::new("shell-killed");
        let (shell, mut input) = Shell::reading(b"cat > x; echo > ended", Some(&dir)).unwrap();
        input.write_all(b"half").unwrap();
        shell.kill();
        drop(input);
        assert!(shell.wait().unwrap_err().contains("killed by signal 9"));
        assert!(!dir.join("ended").exists());
    }

    #[test]
    fn a_failure_is_told_at_once_and_success_is_not() {
        let (tell, told) = channel();
        for line in [&b"exit 0"[..], b"kill -s TERM $$"] {
            let (shell, _input) = Shell::reading(line, None).unwrap();
            let tell = tell.clone();
            shell.watch(Box::new(move |reason| tell.send(reason).unwrap()));
            let _ = shell.wait();
        }
        let reason = told.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(reason, "`kill -s TERM $$` was killed by signal 15");
    }

    #[test]
    fn its_output_comes_to_its_end() {
        let (shell, mut output) = Shell::writing(b"echo so; echo far", None).unwrap();
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), shell.wait()), ("so\nfar\n", Ok(())));
    }
}
