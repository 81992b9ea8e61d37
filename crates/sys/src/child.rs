//! Child processes: waiting for a child together with other descriptors, and its resource usage.
//! Kernels without pidfd_open(2) (before 5.3) cost a thread for each child that is watched.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

use crate::sync::Mutex;

/// The exit status and the resource usage of a child process.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// How the child ended: its exit code, or the signal that killed it.
    pub status: ExitStatus,
    /// The CPU time of the child and of all processes that it waited for, in nanoseconds.
    pub cpu_ns: u64,
    /// The peak resident memory of the child, or of a process that it waited for if that was
    /// larger, in bytes. Includes the time before the child executed its program, when it had its
    /// parent's memory.
    pub memory: u64,
}

/// Returns a descriptor that becomes readable when `child` ends: a pidfd, or the end of a pipe.
///
/// # Errors
/// When the system has no descriptor left.
pub fn watch(child: &Child) -> io::Result<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    match pidfd_open(pid, PidfdFlags::empty()) {
        Err(Errno::NOSYS | Errno::PERM) => watch_by_thread(pid),
        opened => Ok(opened?),
    }
}

/// Returns the number of the process that `watched` belongs to, a descriptor of [`watch`], as
/// `/proc` names it: another number than [`Child::id`] if `/proc` belongs to another PID namespace.
/// `None` if the descriptor is not a pidfd.
#[must_use]
pub fn number_in_proc(watched: &OwnedFd) -> Option<u32> {
    let path = format!("/proc/self/fdinfo/{}", watched.as_raw_fd());
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Pid:")?.trim().parse().ok())
}

/// Returns the reading end of a pipe whose writing end belongs to a thread that waits for the child
/// `pid`, and leaves it to be reaped by others.
fn watch_by_thread(pid: Pid) -> io::Result<OwnedFd> {
    let (reading, writing) = io::pipe()?;
    let wait = move || {
        let ends = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(Errno::INTR) = waitid(WaitId::Pid(pid), ends) {}
        drop(writing);
    };
    std::thread::Builder::new().name("child".to_owned()).spawn(wait)?;
    Ok(reading.into())
}

/// Waits until `child` has ended. Its number is not given to another process before it is reaped.
///
/// # Errors
/// When the child was already waited for.
pub fn await_end(child: &Child) -> io::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(Errno::INTR) => {}
            waited => return Ok(waited.map(drop)?),
        }
    }
}

/// The process group of a child that one thread waits for while another one may signal it. The
/// number of the group is another one's as soon as its leader is reaped, and all processes have
/// ended.
#[derive(Clone, Debug)]
pub struct Group(Arc<Mutex<Option<u32>>>);

impl Group {
    /// Creates the group that `leader` leads, which has not been waited for.
    #[must_use]
    pub fn from_leader(leader: &Child) -> Self {
        Self(Arc::new(Mutex::new(Some(leader.id()))))
    }

    /// Calls `work` with the number of the group, which stays its own meanwhile; does nothing once
    /// the group was released.
    pub fn signal(&self, work: impl FnOnce(u32)) {
        let number = self.0.lock();
        if let Some(number) = *number {
            work(number);
        }
    }

    /// Sees to it that nobody signals the group from now on: its leader may be reaped.
    pub fn release(&self) {
        *self.0.lock() = None;
    }
}

/// A process group whose leader is another process's child. It is told apart from a later group
/// with the same number.
#[derive(Debug)]
pub struct ForeignGroup {
    number: u32,
    /// The leader; `None` if it cannot be watched.
    leader: Option<OwnedFd>,
}

impl ForeignGroup {
    /// Begins to watch the group with this number, whose leader has not been waited for.
    #[must_use]
    pub fn watch(number: u32) -> Self {
        Self { number, leader: open_process(number).ok() }
    }

