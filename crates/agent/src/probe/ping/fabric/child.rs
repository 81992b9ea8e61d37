//! The helper process, which loads libfabric. Sends orders to the helper and receives its answers,
//! with timeouts.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use garland_core::printable;
use garland_fabric::find::find;
use garland_fabric::words::{self, ANSWER_MAX, Answer, ORDER_MAX, Order, PREFIX, VERSION};
use garland_sys::clock::after;
use garland_sys::error::reason;
use garland_sys::process::user_id;
use garland_sys::socket::TcpStream;
use garland_sys::{clock, event, ownership};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::super::SILENCE;
use super::super::round::read;
use crate::probe::error::ProbeError;
use crate::probe::meeting_state::MeetingState;

/// The name of a helper that the head has sent, for messages.
const BROUGHT: &str = "garland-fabric (sent by the head)";

/// The hint if a helper that the head has sent cannot run.
const ELSEWHERE: &str = "; it needs the head's CPU architecture and C library: on other nodes install \
                         garland-fabric in PATH or ~/.local/bin";

/// The interval at which waits poll whether the meeting is over.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Timeout for a helper to exit without being killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// The number of bytes that are read at a time.
const READ: usize = 64 << 10;

/// The directory in which the provider `shm` keeps its shared memory.
const SHARED: &str = "/dev/shm";
/// The prefix of the addresses of the provider `shm`.
const SHARED_ADDRESS: &[u8] = b"fi_shm://";

/// A running helper, and the connection to the other agent, which has its own helper.
pub struct Helper<'a> {
    meeting: &'a MeetingState,
    stream: &'a TcpStream,
    /// The serial number of the last round.
    serial: u32,
    /// The name of the helper in messages.
    name: String,
    child: Child,
    /// The standard input of the helper; `None` once it is closed, which makes the helper exit.
    input: Option<ChildStdin>,
    output: ChildStdout,
    received: Vec<u8>,
    /// The path of the helper's shared memory, if it uses any. It is removed at the end, since a
    /// helper that is killed leaves it behind.
    leftover: Option<PathBuf>,
}

/// Returns the error for an unexpected answer of the helper.
pub fn unexpected<T>() -> Result<T, ProbeError> {
    Err("protocol error: unexpected answer from garland-fabric".into())
}

impl<'a> Helper<'a> {
    /// Starts the helper, and waits for its hello.
    pub fn start(meeting: &'a MeetingState, stream: &'a TcpStream) -> Result<Self, ProbeError> {
        let found = find(ownership::fault_of_program);
        let (path, name, hint) = match (found, &meeting.helper) {
            (Ok(path), _) => (path, None, ""),
            (Err(_), Some(program)) => (program.path(), Some(BROUGHT), ELSEWHERE),
            (Err(missing), None) => return Err(missing.to_string().into()),
        };
        let name = name.map_or_else(|| printable::path(&path), str::to_owned);
        let mut command = Command::new(path);
        // The helper exits by itself when its input ends, and cleans up: a kill of the agent's
        // process group must not include the helper.
        command
            .arg0("garland-fabric")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let started = command.spawn();
        let mut child =
            started.map_err(|error| format!("cannot start {name}: {}{hint}", reason(&error)))?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("the output is a pipe");
        let serial = 0;
        let received = Vec::new();
        let leftover = None;
        let mut helper =
            Self { meeting, stream, serial, name, child, input, output, received, leftover };
        let hello = helper.answer(Some(after(SILENCE)));
        match hello.map_err(|error| format!("{error}{hint}"))? {
            Answer::Hello(VERSION) => Ok(helper),
            Answer::Hello(version) => Err(format!(
                "{} has protocol version {version}, this agent has {VERSION}; install the same \
                 release of both",
                helper.name
            )
            .into()),
            _ => unexpected(),
        }
    }

    /// Returns the serial number of the next round.
    pub fn next_serial(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    /// Sends a message to the other agent.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        let mut stream = self.stream;
        stream.write_all(&words::frame(message))
    }

