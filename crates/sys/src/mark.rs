//! Marks: variables in the environment of programs, by which they and all that they start are found
//! and killed. A process keeps its environment when it leaves its process group, its session or its
//! parent, as daemons do.
//!
//! Processes that have another environment are found as long as one of their ancestors has the
//! mark. One that clears its environment and outlives all its ancestors is not found, nor is one of
//! another user.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::process_status::ProcessStatus;
use crate::{proc_file, process, random};

/// The variable.
const VARIABLE: &str = "GARLAND_MARK";

/// The maximum number of times that processes are looked for. Each time finds what those of the
/// time before have started until they were killed.
const ROUNDS: usize = 100;

/// A mark that no other programs have. It is a secret of its user: a program of another one that
/// had it would be killed.
#[derive(Clone)]
pub struct Mark(String);

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}

impl Mark {
    /// The length of the [`value`](Self::value) in bytes.
    pub const LENGTH: usize = 16;

    /// Creates a mark.
    #[must_use]
    pub fn new() -> Self {
        Self(random::bytes::<{ Self::LENGTH / 2 }>().map(|byte| format!("{byte:02x}")).concat())
    }

    /// Returns the mark with this [`value`](Self::value).
    #[must_use]
    pub fn from_value(value: &str) -> Self {
        Self(value.to_owned())
    }

    /// Returns the value of the variable.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.0
    }

    /// Marks the program that `command` starts.
    pub fn put_on(&self, command: &mut Command) {
        command.env(VARIABLE, &self.0);
    }

    /// Kills all processes with this mark and their descendants (SIGKILL), and the process groups
    /// with these `leaders`.
    pub fn kill_all(&self, leaders: &[u32]) {
        self.kill(leaders, None);
    }

    /// Kills the processes with this mark that also have the variable `name` with this `value` and
    /// their descendants, and the process group of `leader`.
    pub fn kill_those_with(&self, leader: u32, name: &str, value: &str) {
        self.kill(&[leader], Some(format!("{name}={value}").into_bytes()));
    }

    fn kill(&self, leaders: &[u32], more: Option<Vec<u8>>) {
        let mark = format!("{VARIABLE}={}", self.0).into_bytes();
        let wanted: Vec<Vec<u8>> = more.into_iter().chain([mark]).collect();
        // First, since descendants without the mark are known only as long as their parents live.
        let mut found = find(&wanted);
        // All processes of a group are killed at once: none sees the end of another one.
        leaders.iter().copied().for_each(process::kill_group);
        let mut killed = HashSet::new();
        for _ in 0..ROUNDS {
            // Neither may those in other groups, which are killed one after the other: a shell
            // would go on with its next command.
            found.iter().for_each(|process| process.send(Signal::STOP));
            found.iter().for_each(|process| process.send(Signal::KILL));
            killed.extend(found);
            // A process that was killed starts no other, also if it has not ended yet.
            let left = find(&wanted).into_iter().filter(|process| !killed.contains(process));
            found = left.collect();
            if found.is_empty() {
                return;
            }
        }
    }
}

/// A process that runs, as `/proc` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Running {
    number: u32,
    /// Its start, in clock ticks after the boot: another process may get its number.
    start: u64,
}

/// Returns the processes with all variables of `wanted` (`NAME=value`), and their descendants.
fn find(wanted: &[Vec<u8>]) -> Vec<Running> {
    let own = number_of_self();
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let status = number.and_then(ProcessStatus::read).filter(|status| !status.has_ended);
        let Some(status) = status.filter(|status| Some(status.number) != own) else { continue };
        children.entry(status.parent).or_default().push(status.number);
        // None of other users' processes: a program with set-user-ID has the environment of whoever
        // started it.
        let variables = status.environment();
        let has = |one: &Vec<u8>| variables.split(|&byte| byte == 0).any(|other| other == one);
        if wanted.iter().all(has) {
            found.extend(Running::read(status.number));
        }
    }
    let mut seen: HashSet<u32> = found.iter().map(|process| process.number).collect();
    let mut next = 0;
    while let Some(process) = found.get(next).copied() {
        let its = children.get(&process.number).into_iter().flatten().copied();
        found.extend(its.filter(|child| seen.insert(*child)).filter_map(Running::read));
        next += 1;
    }
    found
}

impl Running {
    /// Reads which process has this number; `None` if it has ended.
    fn read(number: u32) -> Option<Self> {
        Some(Self { number, start: start_of(number)? })
    }

    fn send(&self, signal: Signal) {
        let number = own_number(self.number).and_then(|number| Pid::from_raw(number.cast_signed()));
        let Some(pid) = number else { return };
        // A number may have been given to another process before the descriptor was opened.
        let is_same = || start_of(self.number) == Some(self.start);
        // An error says that it has ended, or is another user's.
        let _ = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) if is_same() => pidfd_send_signal(process, signal),
            // Before Linux 5.3: see `identity::Handle::Number`.
            Err(Errno::NOSYS | Errno::PERM) if is_same() => kill_process(pid, signal),
            _ => Ok(()),
        };
    }
}

