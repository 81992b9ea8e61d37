//! A shell command at one end of a copy: the copy's bytes go through a pipe to it or come from it, its
//! exit code is the verdict, and its last words are the reason.
//!
//! It has a process group of its own, and in this a guard: a second shell, which holds the pipe open
//! and waits for a word. An agent that is killed can't give it; the guard kills the group then, before
//! the pipe's end could be taken for the end of the bytes. It also keeps the group's number from being
//! given to others.

mod words;

use std::ffi::OsStr;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use garland_sys::{limits, process, threads};

use self::words::LastWords;
use crate::store::Watcher;

/// What the guard does: without its word it kills its group, and so itself.
const GUARD: &str = "read -r word && [ \"$word\" = over ] || kill -s KILL 0";

/// A killed command's end is waited for so long; one that the kernel holds isn't waited for.
const DYING: Duration = Duration::from_secs(1);

/// A command that runs.
pub struct Shell {
    line: String,
    group: u32,
    guard: Mutex<Guard>,
    ending: Arc<Ending>,
}

/// Who kills the group without a word. Until it is waited for, the group's number is nobody else's.
struct Guard {
    child: Child,
    word: Option<PipeWriter>,
    over: bool,
}

/// How it ends.
#[derive(Default)]
struct Ending {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// How it ended, in words where it failed.
    verdict: Option<Result<(), String>>,
    /// Who hears of it when it fails.
    watcher: Option<Watcher>,
}

/// The pipe's ends and what else a command begins with.
pub struct Beginning<'a> {
    /// What the shell is told, in the system's bytes.
    pub line: &'a [u8],
    /// The folder that it begins in; this process's own where none is named.
    pub folder: Option<&'a Path>,
    /// Its standard input.
    pub input: Stdio,
    /// Its standard output.
    pub output: Stdio,
    /// What the guard keeps open: the end that the command must not see end.
    pub held: Option<PipeWriter>,
}

impl Shell {
    /// Starts a command that reads what is written into the pipe that this gives.
    ///
    /// # Errors
    /// When the system can't start it.
    pub fn reading(line: &[u8], folder: Option<&Path>) -> io::Result<(Self, PipeWriter)> {
        let (input, writer) = io::pipe()?;
        let held = Some(writer.try_clone()?);
        let (input, output) = (Stdio::from(input), Stdio::null());
        Ok((Self::start(Beginning { line, folder, input, output, held })?, writer))
    }

    /// Starts a command whose output comes out of the pipe that this gives.
    ///
    /// # Errors
    /// When the system can't start it.
    pub fn writing(line: &[u8], folder: Option<&Path>) -> io::Result<(Self, PipeReader)> {
        let (reader, output) = io::pipe()?;
        let (input, output) = (Stdio::null(), Stdio::from(output));
        Ok((Self::start(Beginning { line, folder, input, output, held: None })?, reader))
    }

