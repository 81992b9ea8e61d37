//! A guarded command leaves no process and no file behind, however it ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Shell code that starts a daemon with a session of its own and without a parent, prints the ids
/// of the daemon and of the shell, and creates the directory of temporary files that a test run
/// with the shell's id would have.
const COMMAND: &str = "\
    (env -i setsid sleep 1000 & echo $!); echo $$; mkdir -p \"$TMPDIR/gt$$/folder\"; echo ready; ";

/// Starts a guarded shell with `COMMAND` and then `more`. Returns the guard, and the process ids
/// that the shell printed.
fn start(scratch: &Path, more: &str) -> (Child, [u32; 2]) {
    let mut guard = Command::new(env!("CARGO_BIN_EXE_xtask"));
    guard.args(["guard", "sh", "-c", &format!("{COMMAND}{more}")]).env("TMPDIR", scratch);
    let mut guard = guard.stdout(Stdio::piped()).spawn().expect("xtask can be started");
    let mut lines = BufReader::new(guard.stdout.take().expect("it is piped")).lines();
    let mut line = || lines.next().expect("it goes on").expect("it is text");
    let numbers = [0; 2].map(|_| line().parse().expect("a number"));
    assert_eq!(line(), "ready");
    (guard, numbers)
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Waits until both processes have ended and `scratch` is empty; panics after a time that only a
/// hang exceeds.
#[track_caller]
fn await_nothing(scratch: &Path, processes: [u32; 2]) {
    let left = || {
        let files = fs::read_dir(scratch).expect("the directory exists").count();
        (processes.map(is_alive), files)
    };
    for _ in 0..3000 {
        if left() == ([false; 2], 0) {
            fs::remove_dir(scratch).expect("it is empty");
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the daemon and the command are alive, files: {:?}", left());
}

fn new_scratch(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("guard-{name}-{}", std::process::id()));
    fs::create_dir(&folder).expect("there is room");
    folder
}

#[test]
fn nothing_remains_of_a_command_that_is_killed_with_its_guard() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let scratch = new_scratch("killed");
        let (mut guard, processes) = start(&scratch, "sleep 1000");
        assert_eq!(processes.map(is_alive), [true; 2]);
        let pid = Pid::from_raw(guard.id().try_into().expect("it is positive"));
        kill_process(pid.expect("it isn't 0"), signal).expect("it runs");
        let ended = guard.wait().expect("it is a child");
        assert_eq!(ended.signal(), Some(signal.as_raw()));
        await_nothing(&scratch, processes);
    }
}

#[test]
fn nothing_remains_of_a_command_that_ends() {
    let scratch = new_scratch("ended");
    let (mut guard, processes) = start(&scratch, "exit 7");
    assert_eq!(guard.wait().expect("it is a child").code(), Some(7));
    // The guard ends only after it has removed everything, so no waiting is needed.
    assert_eq!(processes.map(is_alive), [false; 2]);
    await_nothing(&scratch, processes);
}