    /// Returns the number of the group; `None` if another process has it by now.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        // The kernel names the number of a process that was not reaped.
        let is_reaped = self.leader.as_ref().is_some_and(|leader| number_in_proc(leader).is_none());
        let is_taken = is_reaped && open_process(self.number).is_ok();
        (!is_taken).then_some(self.number)
    }
}

fn open_process(number: u32) -> rustix::io::Result<OwnedFd> {
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    pidfd_open(pid, PidfdFlags::empty())
}

/// Waits for the end of `child`. The caller must not wait for it again: its process id may have
/// been reused.
///
/// # Errors
/// When the child was already waited for.
pub fn reap(child: &Child) -> io::Result<Ended> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers point to local variables of the types that wait4 writes.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if waited == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all zeroes are a valid `rusage`, and wait4 has filled it.
    let usage = unsafe { usage.assume_init() };
    let ns = |time: libc::timeval| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        seconds * 1_000_000_000 + u64::try_from(time.tv_usec).unwrap_or(0) * 1000
    };
    Ok(Ended {
        status: ExitStatus::from_raw(status),
        cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime),
        memory: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn what_a_child_has_used_is_known() {
        let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3";
        let mut child = Command::new("sh").args(["-c", work]).spawn().unwrap();
        let watched = super::watch(&child).unwrap();
        assert_eq!(super::number_in_proc(&watched), Some(child.id()));
        let ready = crate::event::wait_readable(&[watched.as_fd()], Some(Duration::from_secs(60)));
        assert_eq!(ready.unwrap(), [true]);
        let ended = super::reap(&child).unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert!(ended.cpu_ns > 0 && ended.memory > 100_000, "{ended:?}");
        assert!(super::reap(&child).is_err());
        assert!(child.wait().is_err(), "it has been waited for");
    }

    #[test]
    fn a_group_is_signalled_only_while_its_number_is_its_own() {
        let mut signalled = 0;
        for _ in 0..300 {
            let mut child = Command::new("true").spawn().unwrap();
            let group = super::Group::from_leader(&child);
            let number = child.id();
            let its = group.clone();
            let waiting = std::thread::spawn(move || {
                super::await_end(&child).unwrap();
                its.release();
                child.wait().unwrap()
            });
            while !waiting.is_finished() {
                group.signal(|leader| {
                    assert_eq!(leader, number);
                    let stat = std::fs::read_to_string(format!("/proc/{leader}/stat"));
                    stat.expect("the leader was reaped, and its number may be another one's");
                    signalled += 1;
                });
            }
            assert!(waiting.join().unwrap().success());
            group.signal(|leader| panic!("{leader} was reaped"));
        }
        assert!(signalled > 0);
    }

    #[test]
    fn a_group_of_others_is_told_apart_from_a_later_one_with_its_number() {
        let start = || Command::new("sleep").arg("600").spawn().unwrap();
        let mut children = [start(), start()];
        let mut watched = super::ForeignGroup::watch(children[0].id());
        assert_eq!(watched.number(), Some(children[0].id()));
        children[0].kill().unwrap();
        super::await_end(&children[0]).unwrap();
        assert_eq!(watched.number(), Some(children[0].id()), "it was not reaped");
        children[0].wait().unwrap();
        // As if the kernel had given its number to another process.
        watched.number = children[1].id();
        assert_eq!(watched.number(), None);
        children[1].kill().unwrap();
        children[1].wait().unwrap();
    }

    #[test]
    fn without_pidfds_the_end_of_a_child_is_seen() {
        let mut child = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let watch = super::watch_by_thread(pid).unwrap();
        assert_eq!(super::number_in_proc(&watch), None);
        let ready = |limit| crate::event::wait_readable(&[watch.as_fd()], Some(limit)).unwrap();
        assert_eq!(ready(Duration::from_millis(20)), [false]);
        drop(child.stdin.take());
        assert_eq!(ready(Duration::from_secs(60)), [true]);
        assert_eq!(super::reap(&child).unwrap().status.code(), Some(0));
        assert!(child.wait().is_err(), "it has been waited for");
    }
}
