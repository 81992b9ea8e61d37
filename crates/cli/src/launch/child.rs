//! A process on this machine that an agent hangs on: its ready line, its complaints, its end.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use garland_node::ReadyLine;

/// How long an agent may take to say that it is ready.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a process may take to end after its input has.
const FAREWELL: Duration = Duration::from_secs(3);

/// Lines of complaint that are kept for an error message.
const COMPLAINTS: usize = 5;

/// A process that has been started and has yet to say that it is ready.
pub struct Starting {
    child: Child,
    lines: Receiver<String>,
    complaints: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
}

/// A process that an agent hangs on. Dropping it ends the agent: its input ends.
pub struct LaunchedChild {
    child: Child,
    input: Option<ChildStdin>,
    readers: Vec<JoinHandle<()>>,
}

impl Starting {
    /// Starts `command`; its complaints go to the file `log`, too.
    pub fn start(mut command: Command, log: &Path) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let (tell, lines) = channel();
        let mut readers = Vec::new();
        if let Some(output) = child.stdout.take() {
            readers.push(std::thread::spawn(move || {
                let mut output = BufReader::new(output);
                let mut line = String::new();
                // What comes after the ready line is the bytes of a copy to standard output.
                while matches!(output.read_line(&mut line), Ok(read) if read > 0) {
                    let ready = ReadyLine::parse(&line).is_some();
                    let _ = tell.send(std::mem::take(&mut line));
                    if ready {
                        drop(tell);
                        // Most agents say no more. Only one that does may keep the others' readers
                        // from standard output: with it kept by one that is silent and hangs, no
                        // other agent's end could be waited for.
                        if !matches!(output.fill_buf(), Ok([]) | Err(_)) {
                            // A reader that is gone ends the copy by itself: the agent fails to
                            // write.
                            let _ = io::copy(&mut output, &mut io::stdout().lock());
                        }
                        return;
                    }
                }
            }));
        }
        if let Some(errors) = child.stderr.take() {
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(log).ok();
            let kept = Arc::clone(&complaints);
            readers.push(std::thread::spawn(move || note_complaints(errors, file, &kept)));
        }
        Ok(Self { child, lines, complaints, readers })
    }

    /// The process's input, for launchers that speak to it first.
    pub fn input(&mut self) -> Option<&mut ChildStdin> {
        self.child.stdin.as_mut()
    }

    /// The next line of its output; says why there is none.
    pub fn next_line(&mut self) -> Result<String, String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Ok(line.trim_end().to_owned()),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("its agent did not start within {} s", PATIENCE.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.reason()),
        }
    }

    /// Waits for the agent's ready line.
    pub fn ready(mut self) -> Result<(ReadyLine, LaunchedChild), String> {
        loop {
            let line = match self.next_line() {
                Ok(line) => line,
                Err(reason) => {
                    // It is of no use any more.
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    return Err(reason);
                }
            };
            if let Some(ready) = ReadyLine::parse(&line) {
                let input = self.child.stdin.take();
                let child = LaunchedChild { child: self.child, input, readers: self.readers };
                return Ok((ready, child));
            }
        }
    }

    fn reason(&mut self) -> String {
        let status = self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
        // Its last words may still be on their way.
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        let complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        if complaints.is_empty() { status } else { complaints.join("; ") }
    }
}

impl Drop for LaunchedChild {
    fn drop(&mut self) {
        drop(self.input.take());
        const LOOK: Duration = Duration::from_millis(2);
        let mut waited = Duration::ZERO;
        while matches!(self.child.try_wait(), Ok(None)) && waited < FAREWELL {
            std::thread::sleep(LOOK);
            waited += LOOK;
        }
        // One that hangs is ended; one that has ended can't be, and needn't.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

fn note_complaints(errors: impl Read, mut file: Option<std::fs::File>, kept: &Mutex<Vec<String>>) {
    for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if let Some(file) = &mut file {
            // The log is for people who look for more; the copy doesn't hang on it.
            let _ = writeln!(file, "{line}");
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == COMPLAINTS {
            kept.remove(0);
        }
        kept.push(line);
    }
}
