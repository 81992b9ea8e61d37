//! The processes of this machine (`/proc`, proc(5)), found by a word among their arguments.

use std::collections::HashMap;
use std::fs;
use std::io;

use crate::identity::Identity;
use crate::process_status::ProcessStatus;
use crate::{proc_file, process};

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
        let Some(status) = ProcessStatus::read(pid) else { continue };
        if has_word(&status.arguments(), word.as_bytes()) {
            found.extend(Identity::from_pid(pid).ok());
        }
    }
    Ok(found)
}

/// Returns the arguments of a process of this user as one line, for messages; `None` if it has
/// ended, or is another user's.
#[must_use]
pub fn command_line(pid: u32) -> Option<String> {
    let arguments = ProcessStatus::read(pid)?.arguments();
    let words = arguments.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Returns the CPU time of the process groups with these `leaders`, by leader: that of their
/// processes which still exist, and of those which they have waited for, in nanoseconds.
#[must_use]
pub fn group_cpu_ns(leaders: &[u32]) -> HashMap<u32, u64> {
    let mut groups = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let status = name.to_str().and_then(|name| name.parse().ok()).and_then(ProcessStatus::read);
        // What tells the time may never come of another user's process.
        let is_meant = |status: &ProcessStatus| match status.group {
            Some(group) => leaders.contains(&group),
            None => status.is_own,
        };
        // A process may have ended since it was listed.
        let number = status.filter(is_meant).map(|status| status.number.to_string());
        let stat = number.and_then(|number| process::stat_after_name(&number).ok());
        if let Some((group, cpu_ns)) = stat.and_then(|stat| group_and_cpu(&stat)) {
            *groups.entry(group).or_default() += cpu_ns;
        }
    }
    groups
}

/// Returns the process group and the CPU time in nanoseconds from what follows the name in
/// `/proc/PID/stat`.
fn group_and_cpu(stat: &str) -> Option<(u32, u64)> {
    // The third field is the group; the 12th to 15th are times: user, system, and both of the
    // children that were waited for.
    let fields: Vec<&str> = stat.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().map(|ticks| ticks.parse::<u64>().ok());
    let ticks = ticks.sum::<Option<u64>>()?;
    Some((fields[2].parse().ok()?, ticks * process::TICK_NS))
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

    #[test]
    fn the_cpu_time_of_a_group_counts_its_children() {
        let stat = b"7 (a) b) \xff) S 1 5 7 0 -1 4194560 161 0 0 0 1 20 300 4000 20 0 1 0 99 5 6";
        assert_eq!(group_and_cpu(&process::after_name(stat)), Some((5, 43_210_000_000)));
        assert_eq!(group_and_cpu(" S 1 5"), None);
        let group = rustix::process::getpgrp().as_raw_pid().unsigned_abs();
        assert!(group_cpu_ns(&[group]).contains_key(&group));
    }
}
