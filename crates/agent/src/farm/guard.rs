//! What kills an agent's jobs when the agent itself is killed, and can't: a process of its own that knows
//! which are running, and hears when nobody speaks to it any more.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use garland_sys::{process, random};

/// The running program, which knows how to guard.
const PROGRAM: &str = "/proc/self/exe";

/// Bytes of a word to the guard: that a job has begun (1) or is about to end (0), and its process group;
/// or that there will be no more (2).
const WORD: usize = 5;

/// A variable in the environment of all jobs of a bench: one that was started just before the agent was
/// killed isn't known otherwise.
pub const MARK: &str = "GARLAND_BENCH";

/// A job that is being started has its own environment within this time.
const STARTING: Duration = Duration::from_millis(200);

/// The guard of a bench.
pub struct Guard {
    child: Child,
    input: Mutex<Option<ChildStdin>>,
    mark: String,
}

impl Guard {
    /// Starts it.
    pub fn start() -> io::Result<Self> {
        let mut command = Command::new(PROGRAM);
        let mark: String = random::bytes::<8>().map(|byte| format!("{byte:02x}")).concat();
        command.args(["farm", "guard", &mark]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = Mutex::new(child.stdin.take());
        Ok(Self { child, input, mark })
    }

    /// What its jobs have as [`MARK`] in their environment.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// The job whose processes are in this group has begun.
    pub fn begun(&self, group: u32) {
        self.say(1, group);
    }

    /// It is about to end: its number may be another's soon.
    pub fn ended(&self, group: u32) {
        self.say(0, group);
    }

    fn say(&self, what: u8, group: u32) {
        let mut word = [what; WORD];
        word[1..].copy_from_slice(&group.to_ne_bytes());
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        if input.as_mut().is_some_and(|input| input.write_all(&word).is_err()) {
            // A guard that was killed is missed by nobody but a bench that is killed, too.
            *input = None;
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A bench that ends by itself has ended its jobs.
        self.say(2, 0);
        let _ = self.child.wait();
    }
}

/// Guards until `input` ends; then kills what is running, and what has this `mark`.
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
    std::thread::sleep(STARTING);
    sweep(mark);
}

/// Kills the groups that processes with this mark lead.
fn sweep(mark: &str) {
    let wanted = format!("{MARK}={mark}").into_bytes();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        // One that has ended meanwhile has none, and others' can't be read.
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
    fn what_has_not_ended_is_killed() {
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
