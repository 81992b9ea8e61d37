//! A command of which nothing remains, however it ends: `cargo xtask guard COMMAND`, and so `test` and
//! `soak`.
//!
//! Three processes: the one that was called, the keeper, and the command. The keeper has a session of
//! its own, so that no signal for the first reaches it, and a pipe from the first: when that closes, the
//! first is gone, by whatever signal, and the keeper kills the command. All descendants that lose their
//! parent become the keeper's children (PR_SET_CHILD_SUBREAPER), daemons too; when the command has ended,
//! it kills what is left of them and removes the command's temporary files.

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

/// The chore that the keeper does.
pub(crate) const KEEPER: &str = "guard-keeper";

/// Says in a command's environment that it is guarded.
const GUARDED: &str = "GARLAND_GUARDED";

/// How long killed processes may take to be gone.
const GRACE: Duration = Duration::from_secs(10);

const TICK: Duration = Duration::from_millis(20);

/// Does `work` if this process is guarded; else starts the same chore again, guarded.
///
/// # Errors
/// When the keeper can't be started, or the guarded chore fails.
pub(crate) fn chore(work: impl FnOnce() -> Result<()>) -> Result<()> {
    if std::env::var_os(GUARDED).is_some() {
        return work();
    }
    let own = "/proc/self/exe".to_owned();
    let words: Vec<String> = [own].into_iter().chain(std::env::args().skip(1)).collect();
    match run(&words)? {
        0 => Ok(()),
        // It has said why.
        code => std::process::exit(code.into()),
    }
}

/// Runs a command; its exit code.
///
/// # Errors
/// When the keeper can't be started.
pub(crate) fn run(words: &[String]) -> Result<u8> {
    let mut keeper = Command::new("/proc/self/exe");
    let keeper = keeper.arg(KEEPER).args(words).stdin(Stdio::piped()).spawn();
    let mut keeper = keeper.context("start the guard's keeper")?;
    let life = keeper.stdin.take();
    let status = keeper.wait().context("wait for the guard's keeper")?;
    drop(life);
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Keeps the command until it or this process's standard input ends, and leaves nothing of it.
///
/// # Errors
/// When the command can't be started.
pub(crate) fn keep(words: &[String]) -> Result<ExitCode> {
    let (program, arguments) = words.split_first().context("usage: cargo xtask guard COMMAND")?;
    // A session of its own: it isn't the first of its process group, so that this can't fail.
    setsid().context("make a session")?;
    set_child_subreaper(Some(getpid())).context("become the parent of orphans")?;
    let mut command = Command::new(program);
    let child = command.args(arguments).stdin(Stdio::null()).env(GUARDED, "1").spawn();
    let id = child.with_context(|| format!("start `{program}`"))?.id();
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw).context("the command has a number")?;
    thread::spawn(move || {
        // An error ends it, too.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        let _ = kill_process(pid, Signal::KILL);
    });
    let status = await_end(pid).context("wait for the command")?;
    kill_descendants();
    ci::remove_temporary(id);
    let code = status.exit_status().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

/// Waits for the command, and for orphans so that they don't stay as zombies.
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
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(TICK);
        waited += TICK;
    }
}

/// The processes that descend from `ancestor`.
fn descendants(ancestor: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name, in parentheses, may have spaces and parentheses in it; state and parent follow it.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if let (Some(pid), Some(parent)) = (pid, parent.and_then(|parent| parent.parse().ok())) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut found, mut ahead) = (Vec::new(), vec![ancestor]);
    while let Some(pid) = ahead.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        ahead.extend(&below);
        found.extend(below);
    }
    found
}
