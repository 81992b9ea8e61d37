//! Identities of processes. They distinguish a process from a later one with the same number, so
//! that signals reach exactly the intended process.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
pub use rustix::process::Signal;
use rustix::process::{Pid, PidfdFlags};

use crate::process::{self, boot_id};
use crate::process_status::ProcessStatus;

/// The identity of a process: its number, start time and boot. It is unique even if the number is
/// reused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The process number in the PID namespace of `/proc`.
    pub pid: u32,
    /// The start time in clock ticks after boot (field 22 of proc_pid_stat(5)).
    pub start: u64,
    /// The id of the boot during which the process was started (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
}

impl Identity {
    /// Returns the identity of the process that has the number `pid` now.
    pub fn from_pid(pid: u32) -> io::Result<Identity> {
        Ok(Identity { pid, start: start_ticks(pid)?, boot: boot_id() })
    }

    /// Returns the identity of the calling process. Its number is that of `/proc`, which may differ
    /// from getpid(2) inside a PID namespace.
    pub fn own() -> io::Result<Identity> {
        let link = fs::read_link("/proc/self")?;
        let pid = link
            .to_str()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| io::Error::other("/proc/self does not link to a process number"))?;
        Identity::from_pid(pid)
    }

    /// Returns whether the process, one of this user, is still running. A zombie counts as ended.
    pub fn is_alive(&self) -> bool {
        // What tells the start may never come of another user's process, which has the number now.
        let status = ProcessStatus::read(self.pid);
        status.is_some_and(|status| status.is_own && !status.has_ended)
            && Identity::from_pid(self.pid).is_ok_and(|now| now == *self)
    }

    /// Opens a handle to the process; `None` if it has ended.
    pub fn handle(&self) -> io::Result<Option<Handle>> {
        let pid = Pid::from_raw(self.pid.cast_signed())
            .ok_or_else(|| io::Error::other("0 is not a process number"))?;
        let handle = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(descriptor) => Handle::Descriptor(descriptor),
            Err(Errno::SRCH) => return Ok(None),
            Err(Errno::NOSYS | Errno::PERM) => Handle::Number(self.clone()),
            Err(error) => return Err(error.into()),
        };
        // The number may have been reused before the descriptor was opened, so check again.
        Ok(self.is_alive().then_some(handle))
    }
}

/// A process to which signals can be sent.
#[derive(Debug)]
pub enum Handle {
    /// A descriptor of the process (pidfd). Signals sent through it cannot reach a later process
    /// that has the same number.
    Descriptor(OwnedFd),
    /// The identity of the process, on kernels without pidfds (before 5.3). It is compared right
    /// before each signal. A process that ends between the two, and whose number is reused in these
    /// microseconds, is not told apart: the kernel uses all other numbers first.
    Number(Identity),
}

/// How often a process without a descriptor is looked at to see whether it has ended.
const END_CHECK_INTERVAL: Duration = Duration::from_millis(10);

impl Handle {
    /// Kills the process (SIGKILL). Succeeds if it has already ended.
    pub fn kill(&self) -> io::Result<()> {
        self.send(Signal::KILL)
    }

    /// Asks the process to end (SIGTERM). Succeeds if it has already ended.
    pub fn ask_to_end(&self) -> io::Result<()> {
        self.send(Signal::TERM)
    }

    fn send(&self, wanted: Signal) -> io::Result<()> {
        let sent = match self {
            Self::Descriptor(descriptor) => {
                rustix::process::pidfd_send_signal(descriptor, wanted).map_err(io::Error::from)
            }
            Self::Number(identity) if identity.is_alive() => signal(identity.pid, wanted),
            Self::Number(_) => Ok(()),
        };
        match sent {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => Ok(()),
            sent => sent,
        }
    }

    /// Waits until the process has ended. Returns false if it is still running after `limit`.
    pub fn wait(&self, limit: Duration) -> io::Result<bool> {
        let descriptor = match self {
            Self::Descriptor(descriptor) => descriptor,
            Self::Number(identity) => return Ok(ended_within(identity, limit)),
        };
        let mut polled = [PollFd::new(descriptor, PollFlags::IN)];
        let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
        loop {
            match rustix::event::poll(&mut polled, Some(&limit)) {
                Ok(ready) => return Ok(ready > 0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn ended_within(identity: &Identity, limit: Duration) -> bool {
    let start = crate::clock::now_ns();
    while identity.is_alive() {
        if u128::from(crate::clock::now_ns() - start) >= limit.as_nanos() {
            return false;
        }
        std::thread::sleep(END_CHECK_INTERVAL);
    }
    true
}

/// Sends a signal to the process with the number `pid`.
pub fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = Pid::from_raw(pid.cast_signed())
        .ok_or_else(|| io::Error::other("0 is not a process number"))?;
    Ok(rustix::process::kill_process(pid, signal)?)
}

/// Returns the time since the process was started, in seconds, with a resolution of 10 ms.
pub fn age(identity: &Identity) -> io::Result<f64> {
    let text = fs::read_to_string("/proc/uptime")?;
    let up: f64 = text
        .split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| io::Error::other("/proc/uptime does not begin with a number"))?;
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    Ok((up - identity.start as f64 / ticks).max(0.0))
}

fn start_ticks(pid: u32) -> io::Result<u64> {
    stat_field(pid, 22)?
        .parse()
        .map_err(|_| io::Error::other("the start time in /proc/PID/stat is not a number"))
}

/// Returns field `number` of `/proc/PID/stat`, counted as in proc_pid_stat(5), from 3 on. The name,
/// which is the second field, may contain anything.
fn stat_field(pid: u32, number: usize) -> io::Result<String> {
    let fields = process::stat_after_name(&pid.to_string())?;
    fields
        .split_whitespace()
        .nth(number - 3)
        .map(str::to_owned)
        .ok_or_else(|| io::Error::other("/proc/PID/stat has too few fields"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_identity_is_alive_and_another_start_is_not() {
        let this = Identity::own().expect("/proc is mounted");
        assert!(this.is_alive());
        let other = Identity { start: this.start + 1, ..this };
        assert!(!other.is_alive());
        assert!(other.handle().expect("pidfd_open works").is_none());
    }

    #[test]
    fn a_killed_process_is_seen_to_end_with_and_without_pidfds() {
        for has_pidfds in [true, false] {
            let mut child =
                std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
            let identity = Identity::from_pid(child.id()).expect("it runs");
            let handle = if has_pidfds {
                identity.handle().expect("a handle").expect("it runs")
            } else {
                Handle::Number(identity.clone())
            };
            assert!(!handle.wait(Duration::from_millis(10)).expect("poll"));
            handle.kill().expect("kill");
            assert!(handle.wait(Duration::from_secs(60)).expect("poll"));
            assert!(!identity.is_alive());
            child.wait().expect("reap");
            handle.kill().expect("it has ended");
        }
    }
}
