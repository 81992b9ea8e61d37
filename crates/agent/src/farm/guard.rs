//! The guard: a process that kills an agent's jobs, or the command of `garland exec`, if the agent
//! itself is killed, and removes the jobs' files. Over a pipe, the agent gives it the mark of the
//! jobs and the directory of their files, and reports the start and the end of each. The pipe
//! closes when the agent ends.
//!
//! A command must not take the end of its agent for that of its input: `sort > file` would write
//! the half of it that came. So the guard holds the write end of this input open, as its own
//! standard output, until it has killed the command, or the agent says that all of the input came.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, PipeWriter, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use garland_sys::child::ForeignGroup;
use garland_sys::mark::Mark;
use garland_sys::removal;
use garland_sys::sync::Mutex;

/// The running program; the guard is one of its hidden commands.
const PROGRAM: &str = "/proc/self/exe";

/// Length of a message to the guard in bytes. The first byte is 1 if a job has begun, 0 if it is
/// about to end, 2 if the guard is to exit without killing jobs, and 3 if it is to hold the input
/// of the command open no longer. The other bytes are the job's process group, in native byte
/// order.
const WORD: usize = 5;

/// The maximum length in bytes of the path of the directory with the jobs' files.
const FOLDER_MAX: usize = 4096;

/// The time allowed between fork(2) and execve(2) of a job's process. Until then the process has
/// the agent's environment, without the mark.
const EXEC_TIMEOUT: Duration = Duration::from_millis(200);

/// The guard of jobs, as the agent controls it. Dropping this makes the guard exit.
pub struct Guard {
    child: Child,
    words: Words,
}

/// The pipe to a guard; `None` if the guard is gone.
#[derive(Clone)]
struct Words(Arc<Mutex<Option<ChildStdin>>>);

/// The input of a command, as its guard holds it open.
pub struct HeldInput(Words);

impl Guard {
    /// Starts the guard of jobs with this mark, whose files are in `folder`. By the mark the guard
    /// finds jobs whose start was not reported, because the agent was killed while it started them,
    /// and processes that left the groups of their jobs. The guard holds `input`, the write end of
    /// a command's input, open.
    ///
    /// # Errors
    /// When the system cannot start the process.
    pub fn start(
        mark: &Mark,
        folder: Option<&Path>,
        input: Option<PipeWriter>,
    ) -> io::Result<Self> {
        let mut command = Command::new(PROGRAM);
        command.args(["farm", "guard"]).process_group(0);
        let held = input.map_or_else(Stdio::null, Stdio::from);
        command.stdin(Stdio::piped()).stdout(held).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let mut input = child.stdin.take();
        // Not as an argument, which all users of the machine see. A guard that has ended is found
        // out later, too.
        if let Some(input) = &mut input {
            let _ = input.write_all(&beginning(mark, folder));
        }
        Ok(Self { child, words: Words(Arc::new(Mutex::new(input))) })
    }

    /// Returns the input that the guard holds open, for whoever fills it.
    pub fn held_input(&self) -> HeldInput {
        HeldInput(self.words.clone())
    }

    /// Reports that a job with this process group has begun.
    pub fn begun(&self, group: u32) {
        self.words.say(1, group);
    }

    /// Reports that a job is about to end, after which the number of its group may be reused.
    pub fn ended(&self, group: u32) {
        self.words.say(0, group);
    }
}

impl Words {
    fn say(&self, what: u8, group: u32) {
        let mut word = [what; WORD];
        word[1..].copy_from_slice(&group.to_ne_bytes());
        let mut input = self.0.lock();
        if input.as_mut().is_some_and(|input| input.write_all(&word).is_err()) {
            // The guard is gone. This matters only if this process is killed, too.
            *input = None;
        }
    }
}

impl HeldInput {
    /// Makes the guard close its end. Once the caller has closed its own, too, the command sees the
    /// end of its input.
    pub fn release(self) {
        self.0.say(3, 0);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The agent has killed its jobs, or they have ended.
        self.words.say(2, 0);
        let _ = self.child.wait();
    }
}

/// Returns what the guard reads first: the mark, and the length and the bytes of the directory's
/// path.
fn beginning(mark: &Mark, folder: Option<&Path>) -> Vec<u8> {
    let folder = folder.map_or(&[][..], |folder| folder.as_os_str().as_bytes());
    let length = u32::try_from(folder.len()).unwrap_or(0);
    [mark.value().as_bytes(), &length.to_ne_bytes(), &folder[..length as usize]].concat()
}

/// Reads the [`beginning`]; `None` if the agent has ended before its first job began.
fn read_beginning(input: &mut impl Read) -> Option<(Mark, Option<PathBuf>)> {
    let mut mark = [0; Mark::LENGTH];
    let mut length = [0; 4];
    input.read_exact(&mut mark).ok()?;
    input.read_exact(&mut length).ok()?;
    let length = u32::from_ne_bytes(length) as usize;
    let mut folder = vec![0; length.min(FOLDER_MAX)];
    input.read_exact(&mut folder).ok()?;
    let folder = (!folder.is_empty()).then(|| OsString::from_vec(folder).into());
    Some((Mark::from_value(&String::from_utf8_lossy(&mark)), folder))
}

/// The body of the guard: reads messages until `input` ends, then kills the running jobs and all
/// other jobs with the mark, and removes their files. Does nothing if the agent orders the guard to
/// exit. Calls `release` when the input of a command is to be held open no longer.
pub fn guard(mut input: impl Read, release: impl Fn()) {
    let Some((mark, folder)) = read_beginning(&mut input) else { return };
    let mut running = HashMap::new();
    let mut word = [0; WORD];
    while input.read_exact(&mut word).is_ok() {
        let [what, group @ ..] = word;
        let group = u32::from_ne_bytes(group);
        match what {
            0 => drop(running.remove(&group)),
            1 => drop(running.insert(group, ForeignGroup::watch(group))),
            3 => release(),
            _ => return,
        }
    }
    // Whoever inherits the agent's jobs reaps them: their numbers may be given to others then.
    let groups: Vec<u32> = running.values().filter_map(ForeignGroup::number).collect();
    mark.kill_all(&groups);
    garland_sys::threads::sleep(EXEC_TIMEOUT);
    mark.kill_all(&[]);
    if let Some(folder) = folder {
        // Fails if no job had files.
        let _ = removal::remove_dir_all(&folder);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn running_jobs_are_killed_and_their_files_removed() {
        let sleep = || Command::new("sleep").arg("30").process_group(0).spawn().unwrap();
        let mut one = sleep();
        let mut other = sleep();
        let word = |what: u8, child: &Child| [&[what], &child.id().to_ne_bytes()[..]].concat();
        let mark = Mark::new();
        let folder = std::env::temp_dir().join(format!("garland-guard-{}", std::process::id()));
        fs::create_dir_all(folder.join("7/in")).unwrap();
        let first = beginning(&mark, Some(&folder));
        let words = [first, word(1, &one), word(1, &other), word(0, &one), vec![1, 0]].concat();
        let mut third = Command::new("setsid");
        mark.put_on(third.args(["sleep", "30"]));
        let mut third = third.spawn().unwrap();
        guard(&words[..], || ());
        assert_eq!(third.wait().unwrap().signal(), Some(9), "it has the mark");
        assert_eq!(other.wait().unwrap().signal(), Some(9));
        assert!(one.try_wait().unwrap().is_none());
        assert!(!folder.exists());
        one.kill().unwrap();
        one.wait().unwrap();
    }
}
