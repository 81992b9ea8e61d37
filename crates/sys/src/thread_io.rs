//! The I/O counters of a thread: `/proc/PID/task/TID/io`, as the kernel's
//! Documentation/filesystems/proc.rst describes it. Any thread of the process may read them.

use crate::{dumpable, world};

/// A thread of this process, whose counters can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread(i32);

impl Thread {
    /// Returns the calling thread.
    #[must_use]
    pub fn this() -> Self {
        Self(rustix::thread::gettid().as_raw_nonzero().get())
    }

    /// Returns a number that grows while the thread makes progress, even within one long call: the
    /// sum of the bytes and the calls of all its reads and writes. `None` if the kernel does not
    /// count them (`CONFIG_TASK_IO_ACCOUNTING`).
    #[must_use]
    pub fn moved(self) -> Option<u64> {
        // Threads of a simulated world share one of the kernel's.
        if world::inside() {
            return None;
        }
        // The file is for its owner only.
        let _shown = dumpable::show();
        let text = std::fs::read_to_string(format!("/proc/self/task/{}/io", self.0)).ok()?;
        // Data that was removed before it was written is no progress of the disk.
        let lines = text.lines().filter(|line| !line.starts_with("cancelled"));
        let numbers = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        Some(numbers.fold(0, u64::wrapping_add))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_reads_is_seen_by_another() {
        let thread = Thread::this();
        let before = thread.moved();
        if before.is_none() {
            // This kernel doesn't count.
            return;
        }
        let length = std::fs::read("/proc/self/stat").expect("the kernel tells").len() as u64;
        let after = std::thread::spawn(move || thread.moved()).join().expect("it doesn't panic");
        assert!(after >= before.map(|before| before + length), "{before:?} {after:?}");
    }
}