    /// Receives a message from the other agent. Fails if the helper ends meanwhile.
    pub fn receive<T: DeserializeOwned>(&mut self) -> Result<T, ProbeError> {
        self.wait_for_other()?;
        let wrong = |what| format!("protocol error: the other agent: {what}");
        let mut prefix = [0; PREFIX];
        read(self.meeting, self.stream, &mut prefix)?;
        let mut bytes = vec![0; words::length(prefix, ORDER_MAX).map_err(wrong)?];
        read(self.meeting, self.stream, &mut bytes)?;
        Ok(words::message(&bytes).map_err(wrong)?)
    }

    /// Sends an order and waits for the answer. The wait ends with the meeting, or when the other
    /// agent leaves the meeting.
    pub fn ask(&mut self, order: &Order) -> Result<Answer, ProbeError> {
        let Some(input) = &mut self.input else { return unexpected() };
        if input.write_all(&words::frame(order)).is_err() {
            return Err(self.end_reason());
        }
        match self.answer(None)? {
            Answer::Refused(reason) => {
                if !matches!(order, Order::List(_) | Order::Open(_) | Order::Meet(_)) {
                    // Let the other agent report first. Operations also fail because the other side
                    // is gone, and then its agent knows the reason.
                    let _ = event::wait_readable(&[self.stream.as_fd()], Some(EXIT_TIMEOUT));
                }
                Err(reason.into())
            }
            Answer::Opened(opened) => {
                self.leftover = shared_file(&opened.peer.address);
                Ok(Answer::Opened(opened))
            }
            answer => Ok(answer),
        }
    }

    /// Returns where the shared memory of the helper's first endpoint lies, if it uses any.
    fn first_memory(&self) -> PathBuf {
        PathBuf::from(SHARED).join(format!("{}:0:0", self.child.id()))
    }

    /// Returns an error if what the provider `shm` would take for the helper's own memory is there
    /// already and belongs to another user.
    pub fn check_first_memory(&self) -> Result<(), ProbeError> {
        let path = self.first_memory();
        match fs::symlink_metadata(&path) {
            Ok(_) => check_owner(&path),
            Err(_) => Ok(()),
        }
    }

    /// Waits until the other agent sends something. Fails if the helper ends meanwhile.
    fn wait_for_other(&mut self) -> Result<(), ProbeError> {
        let deadline_ns = after(SILENCE);
        loop {
            let fds = [self.output.as_fd(), self.stream.as_fd()];
            match event::wait_readable(&fds, Some(CHECK_INTERVAL))?[..] {
                [true, _] => return Err(self.end_reason()),
                [_, true] => return Ok(()),
                _ if self.meeting.is_over() => return Err(ProbeError::Over),
                _ if clock::now_ns() > deadline_ns => {
                    return Err(io::Error::from(io::ErrorKind::TimedOut).into());
                }
                _ => {}
            }
        }
    }

