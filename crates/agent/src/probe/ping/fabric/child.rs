//! The helper process, which loads libfabric: sends it orders and receives its answers, with
//! timeouts.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use garland_fabric::words::{self, ANSWER_MAX, Answer, Order, PREFIX, VERSION};
use garland_sys::{clock, event};

use super::super::super::SILENCE;
use super::super::round::broken;
use crate::probe::meeting_state::MeetingState;
use garland_dataplane::leaving::after;
use garland_fabric::find::find;
use garland_sys::error::reason;

/// The name of a helper that the head has sent, for messages.
const BROUGHT: &str = "garland-fabric (sent by the head)";

/// The hint if a helper that the head has sent cannot run.
const ELSEWHERE: &str = "; it needs the head's CPU architecture and C library: on other nodes install \
                         garland-fabric in PATH or ~/.local/bin";

/// How often a wait polls whether the meeting is over.
const TICK: Duration = Duration::from_millis(200);

/// How long a helper may take to exit by itself.
const FAREWELL: Duration = Duration::from_secs(1);

/// Bytes that are read at a time.
const READ: usize = 64 << 10;

/// The directory of shared memory of the provider `shm`, and the beginning of its addresses.
const SHARED: &str = "/dev/shm";
const SHARED_ADDRESS: &[u8] = b"fi_shm://";

/// A running helper.
pub struct Helper {
    /// Its name in messages.
    name: String,
    child: Child,
    /// `None` once the helper is told to exit.
    input: Option<ChildStdin>,
    output: ChildStdout,
    received: Vec<u8>,
    /// A file that remains if the helper is killed.
    leftover: Option<PathBuf>,
}

/// Returns the error of an unexpected answer.
pub fn out_of_turn() -> String {
    "protocol error: unexpected answer from garland-fabric".to_owned()
}

impl Helper {
    /// Starts the helper, and waits for its hello.
    pub fn start(meeting: &MeetingState, stream: &TcpStream) -> Result<Self, String> {
        let (path, name, hint) = match (find(), meeting.helper()) {
            (Ok(path), _) => (path, None, ""),
            (Err(_), Some(program)) => (program.path(), Some(BROUGHT), ELSEWHERE),
            (Err(missing), None) => return Err(missing),
        };
        let name = name.map_or_else(|| path.display().to_string(), str::to_owned);
        let mut command = Command::new(path);
        // It exits by itself when its input ends, and cleans up: a kill of the agent's process
        // group must not include it.
        command
            .arg0("garland-fabric")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let started = command.spawn();
        let failed = |error: &io::Error| format!("cannot start {name}: {}{hint}", reason(error));
        let mut child = started.map_err(|error| failed(&error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(&io::ErrorKind::BrokenPipe.into()));
        };
        let input = Some(input);
        let mut helper = Self { name, child, input, output, received: Vec::new(), leftover: None };
        let deadline_ns = after(SILENCE);
        let hello = helper.answer(meeting, stream, Some(deadline_ns));
        match hello.map_err(|why| format!("{why}{hint}"))? {
            Answer::Hello(VERSION) => Ok(helper),
            Answer::Hello(version) => Err(format!(
                "{} has protocol version {version}, this agent {VERSION}; install both of one \
                 release",
                helper.name
            )),
            _ => Err(out_of_turn()),
        }
    }

    /// Sends an order and waits for the answer. The wait ends with the meeting, or when the other
    /// agent leaves it.
    pub fn ask(
        &mut self,
        order: &Order,
        meeting: &MeetingState,
        stream: &TcpStream,
    ) -> Result<Answer, String> {
        let input = self.input.as_mut().ok_or_else(out_of_turn)?;
        if input.write_all(&words::frame(order)).is_err() {
            return Err(self.obituary());
        }
        match self.answer(meeting, stream, None)? {
            Answer::Refused(reason) => {
                if !matches!(order, Order::List(_) | Order::Open(_) | Order::Meet(_)) {
                    give_way(stream);
                }
                Err(reason)
            }
            Answer::Opened(opened) => {
                self.leftover = shared_file(&opened.peer.address);
                Ok(Answer::Opened(opened))
            }
            answer => Ok(answer),
        }
    }

