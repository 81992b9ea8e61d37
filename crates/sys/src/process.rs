//! Properties of this process, and processes that end with their parent.

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};

/// The largest resident memory that this process has had, in bytes; 0 where /proc doesn't say.
#[must_use]
pub fn peak_memory() -> u64 {
    status_kib("VmHWM:") * 1024
}

fn status_kib(field: &str) -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Bytes of memory that this machine can still give, as the kernel estimates it; 0 where it doesn't.
#[must_use]
pub fn available_memory() -> u64 {
    memory("MemAvailable:")
}

/// Bytes of memory that this machine has; 0 where the kernel doesn't say.
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

/// Bytes that this user can still write under `folder`; `None` where the system doesn't say.
#[must_use]
pub fn free_space(folder: &std::path::Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The permission bits that this process takes off new files. Read from /proc where it says, since
/// asking the kernel means changing it for a moment.
#[must_use]
pub fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return USUAL };
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(USUAL)
}

/// Has the kernel ask the process that `command` starts to end (SIGTERM) when the thread that starts
/// it ends, which it does with its process, however that ends.
pub fn end_with_parent(command: &mut Command) {
    // SAFETY: between fork and exec only prctl(2) is called, which may be there.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?));
    }
}

/// Kills a process group. One that is gone already needs no killing.
pub fn kill_group(leader: u32) {
    let pid = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
}

/// Leaves the caller's session and terminal: an agent that stays must not get its Ctrl-C.
///
/// # Errors
/// When this process leads a process group already.
pub fn leave_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// This host's boot, as the kernel names it: state that another boot left is stale.
#[must_use]
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_or_else(|_| String::new(), |id| id.trim().to_owned())
}

/// This host's name.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// This host's machine type, as of `uname -m`.
#[must_use]
pub fn machine() -> String {
    rustix::system::uname().machine().to_string_lossy().into_owned()
}

/// When this process was started, in nanoseconds of the monotonic clock, as exactly as the kernel
/// tells (10 ms); now where it doesn't.
#[must_use]
pub fn start_ns() -> u64 {
    const TICK_NS: u64 = 10_000_000;
    let now = crate::clock::now_ns();
    let boot = crate::clock::boot_ns();
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return now };
    // The name in parentheses may hold anything; the start is the 20th field after it.
    let ticks = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19));
    let Some(ticks) = ticks.and_then(|ticks| ticks.parse::<u64>().ok()) else { return now };
    let age = boot.saturating_sub(ticks * TICK_NS);
    now.saturating_sub(age)
}

/// The user that this process acts for.
#[must_use]
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Has the descriptors that this process was started with, but for the three standard ones, closed
/// in the programs that it runs. To be called while the process has one thread.
pub fn keep_inherited_descriptors() {
    // Where /proc isn't there, programs get them.
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    for entry in entries.flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        let Some(number) = number.filter(|number| *number > 2) else { continue };
        // SAFETY: the descriptor is open: it was listed just now, the listing's own is open until
        // the loop ends, and no other thread closes any.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        // One that can't be changed is passed on, as before.
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
