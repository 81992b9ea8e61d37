//! A process on this machine that an agent hangs on: its ready line, its complaints, its end.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use garland_protocol::ReadyLine;
use garland_sys::{clock, signal, threads};

use super::bootstrap::BootstrapLine;
use super::input::Input;
use super::stdout::pass_on;
use super::will::Will;

/// How long an agent may take to say that it is ready.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long processes may take to end after their input has.
pub const FAREWELL: Duration = Duration::from_secs(3);

/// How long processes may take to end after Ctrl-C; those that hang are left behind.
pub const HURRY: Duration = Duration::from_secs(1);

/// How long a process that was killed may take to be gone: unless it hangs in the kernel, no time.
pub const REAPING: Duration = Duration::from_millis(300);

/// Lines of complaint, the last ones, that an error message has.
const COMPLAINTS: usize = 5;

/// Bytes of complaint that are looked at for it.
const COMPLAINTS_MAX: u64 = 64 << 10;

/// A process that has been started and has yet to say that it is ready.
pub struct Starting {
    child: Child,
    input: Option<Input>,
    will: Will,
    lines: Receiver<String>,
    /// Where its complaints go, read from where they begin.
    complaints: File,
    reader: Option<JoinHandle<()>>,
}

/// A process that an agent hangs on. Dropping it ends the agent: its input ends.
pub struct LaunchedChild {
    child: Child,
    input: Option<Input>,
    reader: Option<JoinHandle<()>>,
    /// It was killed and isn't gone: nobody waits for it any more.
    is_left: bool,
}

impl Starting {
    /// Starts `command`. Its complaints go straight to the file `log`, not through this process,
    /// so that what an agent says of its head's death is kept.
    pub fn start(mut command: Command, log: &Path, will: &Will) -> io::Result<Self> {
        let errors = OpenOptions::new().append(true).create(true).mode(0o600).open(log)?;
        // Opened anew, since a duplicate would move on with every line that is written.
        let mut complaints = File::open(log)?;
        complaints.seek(SeekFrom::End(0))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        signal::release_in(&mut command);
        let mut child = command.spawn()?;
        let input = child.stdin.take().map(|pipe| Input::new(pipe, will.clone())).transpose()?;
        let (tell, lines) = channel();
        let reader = child.stdout.take().map(|output| {
            threads::spawn("child", move || {
                let mut output = BufReader::new(output);
                let mut line = String::new();
                let mut marked = false;
                // What comes after the ready line is the bytes of a copy to standard output.
                while matches!(output.read_line(&mut line), Ok(read) if read > 0) {
                    let ready = ReadyLine::parse(&line).is_some();
                    // In a step of Slurm the script says a word after the agent, too.
                    marked |= matches!(BootstrapLine::parse(&line), BootstrapLine::At(Some(_), _));
                    let _ = tell.send(std::mem::take(&mut line));
                    if ready {
                        drop(tell);
                        // Most agents say no more. Only one that does may keep the others' readers
                        // from standard output: with it kept by one that is silent and hangs, no
                        // other agent's end could be waited for.
                        if !matches!(output.fill_buf(), Ok([]) | Err(_)) {
                            let passed = pass_on(&mut output, &mut io::stdout().lock(), marked);
                            // A reader that is gone ends the copy by itself: the agent fails to
                            // write.
                            if passed.is_err_and(|error| error.kind() == ErrorKind::UnexpectedEof) {
                                garland_terminal::errln!(
                                    "error: copying to standard output: srun lost the last bytes; \
                                     copy to a file of the node instead"
                                );
                            }
                        }
                        return;
                    }
                }
            })
        });
        let reader = reader.transpose().inspect_err(|_| {
            // Nobody would hear it.
            let _ = child.kill();
            let _ = child.wait();
        })?;
        Ok(Self { child, input, will: will.clone(), lines, complaints, reader })
    }

    /// The process's input, for launchers that speak to it first.
    pub fn input(&mut self) -> Option<&mut Input> {
        self.input.as_mut()
    }

