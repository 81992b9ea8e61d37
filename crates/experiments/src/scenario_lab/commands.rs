//! Commands of this very binary, run in a bench.

use std::io;
use std::process::{Child, Command, Output, Stdio};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use garland_sys::identity::{self, Signal};
use garland_sys::{clock, process, signal, threads};

use super::ScenarioLab;
use garland_commands::args::TRACES_VARIABLE;
use garland_fleet::args::LAB_VARIABLE;
use garland_fleet::launch::own_binary;
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// How often requests to end are looked for.
const EVERY: Duration = Duration::from_millis(5);

/// How often copies that seem too slow are made again: other programs use this machine as well.
pub const AGAIN: u32 = 2;

impl ScenarioLab<'_> {
    /// Runs this binary with `arguments` in the bench's own state; its standard output. Its
    /// complaints go to the terminal.
    pub fn garland(&self, arguments: &[&str]) -> Result<Vec<u8>, Failure> {
        self.garland_ending(arguments, &[Exit::Done])
    }

    /// The same where the command may say that it did only some of what it was asked for.
    pub fn garland_of_some(&self, arguments: &[&str]) -> Result<Vec<u8>, Failure> {
        self.garland_ending(arguments, &[Exit::Done, Exit::SomeFailed])
    }

    /// The same where it may also say that nothing was done.
    pub fn garland_of_any(&self, arguments: &[&str]) -> Result<Vec<u8>, Failure> {
        self.garland_ending(arguments, &[Exit::Done, Exit::SomeFailed, Exit::Nothing])
    }

    fn garland_ending(&self, arguments: &[&str], ends: &[Exit]) -> Result<Vec<u8>, Failure> {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        let (mut outputs, _) = self.garlands_ending(&[arguments], ends)?;
        outputs.pop().ok_or_else(|| Failure::nothing("nothing was run"))
    }

    /// Runs this binary several times at once, as [`ScenarioLab::garland`] does; the standard outputs in
    /// the same order, and nanoseconds from before the first was started until the last had ended.
    pub fn garlands(&self, commands: &[Vec<String>]) -> Result<(Vec<Vec<u8>>, u64), Failure> {
        self.garlands_ending(commands, &[Exit::Done])
    }

    fn garlands_ending(
        &self,
        commands: &[Vec<String>],
        ends: &[Exit],
    ) -> Result<(Vec<Vec<u8>>, u64), Failure> {
        let what = |words: &[String]| format!("garland {}", words.join(" "));
        let started = clock::now_ns();
        let mut children = Vec::new();
        for words in commands {
            match self.start(words) {
                Ok(child) => children.push(child),
                Err(error) => {
                    // Those that run already are of no use; what failed is told.
                    let _ = self.wait(children, true);
                    return Err(error).or_nothing(format!("starting {}", what(words)));
                }
            }
        }
        let ended = self.wait(children, false);
        let whole = clock::now_ns() - started;
        let mut outputs = Vec::new();
        for (words, output) in commands.iter().zip(ended) {
            let output = output.or_nothing(format!("waiting for {}", what(words)))?;
            if !ends.iter().any(|end| output.status.code() == Some(end.code().into())) {
                self.go_on()?;
                return Err(Failure::nothing(format!("{}: {}", what(words), output.status)));
            }
            outputs.push(output.stdout);
        }
        Ok((outputs, whole))
    }

    /// Seconds of [`ScenarioLab::garlands`]; of several tries the least, when the first takes more than is
    /// enough.
    pub fn fastest(&self, commands: &[Vec<String>], enough_s: f64) -> Result<f64, Failure> {
        self.fastest_of(enough_s, || self.garlands(commands).map(|(_, whole_ns)| whole_ns))
    }

    /// The same of anything that takes so many nanoseconds.
    pub fn fastest_of(
        &self,
        enough_s: f64,
        mut attempt: impl FnMut() -> Result<u64, Failure>,
    ) -> Result<f64, Failure> {
        let mut least = f64::INFINITY;
        for _ in 0..=AGAIN {
            self.go_on()?;
            let whole_ns = attempt()?;
            least = least.min(whole_ns as f64 / 1e9);
            if least <= enough_s {
                break;
            }
        }
        Ok(least)
    }

    pub(super) fn start(&self, words: &[String]) -> io::Result<Child> {
        let mut command = Command::new(own_binary());
        command.args(words).env("GARLAND_STATE", &self.state);
        // What the user says of labs and runs of his own isn't meant for these.
        command.env_remove(LAB_VARIABLE).env_remove(TRACES_VARIABLE);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        signal::release_in(&mut command);
        process::end_with_parent(&mut command);
        command.spawn()
    }

    /// Waits for all, and asks them to end when the user wants that, or `at_once`.
    pub(super) fn wait(&self, children: Vec<Child>, at_once: bool) -> Vec<io::Result<Output>> {
        let ids: Vec<u32> = children.iter().map(Child::id).collect();
        let mut asked = false;
        std::thread::scope(|scope| {
            let start =
                |child: Child| threads::spawn_in(scope, "wait", move || child.wait_with_output());
            let waiting: Vec<_> = children.into_iter().map(start).collect();
            let is_over = |one: &io::Result<ScopedJoinHandle<'_, _>>| {
                one.as_ref().map_or(true, ScopedJoinHandle::is_finished)
            };
            while !waiting.iter().all(is_over) {
                if !asked && (at_once || self.interrupted()) {
                    asked = true;
                    let living = ids.iter().zip(&waiting).filter(|(_, one)| !is_over(one));
                    for (id, _) in living {
                        // It may have ended just now, which the next look finds.
                        let _ = identity::signal(*id, Signal::TERM);
                    }
                }
                std::thread::sleep(EVERY);
            }
            let panicked = || io::Error::other("the thread that waited for it has panicked");
            waiting.into_iter().map(|one| one?.join().unwrap_or_else(|_| Err(panicked()))).collect()
        })
    }
}
