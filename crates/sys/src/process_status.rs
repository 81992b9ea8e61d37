//! What a process of this machine is, by what the kernel tells without waiting for it (`/proc`,
//! proc(5)).

use std::fs::File;
use std::io::Read as _;

use crate::{proc_file, process};

/// The number of bytes of a process's arguments or environment that are read: Linux starts no
/// program with more, but a process may make them longer later.
const MEMORY_READ_MAX: u64 = 6 << 20;

/// What `/proc/PID/status` tells of a process. It is read without waiting for the process, unlike
/// most files there: a process whose execve(2) closes a file of a server that does not answer keeps
/// those from being read for as long as its user likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStatus {
    /// Its number.
    pub number: u32,
    /// The number of its parent.
    pub parent: u32,
    /// Its process group; none on kernels before 4.1.
    pub group: Option<u32>,
    /// Whether it was started by this process's user, and runs with the rights of no other one. The
    /// owner of its files does not tell: those of a process that hides its memory belong to root.
    pub is_own: bool,
    /// Whether it has ended, and its parent does not know yet.
    pub has_ended: bool,
}

impl ProcessStatus {
    /// Reads it; `None` if there is no process with this number.
    pub fn read(number: u32) -> Option<Self> {
        Self::parse(number, &proc_file::read(format!("/proc/{number}/status")).ok()?)
    }

    fn parse(number: u32, text: &str) -> Option<Self> {
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let own = process::user_id().to_string();
        let is_own = value("Uid:")?.split_whitespace().all(|user| user == own);
        let parent = value("PPid:")?.trim().parse().ok()?;
        let group = value("NSpgid:").and_then(|groups| groups.split_whitespace().next());
        let group = group.and_then(|group| group.parse().ok());
        let has_ended = matches!(value("State:")?.trim().chars().next(), Some('Z' | 'X'));
        Some(Self { number, parent, group, is_own, has_ended })
    }

    /// Returns the arguments, each with a zero behind it; none of another user's process.
    pub fn arguments(&self) -> Vec<u8> {
        self.memory("cmdline")
    }

    /// Returns the variables of the environment, each with a zero behind it; none of another user's
    /// process.
    pub fn environment(&self) -> Vec<u8> {
        self.memory("environ")
    }

    /// Reads a file that shows memory of the process. Another user's process can make it longer
    /// than this machine's memory: of such it is not read.
    fn memory(&self, file: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.is_own
            && let Ok(file) = File::open(format!("/proc/{}/{file}", self.number))
        {
            // An error says that the process has ended.
            let _ = file.take(MEMORY_READ_MAX).read_to_end(&mut bytes);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_memory_of_processes_of_other_users_is_not_read() {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new("sh");
        command.args(["-c", "echo; read end"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let is_root = process::user_id() == 0;
        if is_root {
            command.uid(65534);
        }
        let mut child = command.spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let status = ProcessStatus::read(child.id()).unwrap();
        assert_eq!((status.is_own, status.parent), (!is_root, std::process::id()));
        assert_eq!(status.environment().is_empty(), is_root);
        assert_eq!(status.arguments().is_empty(), is_root);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_has_ended_is_none_that_runs() {
        let own = process::user_id();
        let text =
            format!("Name:\tx\nState:\tZ (zombie)\nPPid:\t7\nUid:\t{own}\t{own}\t{own}\t{own}\n");
        let status = ProcessStatus::parse(9, &text).unwrap();
        assert!(status.has_ended && status.is_own && status.group.is_none());
        let text =
            text.replace("Z (zombie)", "S (sleeping)").replace("PPid", "NSpgid:\t3\t1\nPPid");
        let other = own + 1;
        let text = text.replace(&format!("Uid:\t{own}\t{own}"), &format!("Uid:\t{own}\t{other}"));
        let status = ProcessStatus::parse(9, &text).unwrap();
        assert_eq!((status.has_ended, status.is_own, status.group), (false, false, Some(3)));
        assert_eq!(ProcessStatus::parse(9, ""), None);
    }
}
