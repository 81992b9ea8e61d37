//! An agent that a test starts itself, in place of a launcher.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::garland::Garland;
use crate::processes::Process;
use crate::waiting::await_some;

/// A running agent. Its process is killed when this value is dropped.
#[derive(Debug)]
pub struct HandAgent {
    child: Child,
    input: Option<ChildStdin>,
    ready: String,
    log: Arc<Mutex<Vec<String>>>,
}

impl HandAgent {
    /// Starts an agent whose files are confined to `root`. `serves` are the arguments that say whom
    /// it serves: `--controller` and its public key (hexadecimal), or `--farm` and its file.
    ///
    /// # Panics
    /// When the agent does not print its ready line.
    #[must_use]
    pub fn start(garland: &Garland<'_>, serves: &[&str], root: &Path) -> Self {
        let mut command = garland.command(&["agent"]);
        command.args(serves).arg("--root").arg(root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("garland can be started");
        let input = child.stdin.take();
        let mut ready = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        output.read_line(&mut ready).expect("the agent's output can be read");
        let log = Arc::new(Mutex::new(Vec::new()));
        let errors = child.stderr.take().expect("it is piped");
        let lines = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                lines.lock().push(line);
            }
        });
        assert!(ready.starts_with("garland-agent "), "no ready line: {ready:?}");
        Self { child, input, ready, log }
    }

    /// Returns the agent's process.
    #[must_use]
    pub fn process(&self) -> Process {
        Process { pid: self.child.id(), command: "garland agent".to_owned() }
    }

    /// Returns the line that the agent printed when it was ready.
    #[must_use]
    pub fn ready_line(&self) -> &str {
        self.ready.trim_end()
    }

    /// Returns the port that the agent listens on.
    ///
    /// # Panics
    /// When the ready line contains no port.
    #[must_use]
    pub fn port(&self) -> u16 {
        let word = self.ready.split_whitespace().nth(2);
        word.and_then(|word| word.parse().ok()).expect("the ready line names a port")
    }

    /// Returns the lines that the agent has written to standard error so far.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.log.lock().clone()
    }

    /// Waits until the agent writes a line to standard error that contains `text`; returns the
    /// line.
    #[must_use]
    pub fn await_log(&self, text: &str) -> String {
        await_some(&format!("`{text}` in the agent's log"), || {
            self.log().into_iter().find(|line| line.contains(text))
        })
    }

    /// Closes the agent's standard input, as happens when its launcher dies, and waits until the
    /// agent exits. Returns its exit code; `None` if a signal killed it.
    ///
    /// # Panics
    /// When the agent does not exit before the deadline.
    #[must_use]
    pub fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        let status = await_some("the agent's end", || {
            self.child.try_wait().expect("a child can be waited for")
        });
        status.code()
    }
}

impl Drop for HandAgent {
    fn drop(&mut self) {
        // Killing the agent fails if it has exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