    /// Waits until the other agent sends something. Fails if the helper ends meanwhile.
    pub fn wait_for_other(
        &mut self,
        meeting: &MeetingState,
        stream: &TcpStream,
    ) -> Result<(), String> {
        let deadline_ns = after(SILENCE);
        loop {
            let fds = [self.output.as_fd(), stream.as_fd()];
            let ready = event::wait_readable(&fds, Some(TICK)).map_err(|error| broken(&error))?;
            match ready[..] {
                [true, _] => return Err(self.obituary()),
                [_, true] => return Ok(()),
                _ if meeting.is_over() => {
                    return Err("the meeting was ended, or exceeded its time limit".to_owned());
                }
                _ if clock::now_ns() > deadline_ns => {
                    return Err(broken(&io::ErrorKind::TimedOut.into()));
                }
                _ => {}
            }
        }
    }

    fn answer(
        &mut self,
        meeting: &MeetingState,
        stream: &TcpStream,
        deadline_ns: Option<u64>,
    ) -> Result<Answer, String> {
        let mut watches = true;
        loop {
            if let Some(answer) = self.take()? {
                return Ok(answer);
            }
            let (own, other) = (self.output.as_fd(), stream.as_fd());
            let fds = if watches { vec![own, other] } else { vec![own] };
            let ready = event::wait_readable(&fds, Some(TICK)).map_err(|error| broken(&error))?;
            if ready.first() == Some(&true) {
                self.receive()?;
            } else if ready.get(1) == Some(&true) {
                // Data from the other agent is read later. If the agent has closed the connection,
                // fail now.
                match stream.peek(&mut [0]) {
                    Ok(0) => return Err(broken(&io::ErrorKind::UnexpectedEof.into())),
                    Ok(_) => watches = false,
                    Err(error) => return Err(broken(&error)),
                }
            }
            if meeting.is_over() {
                return Err("the meeting was ended, or exceeded its time limit".to_owned());
            }
            if deadline_ns.is_some_and(|deadline| clock::now_ns() > deadline) {
                return Err(format!("timed out after {SILENCE:?} waiting for {}", self.name));
            }
        }
    }

    /// Takes a complete answer from the received bytes.
    fn take(&mut self) -> Result<Option<Answer>, String> {
        let Some(prefix) = self.received.first_chunk::<PREFIX>() else { return Ok(None) };
        let wrong = |what: String| format!("garland-fabric: {what}");
        let end = PREFIX + words::length(*prefix, ANSWER_MAX).map_err(wrong)?;
        if self.received.len() < end {
            return Ok(None);
        }
        let answer = words::message(&self.received[PREFIX..end]).map_err(wrong)?;
        self.received.drain(..end);
        Ok(Some(answer))
    }

    fn receive(&mut self) -> Result<(), String> {
        let before = self.received.len();
        self.received.resize(before + READ, 0);
        let read = self.output.read(&mut self.received[before..]);
        self.received.truncate(before + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(self.obituary()),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(broken(&error)),
            _ => Ok(()),
        }
    }

    /// Returns how the helper ended, for messages.
    fn obituary(&mut self) -> String {
        let ended = self.await_end();
        let name = &self.name;
        match ended {
            Some(status) => format!("{name} ended unexpectedly: {status}"),
            None => format!("{name} closed its output"),
        }
    }

    fn await_end(&mut self) -> Option<std::process::ExitStatus> {
        let deadline = after(FAREWELL);
        loop {
            match self.child.try_wait() {
                Ok(None) if clock::now_ns() < deadline => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // At the end of its input the helper closes its endpoint and exits.
        self.input = None;
        if self.await_end().is_none() {
            // Fails if the helper has exited meanwhile.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if let Some(file) = self.leftover.take() {
            // The file does not exist if the helper has exited by itself.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Lets the other agent report first. Operations also fail because the other side is gone, and then
/// its agent knows the reason.
fn give_way(stream: &TcpStream) {
    // Whatever the result, an error is reported afterwards.
    let _ = event::wait_readable(&[stream.as_fd()], Some(FAREWELL));
}

/// Returns the file of an address of the provider `shm`.
fn shared_file(address: &[u8]) -> Option<PathBuf> {
    let name = address.strip_prefix(SHARED_ADDRESS)?;
    let name = name.split(|&byte| byte == 0).next()?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b":_-".contains(byte);
    let is_name = !name.is_empty() && name.iter().all(plain);
    is_name.then(|| PathBuf::from(SHARED).join(String::from_utf8_lossy(name).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_name_of_shared_memory_is_removed() {
        let file = shared_file(b"fi_shm://123:0:0\0");
        assert_eq!(file, Some(PathBuf::from("/dev/shm/123:0:0")));
        for other in [&b"fi_shm://../x"[..], b"fi_shm://", b"fi_shm://.", b"\x02\0\x1f\x90"] {
            assert_eq!(shared_file(other), None);
        }
    }
}
