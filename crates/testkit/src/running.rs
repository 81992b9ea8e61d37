//! A command that runs while the test does something to it.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use crate::garland::Said;
use crate::processes::Process;
use crate::waiting::await_some;

/// A running command whose output is being read. One that is dropped is killed.
#[derive(Debug)]
pub struct Running {
    child: Child,
    command: String,
    readers: Option<[JoinHandle<Vec<u8>>; 2]>,
}

impl Running {
    /// Starts `command`.
    ///
    /// # Panics
    /// When it can't be started.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let shown = format!("{command:?}");
        let mut child = command.spawn().unwrap_or_else(|error| panic!("starting {shown}: {error}"));
        let readers = Some([read_all(child.stdout.take()), read_all(child.stderr.take())]);
        Self { child, command: shown, readers }
    }

    /// The process.
    #[must_use]
    pub fn process(&self) -> Process {
        Process { pid: self.child.id(), command: self.command.clone() }
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end; what it said.
    ///
    /// # Panics
    /// When it doesn't end before the deadline.
    #[must_use]
    pub fn end(mut self) -> Said {
        let status: ExitStatus = await_some(&format!("the end of {}", self.command), || {
            self.child.try_wait().expect("a child can be waited for")
        });
        let [out, err] = self.readers.take().expect("taken only here");
        let text = |reader: JoinHandle<Vec<u8>>| reader.join().expect("a reader doesn't panic");
        Said::new(status, text(out), &text(err))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // What has ended can't be killed, and needn't.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What came before an error is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}