    fn answer(&mut self, deadline_ns: Option<u64>) -> Result<Answer, ProbeError> {
        let mut watches = true;
        loop {
            if let Some(answer) = self.take()? {
                return Ok(answer);
            }
            let own = self.output.as_fd();
            let other = self.stream.as_fd();
            let fds = if watches { vec![own, other] } else { vec![own] };
            let ready = event::wait_readable(&fds, Some(CHECK_INTERVAL))?;
            if ready.first() == Some(&true) {
                self.read_output()?;
            } else if ready.get(1) == Some(&true) {
                // Data from the other agent is read later. If the agent has closed the connection,
                // fail now.
                if self.stream.peek(&mut [0])? == 0 {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                watches = false;
            }
            if self.meeting.is_over() {
                return Err(ProbeError::Over);
            }
            if deadline_ns.is_some_and(|deadline| clock::now_ns() > deadline) {
                return Err(format!("timed out after {SILENCE:?} waiting for {}", self.name).into());
            }
        }
    }

    /// Takes a complete answer from the received bytes; `None` if more bytes are needed.
    fn take(&mut self) -> Result<Option<Answer>, ProbeError> {
        let Some(prefix) = self.received.first_chunk::<PREFIX>() else { return Ok(None) };
        let wrong = |what| format!("garland-fabric: {what}");
        let end = PREFIX + words::length(*prefix, ANSWER_MAX).map_err(wrong)?;
        if self.received.len() < end {
            return Ok(None);
        }
        let answer = words::message(&self.received[PREFIX..end]).map_err(wrong)?;
        self.received.drain(..end);
        Ok(Some(answer))
    }

    fn read_output(&mut self) -> Result<(), ProbeError> {
        let before = self.received.len();
        self.received.resize(before + READ, 0);
        let read = self.output.read(&mut self.received[before..]);
        self.received.truncate(before + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(self.end_reason()),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Returns the error of a helper that has ended, with its exit status.
    fn end_reason(&mut self) -> ProbeError {
        match self.await_end() {
            Some(status) => format!("{} ended unexpectedly: {status}", self.name).into(),
            None => format!("{} closed its output", self.name).into(),
        }
    }

    fn await_end(&mut self) -> Option<std::process::ExitStatus> {
        let deadline = after(EXIT_TIMEOUT);
        loop {
            match self.child.try_wait() {
                Ok(None) if clock::now_ns() < deadline => {
                    garland_sys::threads::sleep(Duration::from_millis(2));
                }
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        // At the end of its input the helper closes its endpoint and exits.
        self.input = None;
        if self.await_end().is_none() {
            // Fails if the helper has exited meanwhile.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        // A helper that was killed before it told its address has its first endpoint's shared
        // memory, at most.
        // The file does not exist if the helper has exited by itself, or uses none.
        let _ = fs::remove_file(self.leftover.take().unwrap_or_else(|| self.first_memory()));
    }
}

/// Returns an error unless the shared memory behind an address of a provider of one machine
/// belongs to this user alone. The provider follows the pointers that it finds there, and takes
/// what has the name already.
pub(super) fn check_shared(address: &[u8]) -> Result<(), ProbeError> {
    let path = shared_file(address).ok_or("the provider does not tell where its memory is")?;
    check_owner(&path)
}

fn check_owner(path: &Path) -> Result<(), ProbeError> {
    let cannot_use = |why: &str| format!("cannot use the memory {}: {why}", printable::path(path));
    let found = fs::symlink_metadata(path).map_err(|error| cannot_use(&reason(&error)))?;
    let is_private = found.is_file()
        && found.uid() == user_id()
        && found.mode() & 0o077 == 0
        && found.nlink() == 1;
    match is_private {
        true => Ok(()),
        false => Err(cannot_use("another user has made it, or may write to it").into()),
    }
}

/// Returns the path of the shared memory behind an address of the provider `shm`; `None` for
/// addresses of other providers.
fn shared_file(address: &[u8]) -> Option<PathBuf> {
    let name = address.strip_prefix(SHARED_ADDRESS)?;
    let name = name.split(|&byte| byte == 0).next()?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b":_-".contains(byte);
    let is_name = !name.is_empty() && name.iter().all(plain);
    is_name.then(|| PathBuf::from(SHARED).join(String::from_utf8_lossy(name).into_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn memory_that_others_made_or_may_write_to_is_not_shared() {
        let path = std::env::temp_dir().join(format!("garland-shared-{}", std::process::id()));
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        fs::write(&path, "memory").unwrap();
        set(0o600);
        check_owner(&path).unwrap();
        let link = path.with_extension("link");
        symlink(&path, &link).unwrap();
        check_owner(&link).unwrap_err();
        set(0o660);
        check_owner(&path).unwrap_err();
        set(0o600);
        if user_id() == 0 {
            chown(&path, Some(65534), None).unwrap();
            check_owner(&path).unwrap_err();
        }
        for path in [&path, &link] {
            fs::remove_file(path).unwrap();
        }
        check_owner(&path).unwrap_err();
        check_shared(b"fi_sm2://1").unwrap_err();
    }

    #[test]
    fn only_a_plain_name_of_shared_memory_is_removed() {
        let file = shared_file(b"fi_shm://123:0:0\0");
        assert_eq!(file, Some(PathBuf::from("/dev/shm/123:0:0")));
        for other in [&b"fi_shm://../x"[..], b"fi_shm://", b"fi_shm://.", b"\x02\0\x1f\x90"] {
            assert_eq!(shared_file(other), None);
        }
    }
}
