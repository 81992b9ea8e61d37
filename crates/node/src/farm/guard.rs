//! What kills an agent's jobs when the agent itself is killed, and can't: a process of its own that knows
//! which are running, and hears when nobody speaks to it any more.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use garland_sys::process;

/// The running program, which knows how to guard.
const PROGRAM: &str = "/proc/self/exe";

/// Bytes of a word to the guard: whether a job has begun, and its process group.
const WORD: usize = 5;

/// The guard of a bench.
pub struct Guard {
    child: Child,
    input: Mutex<Option<ChildStdin>>,
}

impl Guard {
    /// Starts it.
    pub fn start() -> io::Result<Self> {
        let mut command = Command::new(PROGRAM);
        command.args(["farm", "guard"]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = Mutex::new(child.stdin.take());
        Ok(Self { child, input })
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
        drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take());
        // It ends when it hears nothing any more.
        let _ = self.child.wait();
    }
}

/// Guards until `input` ends; then kills what is running.
pub fn guard(mut input: impl Read) {
    let mut running = HashSet::new();
    let mut word = [0; WORD];
    while input.read_exact(&mut word).is_ok() {
        let [what, group @ ..] = word;
        let group = u32::from_ne_bytes(group);
        match what {
            0 => running.remove(&group),
            _ => running.insert(group),
        };
    }
    running.into_iter().for_each(process::kill_group);
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
        guard(&words[..]);
        assert_eq!(other.wait().unwrap().signal(), Some(9));
        assert!(one.try_wait().unwrap().is_none());
        one.kill().unwrap();
        one.wait().unwrap();
    }
}
