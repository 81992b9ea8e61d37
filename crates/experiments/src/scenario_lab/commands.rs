//! Runs commands of this binary in a lab.

use std::io;
use std::process::{Child, Command, Output, Stdio};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use garland_fleet::args::{LAB_VARIABLE, TRACES_VARIABLE};
use garland_fleet::launch::own_binary;
use garland_sys::identity::{self, Signal};
use garland_sys::{clock, process, signal, threads};
use garland_terminal::failure::{Exit, Failure, OrFailure};

use super::ScenarioLab;

/// The interval at which interrupts are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl ScenarioLab<'_> {
    /// Runs this binary with the arguments `words` and the lab's state directory, and returns its
    /// standard output. Its standard error is printed on the terminal. Any exit code but 0 is an
    /// error.
    pub fn garland(&self, words: &[&str]) -> Result<Vec<u8>, Failure> {
        self.garland_tolerating(&[], words)
    }

    /// Runs a command as [`ScenarioLab::garland`] does, and accepts the exit codes in `tolerated`
    /// as well as 0.
    pub(super) fn garland_tolerating(
        &self,
        tolerated: &[Exit],
        words: &[&str],
    ) -> Result<Vec<u8>, Failure> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let (mut outputs, _) = self.at_once(tolerated, &[words])?;
        outputs.pop().ok_or_else(|| Failure::nothing("no command was run"))
    }

    /// Runs this binary several times at once, as [`ScenarioLab::garland_tolerating`] does. Returns
    /// the standard outputs in the same order, and the nanoseconds from before the first start
    /// until the last end.
    pub(super) fn at_once(
        &self,
        tolerated: &[Exit],
        commands: &[Vec<String>],
    ) -> Result<(Vec<Vec<u8>>, u64), Failure> {
        let what = |words: &[String]| format!("garland {}", words.join(" "));
        let started = clock::now_ns();
        let mut children = Vec::new();
        for words in commands {
            match self.start(words) {
                Ok(child) => children.push(child),
                Err(error) => {
                    // The running commands are useless now. Report the failed start, not their
                    // errors.
                    let _ = self.wait(children, true);
                    return Err(error).or_nothing(format!("cannot start {}", what(words)));
                }
            }
        }
        let ended = self.wait(children, false);
        let whole = clock::now_ns() - started;
        let mut outputs = Vec::new();
        for (words, output) in commands.iter().zip(ended) {
            let output = output.or_nothing(format!("cannot wait for {}", what(words)))?;
            let mut ends = tolerated.iter().chain(&[Exit::Done]);
            if !ends.any(|end| output.status.code() == Some(end.code().into())) {
                self.go_on()?;
                return Err(Failure::nothing(format!("{} failed: {}", what(words), output.status)));
            }
            outputs.push(output.stdout);
        }
        Ok((outputs, whole))
    }

    /// Runs commands at the same time. Returns the seconds from the first start to the last end.
    pub fn together(&self, commands: &[Vec<String>]) -> Result<f64, Failure> {
        self.go_on()?;
        self.at_once(&[], commands).map(|(_, whole_ns)| whole_ns as f64 / 1e9)
    }

    /// Starts this binary with the arguments `words` and the lab's own state directory.
    pub(super) fn start(&self, words: &[String]) -> io::Result<Child> {
        let mut command = Command::new(own_binary());
        command.args(words).env("GARLAND_STATE", &self.state);
        // The user's own variables for labs and runs must not affect these commands.
        command.env_remove(LAB_VARIABLE).env_remove(TRACES_VARIABLE);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        signal::release_in(&mut command);
        process::end_with_parent(&mut command);
        command.spawn()
    }

    /// Waits for all children. Sends them SIGTERM when the user interrupts, or immediately if
    /// `at_once`. Returns their outputs in the same order.
    pub(super) fn wait(&self, children: Vec<Child>, at_once: bool) -> Vec<io::Result<Output>> {
        let ids: Vec<u32> = children.iter().map(Child::id).collect();
        let mut terminated = false;
        std::thread::scope(|scope| {
            let start =
                |child: Child| threads::spawn_in(scope, "wait", move || child.wait_with_output());
            let waiting: Vec<_> = children.into_iter().map(start).collect();
            let is_over = |one: &io::Result<ScopedJoinHandle<'_, _>>| {
                one.as_ref().map_or(true, ScopedJoinHandle::is_finished)
            };
            while !waiting.iter().all(is_over) {
                if !terminated && (at_once || self.interrupted()) {
                    terminated = true;
                    let living = ids.iter().zip(&waiting).filter(|(_, one)| !is_over(one));
                    for (id, _) in living {
                        // The child may have ended just now, which the next poll finds.
                        let _ = identity::signal(*id, Signal::TERM);
                    }
                }
                threads::sleep(POLL_INTERVAL);
            }
            let panicked = || io::Error::other("the thread that waited for the command panicked");
            waiting.into_iter().map(|one| one?.join().unwrap_or_else(|_| Err(panicked()))).collect()
        })
    }
}
