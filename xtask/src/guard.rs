//! Runs a command and kills all of its descendants when it ends, however it ends:
//! `cargo xtask guard COMMAND`. The chores `test`, `check` and `soak` run themselves this way.
//!
//! There are three processes: the caller, the keeper, and the command. The keeper has a session of
//! its own, so signals to the caller's process group do not reach it, and its standard input is a
//! pipe from the caller. When the pipe closes, the caller has ended, by whatever signal, and the
//! keeper kills the command. All descendants that lose their parent, daemons too, become children
//! of the keeper (PR_SET_CHILD_SUBREAPER). When the command has ended, the keeper kills the
//! remaining ones and removes the command's temporary files.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper, setsid, wait,
};

use crate::ci;

/// The hidden chore that runs the keeper.
pub(crate) const KEEPER: &str = "guard-keeper";

/// The environment variable that tells a command that it is guarded.
const GUARDED: &str = "GARLAND_GUARDED";

/// Timeout for killed processes to end.
const GRACE: Duration = Duration::from_secs(10);

const TICK: Duration = Duration::from_millis(20);

/// Calls `work` if this process is guarded; else runs this program again with the same arguments,
/// guarded.
///
/// # Errors
/// If the keeper cannot be started, or the guarded chore fails.
pub(crate) fn chore(work: impl FnOnce() -> Result<()>) -> Result<()> {
    if std::env::var_os(GUARDED).is_some() {
        return work();
    }
    let own = "/proc/self/exe".to_owned();
    let words: Vec<String> = [own].into_iter().chain(std::env::args().skip(1)).collect();
    match run(&words)? {
        0 => Ok(()),
        // The guarded chore has printed the reason.
        code => std::process::exit(code.into()),
    }
}

/// Runs a command under guard, and returns its exit code.
///
/// # Errors
/// If the keeper cannot be started.
pub(crate) fn run(words: &[String]) -> Result<u8> {
    let mut keeper = Command::new("/proc/self/exe");
    let keeper = keeper.arg(KEEPER).args(words).stdin(Stdio::piped()).spawn();
    let mut keeper = keeper.context("failed to start the guard's keeper")?;
    let life = keeper.stdin.take();
    let status = keeper.wait().context("failed to wait for the guard's keeper")?;
    drop(life);
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Runs the command until it ends or the standard input of this process closes, then kills its
/// descendants and removes its temporary files.
///
/// # Errors
/// If the command cannot be started.
pub(crate) fn keep(words: &[String]) -> Result<ExitCode> {
    let (program, arguments) = words.split_first().context("usage: cargo xtask guard COMMAND")?;
    // setsid(2) cannot fail here, since this process does not lead a process group.
    setsid().context("failed to create a session")?;
    set_child_subreaper(Some(getpid()))
        .context("failed to become the parent of orphaned descendants")?;
    let mut command = Command::new(program);
    let child = command.args(arguments).stdin(Stdio::null()).env(GUARDED, "1").spawn();
    let id = child.with_context(|| format!("failed to start `{program}`"))?.id();
    let pid = i32::try_from(id)
        .ok()
        .and_then(Pid::from_raw)
        .context("the command's process id is out of range")?;
    thread::spawn(move || {
        // An error of the pipe also ends the command.
        #[expect(clippy::disallowed_methods, reason = "the guard gives this process a pipe")]
        let _ = io::stdin().read_to_end(&mut Vec::new());
        let _ = kill_process(pid, Signal::KILL);
    });
    let status = await_end(pid).context("failed to wait for the command")?;
    kill_descendants();
    ci::remove_temporary(id);
    let code = status.exit_status().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

/// Waits for the command to end; meanwhile reaps orphans, so that they do not remain as zombies.
fn await_end(command: Pid) -> io::Result<WaitStatus> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => return Ok(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Kills all descendants of this process, and waits for them.
fn kill_descendants() {
    let mut waited = Duration::ZERO;
    while waited < GRACE {
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        let left = descendants(std::process::id());
        if left.is_empty() {
            return;
        }
        for pid in left.into_iter().filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
            // The process may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(TICK);
        waited += TICK;
    }
}

/// Returns the ids of all descendants of `ancestor`.
fn descendants(ancestor: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name is in parentheses and may contain spaces and parentheses; state and parent id
        // follow it.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if let (Some(pid), Some(parent)) = (pid, parent.and_then(|parent| parent.parse().ok())) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut ahead = vec![ancestor];
    while let Some(pid) = ahead.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        ahead.extend(&below);
        found.extend(below);
    }
    found
}
