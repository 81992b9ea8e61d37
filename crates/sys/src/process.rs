//! Properties of this process and its host, and functions for the processes that it starts.

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::OnceLock;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::channel::{Sender, channel};
use crate::threads;

/// The unit of times in `/proc/PID/stat`, in nanoseconds.
pub(crate) const TICK_NS: u64 = 10_000_000;

/// Returns the peak resident memory of this process in bytes; 0 if `/proc` cannot be read.
#[must_use]
pub fn peak_memory() -> u64 {
    status_kib("VmHWM:") * 1024
}

fn status_kib(field: &str) -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Returns the memory of this machine that the kernel estimates to be available, in bytes; 0 if it
/// reports none.
#[must_use]
pub fn available_memory() -> u64 {
    memory("MemAvailable:")
}

/// Returns the total memory of this machine in bytes; 0 if the kernel does not report it.
#[must_use]
pub fn total_memory() -> u64 {
    memory("MemTotal:")
}

fn memory(field: &str) -> u64 {
    let Ok(info) = std::fs::read_to_string("/proc/meminfo") else { return 0 };
    let line = info.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Returns the free space for this user in the file system of the directory `folder`, in bytes;
/// `None` if it is unknown.
#[must_use]
pub fn free_space(folder: &std::path::Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Returns the umask of this process: the permission bits that new files do not get. It is read
/// from `/proc` if possible, since umask(2) can only return the mask by changing it for a moment;
/// and only once, since the process does not change it.
#[must_use]
pub fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    static UMASK: OnceLock<u32> = OnceLock::new();
    *UMASK.get_or_init(|| {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return USUAL };
        let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(USUAL)
    })
}

/// Makes the kernel send SIGTERM to the child process of `command` when the thread that spawns the
/// child ends: at the latest when this process ends, even if it is killed.
pub fn end_with_parent(command: &mut Command) {
    // SAFETY: between fork and exec only prctl(2) is called, which is allowed there.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?));
    }
}

/// Starts a process that the kernel ends (SIGTERM) with this one, however this one ends. It is in a
/// process group of its own, so that Ctrl-C at the terminal reaches this process only.
///
/// # Errors
/// When the process, or the thread that starts all such processes, cannot be started.
pub fn start_for_life(mut command: Command) -> io::Result<Child> {
    // The signal comes at the end of the thread that starts the process: this one never ends.
    static STARTER: OnceLock<Sender<Wanted>> = OnceLock::new();
    end_with_parent(&mut command);
    command.process_group(0);
    if STARTER.get().is_none() {
        let (wanted, asked) = channel();
        threads::spawn("starter", move || {
            while let Ok(Wanted { mut command, tell }) = asked.recv() {
                // Whoever wanted it waits for it.
                let _ = tell.send(command.spawn());
            }
        })?;
        // Another thread may have started one at the same time, which is used then.
        let _ = STARTER.set(wanted);
    }
    let (tell, started) = channel();
    let gone = || io::Error::other("the thread that starts processes has ended");
    let starter = STARTER.get().ok_or_else(gone)?;
    starter.send(Wanted { command, tell }).map_err(|_| gone())?;
    started.recv().map_err(|_| gone())?
}

/// A process that is to be started.
struct Wanted {
    command: Command,
    tell: Sender<io::Result<Child>>,
}

/// Sends SIGKILL to all processes of the group led by `leader`. Errors are ignored: the group may
/// have ended.
pub fn kill_group(leader: u32) {
    let pid = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
}

/// Returns what `/proc/PROCESS/stat` says after the name of the process: its state, its parent and
/// so on. The name may contain any bytes, parentheses too.
///
/// # Errors
/// When the process has ended.
pub(crate) fn stat_after_name(process: &str) -> io::Result<String> {
    Ok(after_name(&std::fs::read(format!("/proc/{process}/stat"))?))
}

pub(crate) fn after_name(stat: &[u8]) -> String {
    let name_end = stat.iter().rposition(|&byte| byte == b')').map_or(0, |at| at + 1);
    String::from_utf8_lossy(&stat[name_end..]).into_owned()
}

/// Moves this process to a new session without a terminal (setsid(2)). A standing agent must not
/// receive the Ctrl-C of the terminal that it was started from.
///
/// # Errors
/// When this process is the leader of a process group.
pub fn leave_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Returns the kernel's id of the current boot of this host. State from another boot is stale.
#[must_use]
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_or_else(|_| String::new(), |id| id.trim().to_owned())
}

/// Returns the host name.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the machine type of this host, as `uname -m` prints it.
#[must_use]
pub fn machine() -> String {
    rustix::system::uname().machine().to_string_lossy().into_owned()
}

/// Returns the release of the running kernel, such as `6.1.0-18-amd64`.
#[must_use]
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Returns when this process was started, in nanoseconds of the monotonic clock, with the kernel's
/// resolution of 10 ms. If that is unknown, returns the current time.
#[must_use]
pub fn start_ns() -> u64 {
    let now = crate::clock::now_ns();
    let boot = crate::clock::boot_ns();
    let Ok(stat) = stat_after_name("self") else { return now };
    // The start time is the 20th field after the name.
    let Some(ticks) = stat.split_whitespace().nth(19).and_then(|ticks| ticks.parse::<u64>().ok())
    else {
        return now;
    };
    let age = boot.saturating_sub(ticks * TICK_NS);
    now.saturating_sub(age)
}

/// Returns the effective user id of this process.
#[must_use]
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the effective group id of this process and its supplementary groups.
#[must_use]
pub fn group_ids() -> Vec<u32> {
    let others = rustix::process::getgroups().unwrap_or_default();
    let all = others.into_iter().chain([rustix::process::getegid()]);
    all.map(|group| group.as_raw()).collect()
}

/// Marks the descriptors that this process inherited, except the three standard ones, as
/// close-on-exec (FD_CLOEXEC). Call this while the process has a single thread.
pub fn keep_inherited_descriptors() {
    // Without /proc, programs inherit the descriptors.
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    for entry in entries.flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        let Some(number) = number.filter(|number| *number > 2) else { continue };
        // SAFETY: the descriptor is open: it was just listed, the descriptor of the listing itself
        // is open until the loop ends, and no other thread closes any.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        // A descriptor that cannot be changed is still inherited.
        let _ = rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kernel_tells() {
        assert!(super::peak_memory() > 100_000);
        assert!(!super::boot_id().is_empty());
        assert!(!super::host_name().is_empty());
    }
}