    /// The next line of its output; says why there is none.
    pub fn next_line(&mut self) -> Result<String, String> {
        let mut waited = Duration::ZERO;
        while waited < PATIENCE {
            match self.lines.recv_timeout(Will::LOOK) {
                Ok(line) => return Ok(line.trim_end().to_owned()),
                Err(RecvTimeoutError::Timeout) => self.will.check()?,
                Err(RecvTimeoutError::Disconnected) => return Err(self.reason()),
            }
            waited += Will::LOOK;
        }
        Err(format!("its agent did not start within {} s", PATIENCE.as_secs()))
    }

    /// Waits for the agent's ready line.
    pub fn ready(self) -> Result<(ReadyLine, LaunchedChild), String> {
        self.ready_after(|_, _| Ok(()))
    }

    /// Waits for the agent's ready line; `answer` is told every line before it, and may write to the
    /// process or give up.
    pub fn ready_after(
        mut self,
        mut answer: impl FnMut(&str, &mut Input) -> Result<(), String>,
    ) -> Result<(ReadyLine, LaunchedChild), String> {
        loop {
            let next = self.next_line().and_then(|line| {
                let ready = ReadyLine::parse(&line);
                if let (None, Some(input)) = (&ready, &mut self.input) {
                    answer(&line, input)?;
                }
                Ok(ready)
            });
            match next {
                Ok(None) => {}
                Ok(Some(ready)) => return Ok((ready, self.keep())),
                Err(reason) => {
                    // It is of no use any more.
                    let mut child = self.keep();
                    child.kill();
                    child.reap(after(REAPING));
                    return Err(reason);
                }
            }
        }
    }

    /// Keeps the process whatever it says.
    pub fn keep(self) -> LaunchedChild {
        LaunchedChild { child: self.child, input: self.input, reader: self.reader, is_left: false }
    }

    fn reason(&mut self) -> String {
        let status = self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
        let mut bytes = Vec::new();
        // Without complaints the status must do.
        let _ = (&self.complaints).take(COMPLAINTS_MAX).read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let last = &lines[lines.len().saturating_sub(COMPLAINTS)..];
        if last.is_empty() { status } else { last.join("; ") }
    }
}

impl LaunchedChild {
    /// Lets the agent end, without waiting for it: many do so at once.
    pub fn dismiss(&mut self) {
        drop(self.input.take());
    }

    /// Ends the process. An agent that is dead to the rest of the world doesn't notice that its
    /// input has ended, and isn't waited for.
    pub fn kill(&mut self) {
        // One that has ended can't be killed, and needn't.
        let _ = self.child.kill();
    }
}

impl LaunchedChild {
    /// Waits for the process until `deadline_ns`, then kills it.
    pub fn end(&mut self, deadline_ns: u64) {
        self.dismiss();
        if !self.await_end(deadline_ns) {
            self.kill();
        }
    }

    /// Waits until `deadline_ns` for the process, which was killed or has ended. One that hangs in the
    /// kernel, in a call on a disk that doesn't answer, can't be killed: it is left behind, for init to
    /// wait for.
    pub fn reap(&mut self, deadline_ns: u64) {
        if !self.await_end(deadline_ns) {
            self.is_left = true;
            return;
        }
        if let Some(reader) = self.reader.take() {
            // Its panic has been printed; there is nothing more to say about it here.
            let _ = reader.join();
        }
    }

    /// Waits for the process; whether it has ended by `deadline_ns`.
    fn await_end(&mut self, deadline_ns: u64) -> bool {
        const LOOK: Duration = Duration::from_millis(2);
        while matches!(self.child.try_wait(), Ok(None)) {
            if clock::now_ns() >= deadline_ns {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }
}

/// So many nanoseconds from now.
pub fn after(time: Duration) -> u64 {
    clock::now_ns().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

impl Drop for LaunchedChild {
    fn drop(&mut self) {
        if !self.is_left {
            self.end(after(FAREWELL));
            self.reap(after(REAPING));
        }
    }
}
