//! A command that runs in the background while a test continues.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;

use crate::processes::Process;
use crate::run_output::RunOutput;
use crate::waiting::{await_some, until};

/// A running command whose output is collected. The command is killed when this value is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    command: String,
    readers: Option<[Reader; 2]>,
}

/// A thread that reads a pipe to its end, and the bytes that it has read so far.
#[derive(Debug)]
struct Reader {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Running {
    /// Starts `command` with an empty standard input.
    ///
    /// # Panics
    /// When the command cannot be started.
    #[must_use]
    pub fn start(command: Command) -> Self {
        Self::start_reading(command, Stdio::null())
    }

    /// Starts `command` with the standard input `input`.
    ///
    /// # Panics
    /// When the command cannot be started.
    #[must_use]
    pub fn start_reading(mut command: Command, input: impl Into<Stdio>) -> Self {
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let shown = format!("{command:?}");
        let mut child = command.spawn().unwrap_or_else(|error| panic!("starting {shown}: {error}"));
        let readers =
            Some([Reader::start(child.stdout.take()), Reader::start(child.stderr.take())]);
        Self { child, command: shown, readers }
    }

    /// Returns the process of the command.
    #[must_use]
    pub fn process(&self) -> Process {
        Process { pid: self.child.id(), command: self.command.clone() }
    }

    /// Returns whether the command is still running.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until the command's standard error contains `text`.
    pub fn await_err(&self, text: &str) {
        until(&format!("`{text}` from {}", self.command), || {
            let [_, err] = self.readers.as_ref().expect("taken only at the end");
            String::from_utf8_lossy(&err.bytes.lock()).contains(text)
        });
    }

    /// Waits until `wanted` returns true for the standard output so far, and returns that output.
    /// `what` describes the condition in the message of a panic.
    pub fn await_out(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        await_some(&format!("{what} from {}", self.command), || {
            let [out, _] = self.readers.as_ref().expect("taken only at the end");
            let said = String::from_utf8_lossy(&out.bytes.lock()).into_owned();
            wanted(&said).then_some(said)
        })
    }

    /// Waits until the command ends, and returns its output.
    ///
    /// # Panics
    /// When the command does not end before the deadline.
    #[must_use]
    pub fn end(mut self) -> RunOutput {
        let status: ExitStatus = await_some(&format!("the end of {}", self.command), || {
            self.child.try_wait().expect("a child can be waited for")
        });
        let [out, err] = self.readers.take().expect("taken only here");
        RunOutput::new(status, out.end(), &err.end())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Killing the command fails if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reader {
    fn start(pipe: Option<impl Read + Send + 'static>) -> Self {
        let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
        let into = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            let Some(mut pipe) = pipe else { return };
            let mut buffer = [0; 16 << 10];
            // After an error, keep the bytes before it.
            while let Ok(read @ 1..) = pipe.read(&mut buffer) {
                into.lock().extend(&buffer[..read]);
            }
        });
        Self { bytes, thread }
    }

    fn end(self) -> Vec<u8> {
        self.thread.join().expect("a reader doesn't panic");
        std::mem::take(&mut *self.bytes.lock())
    }
}
