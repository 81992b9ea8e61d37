//! A program that is in memory alone: a memfd, which no name leads to and which goes with its last
//! user. It can be run where no directory may hold programs.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;

/// A program in memory.
#[derive(Debug)]
pub struct Program(File);

impl Program {
    /// One without a byte yet.
    ///
    /// # Errors
    /// When the system has no descriptor left, or lets nothing in memory run (`vm.memfd_noexec` is 2).
    pub fn new() -> io::Result<Self> {
        let make = |flags| memfd_create("garland", MemfdFlags::CLOEXEC | flags);
        let fd = match make(MemfdFlags::EXEC) {
            // Before Linux 6.3 it needed no flag.
            Err(Errno::INVAL) => make(MemfdFlags::empty())?,
            made => made?,
        };
        Ok(Self(fd.into()))
    }

    /// Adds its next bytes.
    ///
    /// # Errors
    /// When there is no memory left.
    pub fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// What this process, and no other, starts it by.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_in_memory_alone_runs() {
        let bytes = std::fs::read("/bin/echo").expect("a program");
        let mut program = Program::new().expect("memory that may run");
        let (one, other) = bytes.split_at(bytes.len() / 2);
        program.add(one).and_then(|()| program.add(other)).expect("room for it");
        let said = Command::new(program.path()).arg("here").output().expect("it starts");
        assert_eq!(said.stdout, b"here\n");
    }
}
