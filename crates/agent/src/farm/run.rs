//! Runs one job: starts it, watches it, and ends it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use garland_core::farm::{self, Outcome, Text};
use garland_protocol::{FarmTask, OutputFile, TaskEnd};
use garland_sys::event::{self, Interest, Wake};
use garland_sys::{child, clock, limits, process};

use super::guard::{Guard, MARK};
use super::output::{JobOutput, Pipes};
use crate::error::{OrderError, cannot};

/// The directories of jobs.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The working directory of commands; by default that of this process.
    pub folder: Option<PathBuf>,
    /// The directory that contains the jobs' own directories; `None` if jobs have none.
    pub own: Option<PathBuf>,
}

impl Place {
    /// Returns the working directory of a task; `None` for the directory of this process.
    pub fn of(&self, task: &FarmTask) -> Option<PathBuf> {
        match (&self.own, task.own_folder) {
            (Some(own), true) => Some(own.join(task.job.to_string())),
            _ => self.folder.clone(),
        }
    }
}

/// Runs a task until it ends or `stop` is raised. Returns the report of its end, its output, and,
/// if it has succeeded, its output files.
pub fn run(
    task: &FarmTask,
    place: &Place,
    guard: Option<&Guard>,
    stop: &Wake,
) -> (TaskEnd, Vec<u8>, Vec<OutputFile>) {
    let folder = place.of(task);
    let started_ns = clock::now_ns();
    let mut output = JobOutput::default();
    let result = start(task, folder.as_deref(), guard)
        .map_err(cannot("start its command"))
        .and_then(|started| {
            let group = started.0.id();
            if let Some(guard) = guard {
                guard.begun(group);
            }
            let about_to_end = || guard.iter().for_each(|guard| guard.ended(group));
            watch(started, task, stop, &mut output, &about_to_end)
                .map_err(cannot("wait for its command"))
        });
    let ended_ns = clock::now_ns();
    let (mut outcome, cpu_ns, memory) = match result {
        Ok((outcome, ended)) => (outcome, ended.cpu_ns, ended.memory),
        Err(error) => (Outcome::Failed(error.to_string()), 0, 0),
    };
    let files = name_outputs(task, folder.as_deref(), outcome.is_done());
    let files = files.unwrap_or_else(|error| {
        outcome = Outcome::Failed(error.to_string());
        Vec::new()
    });
    let bytes_out = files.iter().map(|file| file.length).sum();
    let (job, is_done) = (task.job, outcome.is_done());
    let last_words = if is_done { Vec::new() } else { output.last_words() };
    let end = TaskEnd { job, started_ns, ended_ns, outcome, cpu_ns, memory, bytes_out, last_words };
    (end, output.all.into_bytes(), files)
}

fn start(
    task: &FarmTask,
    folder: Option<&Path>,
    guard: Option<&Guard>,
) -> io::Result<(Child, Pipes)> {
    let (pipes, [to_output, to_errors]) = Pipes::new()?;
    let mut command = match &task.command {
        farm::Command::Words(words) => {
            let mut words = words.iter().map(|word| OsStr::from_bytes(word.bytes()));
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words);
            command
        }
        farm::Command::Line(line) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(OsStr::from_bytes(line.bytes()));
            command
        }
    };
    command.stdin(Stdio::null()).stdout(to_output).stderr(to_errors);
    // A process group of its own, so that all its processes can be killed together.
    command.process_group(0).env("GARLAND_JOB", task.job.to_string());
    if let Some(guard) = guard {
        command.env(MARK, &guard.mark);
    }
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    limits::restore_open_files_in(&mut command);
    Ok((command.spawn()?, pipes))
}

/// Reads the output of a job until the job has ended, `stop` is raised, or the job's time limit is
/// exceeded.
fn watch(
    (job, mut pipes): (Child, Pipes),
    task: &FarmTask,
    stop: &Wake,
    output: &mut JobOutput,
    about_to_end: &dyn Fn(),
) -> io::Result<(Outcome, child::Ended)> {
    let deadline_ns = task.timeout_ns.map(|timeout| clock::now_ns().saturating_add(timeout));
    let (mut late, mut stopped) = (false, false);
    let mut watched = child::watch(&job);
    while let Ok(pid) = &watched {
        let mut interests = vec![
            Interest { fd: pid.as_fd(), write: false },
            Interest { fd: stop.as_fd(), write: false },
        ];
        interests.extend(pipes.open().map(|pipe| Interest { fd: pipe.as_fd(), write: false }));
        let left: Option<Duration> = deadline_ns.map(clock::until);
        let ready = match event::wait(&interests, left) {
            Ok(ready) => ready,
            // The job is killed first: it must not go on without anybody who watches it.
            Err(error) => {
                watched = Err(error);
                break;
            }
        };
        if ready[2..].iter().any(|pipe| pipe.read) {
            pipes.read(|is_error, bytes| output.add(is_error, bytes));
        }
        if ready[0].read {
            break;
        }
        stopped = ready[1].read;
        late = deadline_ns.is_some_and(|deadline| clock::now_ns() >= deadline);
        if stopped || late {
            break;
        }
    }
    // Kill the whole group, since no job may leave processes behind. The number of the group is not
    // reused before its leader is reaped.
    process::kill_group(job.id());
    about_to_end();
    let ended = child::reap(&job)?;
    pipes.read(|is_error, bytes| output.add(is_error, bytes));
    watched?;
    let status = ended.status;
    let outcome = match (late, stopped) {
        (true, _) => Outcome::Timeout,
        (_, true) => Outcome::Failed("killed because the run ended".to_owned()),
        _ => status
            .signal()
            .map_or_else(|| Outcome::Exit(status.code().unwrap_or(-1)), Outcome::Signal),
    };
    Ok((outcome, ended))
}

/// Renames outputs to their final names and returns them if the job succeeded, else removes them.
fn name_outputs(
    task: &FarmTask,
    folder: Option<&Path>,
    is_done: bool,
) -> Result<Vec<OutputFile>, OrderError> {
    let path = |name: &Text| {
        let name = Path::new(OsStr::from_bytes(name.bytes()));
        folder.map_or_else(|| name.to_owned(), |folder| folder.join(name))
    };
    let mut files = Vec::new();
    if is_done {
        for (made, name) in &task.outputs {
            let found =
                fs::metadata(path(made)).map_err(cannot(format!("find its output {name}")))?;
            let modified = (found.mtime(), u32::try_from(found.mtime_nsec()).unwrap_or(0));
            files.push(OutputFile { length: found.len(), modified, mode: found.mode() & 0o7777 });
        }
    }
    for (made, name) in &task.outputs {
        if !is_done {
            // Jobs that fail have usually created none.
            let _ = fs::remove_file(path(made));
        } else if made != name {
            fs::rename(path(made), path(name))
                .map_err(cannot(format!("rename its output to {name}")))?;
        }
    }
    Ok(files)
}
