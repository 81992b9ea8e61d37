//! A program that exists only in memory: a memfd, which has no name and is freed after its last
//! use. It can be executed even if all file systems are mounted `noexec`.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;

/// An executable file in memory.
#[derive(Debug)]
pub struct Program(File);

impl Program {
    /// Creates an empty program. [`Self::add`] appends its bytes.
    ///
    /// # Errors
    /// When the system has no descriptor left, or forbids executable memfds (`vm.memfd_noexec` is
    /// 2).
    pub fn new() -> io::Result<Self> {
        let make = |flags| memfd_create("garland", MemfdFlags::CLOEXEC | flags);
        let fd = match make(MemfdFlags::EXEC) {
            // Linux before 6.3 does not know MFD_EXEC, and needs no flag.
            Err(Errno::INVAL) => make(MemfdFlags::empty())?,
            made => made?,
        };
        Ok(Self(fd.into()))
    }

    /// Appends bytes to the program.
    ///
    /// # Errors
    /// When there is no memory left.
    pub fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Returns the path by which to execute the program. It is valid in this process only.
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