/// Returns the start of a process that runs.
fn start_of(number: u32) -> Option<u64> {
    // First the state; the 20th field is the start.
    let text = process::stat_after_name(&number.to_string()).ok()?;
    let fields: Vec<&str> = text.split_whitespace().collect();
    let runs = !matches!(*fields.first()?, "Z" | "X");
    let start = fields.get(19)?.parse().ok()?;
    runs.then_some(start)
}

/// Returns the number of this process in `/proc`.
fn number_of_self() -> Option<u32> {
    fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

/// Returns the number by which this process can signal the process `number` of `/proc`: another one
/// if `/proc` belongs to an outer PID namespace. `None` if it has ended or is in no such namespace.
fn own_number(number: u32) -> Option<u32> {
    let numbers = |name: &str| -> Option<Vec<u32>> {
        let text = proc_file::read(PathBuf::from("/proc").join(name).join("status")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        line.split_whitespace().map(|number| number.parse().ok()).collect()
    };
    // The numbers in the namespace of `/proc` and in those within it, the innermost at the end.
    let depth = numbers("self")?.len();
    numbers(&number.to_string())?.get(depth.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;

    use super::*;

    /// Starts a script, and waits until `count` of its processes have each written a byte.
    fn start(mark: &Mark, job: &str, script: &str, count: usize) -> std::process::Child {
        let mut command = Command::new("sh");
        command.process_group(0);
        mark.put_on(command.args(["-c", script]).env("JOB", job).stdout(Stdio::piped()));
        let mut child = command.spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        output.read_exact(&mut vec![0; count]).unwrap();
        child
    }

    fn wanted(mark: &Mark) -> Vec<Vec<u8>> {
        vec![format!("{VARIABLE}={}", mark.value()).into_bytes()]
    }

    fn await_end_of_all(mark: &Mark) {
        while !find(&wanted(mark)).is_empty() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn processes_that_left_their_group_session_and_parent_are_killed() {
        let mark = Mark::new();
        let script = "setsid sh -c 'printf 1; sleep 600' & \
                      (setsid sh -c '(printf 1; sleep 600) & exit' &) ; \
                      env -i sh -c 'printf 1; sleep 600' & wait";
        let mut child = start(&mark, "1", script, 3);
        assert!(find(&wanted(&mark)).len() >= 4);
        mark.kill_all(&[]);
        child.wait().unwrap();
        await_end_of_all(&mark);
    }

    #[test]
    fn a_process_whose_name_is_not_text_is_killed() {
        let mark = Mark::new();
        // Byte 0377 is in no valid UTF-8.
        let script =
            "setsid sh -c 'printf \"a\\377) b\" >/proc/$$/comm; printf 1; sleep 600; :' & wait";
        let mut child = start(&mark, "1", script, 1);
        // The one that waits for it, and itself; its own child may not be there yet.
        assert!(find(&wanted(&mark)).len() >= 2);
        mark.kill_all(&[]);
        child.wait().unwrap();
        await_end_of_all(&mark);
    }

    #[test]
    fn processes_of_another_mark_or_job_go_on() {
        let mark = Mark::new();
        let other = Mark::new();
        let script = "printf 1; setsid sleep 600; exit";
        let mut children = [
            start(&mark, "1", script, 1),
            start(&mark, "2", script, 1),
            start(&other, "1", script, 1),
        ];
        mark.kill_those_with(children[0].id(), "JOB", "1");
        children[0].wait().unwrap();
        assert!(children[1].try_wait().unwrap().is_none());
        mark.kill_all(&[]);
        children[1].wait().unwrap();
        assert!(children[2].try_wait().unwrap().is_none());
        other.kill_all(&[]);
        children[2].wait().unwrap();
        await_end_of_all(&mark);
        await_end_of_all(&other);
    }

    #[test]
    fn a_process_of_another_user_with_the_mark_goes_on() {
        let mark = Mark::new();
        let mut command = Command::new("sleep");
        mark.put_on(command.arg("600").uid(65534));
        // Only root can start one.
        let Ok(mut child) = command.spawn() else { return };
        mark.kill_all(&[]);
        let ended = child.try_wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(ended.is_none(), "{ended:?}");
    }

    #[test]
    fn what_is_started_while_all_are_killed_is_killed_too() {
        let mark = Mark::new();
        let script = "for i in 1 2 3 4; do setsid sh -c 'while :; do setsid sleep 600 & \
                      printf 1; sleep 0.01; done' & done; wait";
        let mut child = start(&mark, "1", script, 8);
        mark.kill_all(&[]);
        child.wait().unwrap();
        await_end_of_all(&mark);
    }
}