    fn start(beginning: Beginning<'_>) -> io::Result<Self> {
        let Beginning { line, folder, input, output, held } = beginning;
        let mut command = Command::new("sh");
        command.arg("-c").arg(OsStr::from_bytes(line));
        command.stdin(input).stdout(output).stderr(Stdio::piped()).process_group(0);
        limits::restore_open_files_in(&mut command);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        // The thread first: a command that nobody waits for isn't started.
        let (line, ending) = (shown(line), Arc::<Ending>::default());
        let (its, name) = (Arc::clone(&ending), line.clone());
        let (give, given) = channel::<(Child, Option<LastWords>)>();
        threads::spawn("shell", move || {
            if let Ok((child, words)) = given.recv() {
                its.await_end(child, words, &name);
            }
        })?;
        let mut child = command.spawn()?;
        // What the command's ends of the pipe were must be closed here, or no end would be seen.
        drop(command);
        let group = child.id();
        let words = child.stderr.take().map(LastWords::of).transpose();
        let begun = words.and_then(|words| Ok((words, Guard::start(group, held)?)));
        let (words, guard) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                process::kill_group(group);
                // It is dead: this takes no time.
                let _ = child.wait();
                return Err(error);
            }
        };
        // The thread takes it: it has nothing else to wait for.
        let _ = give.send((child, words));
        Ok(Self { line, group, guard: Mutex::new(guard), ending })
    }

    /// The command as messages name it.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Has `watcher` told if the command fails, at once if it has.
    pub fn watch(&self, watcher: Watcher) {
        let mut state = self.ending.lock();
        match state.verdict.clone() {
            None => state.watcher = Some(watcher),
            Some(Ok(())) => {}
            Some(Err(reason)) => {
                drop(state);
                watcher(reason);
            }
        }
    }

    /// Lets go of the pipe: once the caller's own end is closed, the command sees the end of its bytes.
    pub fn release(&self) {
        self.guard().dismiss();
    }

    /// Waits until the command has ended, by itself or by [`Shell::kill`].
    ///
    /// # Errors
    /// Why it failed.
    pub fn wait(&self) -> Result<(), String> {
        let mut state = self.ending.lock();
        loop {
            if let Some(verdict) = &state.verdict {
                return verdict.clone();
            }
            state = self.ending.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// How the command has ended, if it has within `moment`.
    pub fn verdict(&self, moment: Duration) -> Option<Result<(), String>> {
        let runs = |state: &mut State| state.verdict.is_none();
        let waited = self.ending.ended.wait_timeout_while(self.ending.lock(), moment, runs);
        waited.unwrap_or_else(PoisonError::into_inner).0.verdict.clone()
    }

    /// Kills the command with all of its group, unless it has ended well; it never sees its bytes end.
    pub fn kill(&self) {
        let mut guard = self.guard();
        let mut state = self.ending.lock();
        // Whoever kills it knows.
        state.watcher = None;
        // What a command that ended well has left running stays.
        if !matches!(state.verdict, Some(Ok(()))) && !guard.over {
            process::kill_group(self.group);
        }
        let lives = |state: &mut State| state.verdict.is_none();
        let waited = self.ending.ended.wait_timeout_while(state, DYING, lives);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        guard.end();
    }

    fn guard(&self) -> MutexGuard<'_, Guard> {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Lets it go home: the group stays.
    fn dismiss(&mut self) {
        if let Some(mut word) = self.word.take() {
            // One that is gone can't hear it, and holds nothing.
            let _ = word.write_all(b"over\n");
        }
    }

    fn end(&mut self) {
        self.dismiss();
        // Waited for once; nobody else does.
        self.over |= self.child.wait().is_ok();
    }
}

impl Ending {
    fn await_end(&self, mut child: Child, words: Option<LastWords>, line: &str) {
        let ended = child.wait();
        let verdict = match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failure(line, status, words)),
            Err(error) => Err(format!("waiting for `{line}`: {error}")),
        };
        let mut state = self.lock();
        state.verdict = Some(verdict.clone());
        let watcher = state.watcher.take();
        self.ended.notify_all();
        drop(state);
        if let (Err(reason), Some(watcher)) = (verdict, watcher) {
            watcher(reason);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failure(line: &str, status: ExitStatus, words: Option<LastWords>) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("`{line}` ended with code {code}"),
        (None, Some(signal)) => format!("`{line}` was killed by signal {signal}"),
        (None, None) => format!("`{line}` failed"),
    };
    match words.map(LastWords::into_text) {
        Some(words) if !words.is_empty() => format!("{how}: {words}"),
        _ => how,
    }
}

/// A command in one short line, whatever it holds.
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

    fn folder(test: &str) -> std::path::PathBuf {
        let path =
            std::env::temp_dir().join(format!("garland-shell-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn bytes_go_in_and_the_exit_code_comes_out() {
        let dir = folder("in");
        let (shell, mut input) = Shell::reading(b"cat > 'a b'; exit 3", Some(&dir)).unwrap();
        input.write_all(b"these").unwrap();
        drop(input);
        shell.release();
        assert_eq!(shell.wait(), Err("`cat > 'a b'; exit 3` ended with code 3".to_owned()));
        assert_eq!(std::fs::read(dir.join("a b")).unwrap(), b"these");
        std::fs::remove_dir_all(dir).unwrap();
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
        let dir = folder("killed");
        let (shell, mut input) = Shell::reading(b"cat > x; echo > ended", Some(&dir)).unwrap();
        input.write_all(b"half").unwrap();
        shell.kill();
        drop(input);
        assert!(shell.wait().unwrap_err().contains("killed by signal 9"));
        assert!(!dir.join("ended").exists());
        std::fs::remove_dir_all(dir).unwrap();
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
