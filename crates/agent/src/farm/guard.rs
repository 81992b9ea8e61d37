//! The guard: a process that kills an agent's jobs if the agent itself is killed. Over a pipe, the
//! agent reports the start and the end of each job. The pipe closes when the agent ends.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use garland_sys::sync::Mutex;
use garland_sys::{process, random};

/// The running program; the guard is one of its hidden commands.
const PROGRAM: &str = "/proc/self/exe";

/// Length of a message to the guard in bytes. The first byte is 1 if a job has begun, 0 if it is
/// about to end, and 2 if the guard is to exit without killing jobs. The other bytes are the job's
/// process group, in native byte order.
const WORD: usize = 5;

/// The variable in the environment of all jobs of an executor. By its value the guard finds jobs
/// whose start was not reported, because the agent was killed while it started them.
pub const MARK: &str = "GARLAND_BENCH";

/// The time allowed between fork(2) and execve(2) of a job's process. Until then the process has
/// the agent's environment, without [`MARK`].
const STARTING: Duration = Duration::from_millis(200);

/// The guard of an executor, as the agent controls it. Dropping this makes the guard exit.
pub struct Guard {
    child: Child,
    input: Mutex<Option<ChildStdin>>,
    /// The value of [`MARK`] in the environment of the jobs.
    pub mark: String,
}

impl Guard {
    /// Starts the guard.
    pub fn start() -> io::Result<Self> {
        let mut command = Command::new(PROGRAM);
        let mark: String = random::bytes::<8>().map(|byte| format!("{byte:02x}")).concat();
        command.args(["farm", "guard", &mark]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = Mutex::new(child.stdin.take());
        Ok(Self { child, input, mark })
    }

    /// Reports that a job with this process group has begun.
    pub fn begun(&self, group: u32) {
        self.say(1, group);
    }

    /// Reports that a job is about to end, after which the number of its group may be reused.
    pub fn ended(&self, group: u32) {
        self.say(0, group);
    }

    fn say(&self, what: u8, group: u32) {
        let mut word = [what; WORD];
        word[1..].copy_from_slice(&group.to_ne_bytes());
        let mut input = self.input.lock();
        if input.as_mut().is_some_and(|input| input.write_all(&word).is_err()) {
            // The guard is gone. This matters only if this process is killed, too.
            *input = None;
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The executor has killed its jobs.
        self.say(2, 0);
        let _ = self.child.wait();
    }
}

/// The body of the guard: reads messages until `input` ends, then kills the running jobs and all
/// other jobs with this `mark`. Kills nothing if the agent orders the guard to exit.
pub fn guard(mut input: impl Read, mark: &str) {
    let mut running = HashSet::new();
    let mut word = [0; WORD];
    while input.read_exact(&mut word).is_ok() {
        let [what, group @ ..] = word;
        let group = u32::from_ne_bytes(group);
        match what {
            0 => running.remove(&group),
            1 => running.insert(group),
            _ => return,
        };
    }
    running.into_iter().for_each(process::kill_group);
    sweep(mark);
    garland_sys::threads::sleep(STARTING);
    sweep(mark);
}

/// Kills the process groups whose leaders have this mark in their environment.
fn sweep(mark: &str) {
    let wanted = format!("{MARK}={mark}").into_bytes();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        // Empty for processes that have ended, and for those of other users.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let has_mark = environment.split(|&byte| byte == 0).any(|variable| variable == wanted);
        number.filter(|_| has_mark).into_iter().for_each(process::kill_group);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn running_jobs_are_killed() {
        let sleep = || Command::new("sleep").arg("30").process_group(0).spawn().unwrap();
        let (mut one, mut other) = (sleep(), sleep());
        let word = |what: u8, child: &Child| [&[what], &child.id().to_ne_bytes()[..]].concat();
        let words = [word(1, &one), word(1, &other), word(0, &one), vec![1, 0]].concat();
        let mut third = Command::new("sleep");
        let mut third = third.arg("30").process_group(0).env(MARK, "own").spawn().unwrap();
        guard(&words[..], "own");
        assert_eq!(third.wait().unwrap().signal(), Some(9), "it has the mark");
        assert_eq!(other.wait().unwrap().signal(), Some(9));
        assert!(one.try_wait().unwrap().is_none());
        one.kill().unwrap();
        one.wait().unwrap();
    }
}
