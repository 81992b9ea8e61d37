//! The processes of this machine (`/proc`, proc(5)), found by a word among their arguments.

use std::fs::{self, File};
use std::io::{self, Read as _};

use crate::identity::Identity;
use crate::{proc_file, process};

/// The number of bytes of a process's arguments or environment that are read: Linux starts no
/// program with more, but a process may make them longer later.
const MEMORY_READ_MAX: u64 = 6 << 20;

/// Returns the processes of this user that have `word` among their arguments.
///
/// # Errors
/// When the processes cannot be listed, or those that hide their memory are not shown to this user.
pub fn with_argument(word: &str) -> io::Result<Vec<Identity>> {
    let mounts = proc_file::read("/proc/mounts")?;
    if process::user_id() != 0 && hides_processes(&mounts) {
        return Err(io::Error::other("/proc does not show them (it is mounted with hidepid)"));
    }
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = pid else { continue };
        // Whoever has ended meanwhile has no arguments any more.
        if has_word(&arguments(pid).unwrap_or_default(), word.as_bytes()) {
            found.extend(Identity::from_pid(pid).ok());
        }
    }
    Ok(found)
}

/// Returns the arguments of a process of this user as one line, for messages; `None` if it has
/// ended, or is another user's.
#[must_use]
pub fn command_line(pid: u32) -> Option<String> {
    let bytes = arguments(pid)?;
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Returns the arguments of a process of this user, each with a zero behind it.
fn arguments(pid: u32) -> Option<Vec<u8>> {
    own_memory(pid, "cmdline")
}

/// Returns the variables of the environment of a process of this user, each with a zero behind it.
pub(crate) fn environment(pid: u32) -> Option<Vec<u8>> {
    own_memory(pid, "environ")
}

/// Reads a file of `/proc/PID` that shows memory of the process. Another user's process can keep
/// that from coming, or make it longer than this machine's memory: of such it is not read.
fn own_memory(pid: u32, file: &str) -> Option<Vec<u8>> {
    if !is_own(pid) {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/{pid}/{file}")).ok()?;
    file.take(MEMORY_READ_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns whether `/proc` is mounted so that users see less than all processes. Those that hide
/// their memory do not count as the user's own then.
fn hides_processes(mounts: &str) -> bool {
    let options = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let is_proc = words.nth(1) == Some("/proc");
        words.nth(1).filter(|_| is_proc)
    });
    let mut options = options.flat_map(|options| options.split(','));
    options.any(|option| {
        option.strip_prefix("hidepid=").is_some_and(|value| !["0", "off"].contains(&value))
    })
}

fn has_word(arguments: &[u8], word: &[u8]) -> bool {
    arguments.split(|byte| *byte == 0).any(|argument| argument == word)
}

/// Returns whether the process `pid` of `/proc` was started by this process's user, and runs with
/// the rights of no other one. The owner of its files does not tell: those of a process that hides
/// its memory belong to root.
fn is_own(pid: u32) -> bool {
    let own = process::user_id().to_string();
    let status = proc_file::read(format!("/proc/{pid}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    users.is_some_and(|users| users.split_whitespace().all(|user| user == own))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_found_by_an_argument_until_it_ends() {
        let word = format!("word-of-{}", std::process::id());
        let found = || -> Vec<u32> {
            with_argument(&word).unwrap().into_iter().map(|process| process.pid).collect()
        };
        assert!(found().is_empty());
        let mut command = Command::new("sh");
        command.args(["-c", "echo; read end", &word]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // `spawn` returns when its descriptors are closed on exec(2), which is before the kernel
        // shows the new arguments. What it writes, it writes with those.
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(found(), [child.id()]);
        assert!(command_line(child.id()).unwrap().ends_with(&word));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found().is_empty());
    }

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
        assert_eq!(command_line(child.id()).is_none(), is_root);
        assert_eq!(environment(child.id()).is_none(), is_root);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_proc_that_hides_processes_is_known_by_its_options() {
        let proc =
            |options: &str| format!("tmpfs /run tmpfs rw 0 0\nproc /proc proc {options} 0 0\n");
        assert!(!hides_processes(&proc("rw,nosuid,noexec")));
        assert!(
            !hides_processes(&proc("rw,hidepid=0")) && !hides_processes(&proc("rw,hidepid=off"))
        );
        assert!(hides_processes(&proc("rw,gid=5,hidepid=2")));
        assert!(hides_processes(&proc("rw,hidepid=invisible")));
    }
}
