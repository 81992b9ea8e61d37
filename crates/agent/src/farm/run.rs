//! Runs one job: starts it, watches it, and ends it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use garland_core::farm::{self, Outcome, Text};
use garland_core::printable;
use garland_protocol::farm::{FarmTask, OutputFile, TaskEnd};
use garland_sys::event::{self, Interest, Wake};
use garland_sys::mark::Mark;
use garland_sys::{child, clock, process};

use super::departure::Departure;
use super::guard::Guard;
use super::launch::{self, path_of};
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

/// What those who run a job have to do with it.
pub struct Supervision<'a> {
    /// Kills the job if this process is killed.
    pub guard: Option<&'a Guard>,
    /// The mark of the job.
    pub mark: &'a Mark,
    /// Raised when all jobs are to be killed.
    pub stop: &'a Wake,
    /// Raised when the job is to leave the node; `None` if it cannot leave.
    pub leave: Option<&'a Wake>,
    /// Gets the leader of the job's process group, as `/proc` names it, when the job has begun, and
    /// `None` when it is about to end.
    pub leader: &'a dyn Fn(Option<u32>),
    /// Gets the output of the job as it comes: whether it is from standard error, and the bytes.
    pub wrote: &'a dyn Fn(bool, &[u8]),
    /// Gets the reason if a job that was to leave stays.
    pub stays: &'a dyn Fn(String),
}

/// The result of a job on this node.
pub struct JobEnd {
    /// The report of its end.
    pub end: TaskEnd,
    /// Its output.
    pub said: Vec<u8>,
    /// Its output files if it has succeeded, or its state files if it has left.
    pub files: Vec<OutputFile>,
    /// Whether the job has left the node, as ordered; then it has no outcome.
    pub has_left: bool,
}

/// Runs a task until it ends, leaves, or is stopped.
pub fn run(task: &FarmTask, place: &Place, supervision: &Supervision<'_>) -> JobEnd {
    let folder = place.of(task);
    let started_ns = clock::now_ns();
    let mut output = JobOutput::default();
    let Supervision { guard, mark, leave, .. } = supervision;
    let departure = Departure::new(task, folder.as_deref(), mark, *guard, *leave);
    let result = make_output_folders(task, folder.as_deref())
        .and_then(|()| {
            start(task, folder.as_deref(), mark).map_err(|error| not_started(task, error))
        })
        .and_then(|(job, pipes)| {
            guard.iter().for_each(|guard| guard.begun(job.id()));
            watch(job, pipes, task, supervision, departure, &mut output)
                .map_err(cannot("wait for its command"))
        });
    let ended_ns = clock::now_ns();
    let (mut outcome, cpu_ns, memory, has_left) = match result {
        Ok((outcome, ended, has_left)) => (outcome, ended.cpu_ns, ended.memory, has_left),
        Err(error) => (Outcome::Failed(error.to_string()), 0, 0, false),
    };
    let files = if has_left && task.checkpoint.is_some() {
        // The job goes on with them. If one is missing, the head has the job start over.
        Ok(task.state.iter().flat_map(|name| describe(name, folder.as_deref())).collect())
    } else {
        name_outputs(task, folder.as_deref(), outcome.is_done())
    };
    let files = files.unwrap_or_else(|error| {
        outcome = Outcome::Failed(error.to_string());
        Vec::new()
    });
    let bytes_out = files.iter().map(|file| file.length).sum();
    let job = task.job;
    let last_words = if outcome.is_done() { Vec::new() } else { output.last_words() };
    let end = TaskEnd { job, started_ns, ended_ns, outcome, cpu_ns, memory, bytes_out, last_words };
    JobEnd { end, said: output.all.into_bytes(), files, has_left }
}

fn start(task: &FarmTask, folder: Option<&Path>, mark: &Mark) -> io::Result<(Child, Pipes)> {
    let (pipes, [to_output, to_errors]) = Pipes::new()?;
    let mut command = match &task.command {
        farm::Command::Words(words) => {
            let mut words = words.iter().map(|word| OsStr::from_bytes(word.bytes()));
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words);
            command
        }
        farm::Command::Line(line) => launch::shell(line),
    };
    command.stdout(to_output).stderr(to_errors);
    launch::prepare(&mut command, task.job, folder, mark);
    Ok((command.spawn()?, pipes))
}

/// Returns why the command of a job cannot be started. A command of words is a program; a user may
/// have meant a word that only a shell knows.
fn not_started(task: &FarmTask, error: io::Error) -> OrderError {
    let farm::Command::Words(words) = &task.command else {
        return cannot("start the shell of its command")(error);
    };
    let program = words.first().map_or_else(String::new, Text::to_string);
    let is_unknown = error.kind() == io::ErrorKind::NotFound && !program.contains('/');
    let why = cannot(format!("start {program}"))(error);
    match is_unknown {
        true => format!("{why}; a command of the shell is written as sh -c '{program} ..'").into(),
        false => why,
    }
}

/// Reads the output of a job until the job has ended, is to leave or to be stopped, or exceeds its
/// time limit. Returns how it ended, and whether it has left the node.
fn watch(
    job: Child,
    mut pipes: Pipes,
    task: &FarmTask,
    supervision: &Supervision<'_>,
    mut departure: Departure<'_>,
    output: &mut JobOutput,
) -> io::Result<(Outcome, child::Ended, bool)> {
    let stop = supervision.stop;
    let deadline_ns = task.timeout_ns.map(|timeout| clock::now_ns().saturating_add(timeout));
    let mut late = false;
    let mut stopped = false;
    let mut is_leaving = false;
    let mut add = |is_error, bytes: &[u8]| {
        output.add(is_error, bytes);
        (supervision.wrote)(is_error, bytes);
    };
    let mut watched = child::watch(&job);
    let leader = watched.as_ref().ok().and_then(child::number_in_proc);
    (supervision.leader)(leader.or_else(|| Some(job.id())));
    while let Ok(pid) = &watched {
        let mut interests = vec![
            Interest { fd: pid.as_fd(), write: false },
            Interest { fd: stop.as_fd(), write: false },
        ];
        interests.extend(departure.fd().map(|fd| Interest { fd, write: false }));
        let first_pipe = interests.len();
        interests.extend(pipes.open().map(|pipe| Interest { fd: pipe.as_fd(), write: false }));
        let next_ns = deadline_ns.into_iter().chain(departure.deadline_ns()).min();
        let left: Option<Duration> = next_ns.map(clock::until);
        let ready = match event::wait(&interests, left) {
            Ok(ready) => ready,
            // The job is killed first: it must not go on without anybody who watches it.
            Err(error) => {
                watched = Err(error);
                break;
            }
        };
        if ready[first_pipe..].iter().any(|pipe| pipe.read) {
            pipes.read(&mut add);
        }
        if ready[0].read {
            break;
        }
        stopped = ready[1].read;
        late = deadline_ns.is_some_and(|deadline| clock::now_ns() >= deadline);
        if stopped || late {
            break;
        }
        match departure.proceed(job.id()) {
            Ok(false) => {}
            Ok(true) => {
                is_leaving = true;
                break;
            }
            Err(error) => (supervision.stays)(error.to_string()),
        }
    }
    // Kill the whole group, since no job may leave processes behind. The number of the group is not
    // reused before its leader is reaped.
    match late || is_leaving {
        // It has not ended by itself: processes that left the group would go on with its work.
        true => supervision.mark.kill_those_with(job.id(), launch::JOB, &task.job.to_string()),
        // To look for such processes after each job would take longer than short jobs do. They end
        // with the run.
        false => process::kill_group(job.id()),
    }
    (supervision.leader)(None);
    supervision.guard.iter().for_each(|guard| guard.ended(job.id()));
    let ended = child::reap(&job)?;
    pipes.read(&mut add);
    watched?;
    let outcome = match (late, stopped) {
        (true, _) => Outcome::Timeout,
        (_, true) => Outcome::Failed("killed because the run ended".to_owned()),
        _ => Outcome::from(ended.status),
    };
    let has_left = departure.end(late || stopped || outcome.is_done(), stop);
    Ok((outcome, ended, has_left))
}

/// Describes a file of a job.
fn describe(name: &Text, folder: Option<&Path>) -> io::Result<OutputFile> {
    let found = fs::metadata(path_of(name, folder))?;
    let modified = (found.mtime(), u32::try_from(found.mtime_nsec()).unwrap_or(0));
    Ok(OutputFile { length: found.len(), modified, mode: found.mode() & 0o7777 })
}

/// Returns the directory in which an output is until it is complete; none if it has its name from
/// the start.
fn output_folder(made: &Text, name: &Text, folder: Option<&Path>) -> Option<PathBuf> {
    let path = path_of(made, folder);
    path.parent().filter(|_| made != name).map(Path::to_owned)
}

/// Makes the directories in which outputs are until they are complete. Only this user can write
/// there: where others may create files, they see the name of an output in the arguments of the
/// command, and could make a link of that name before the command creates it.
fn make_output_folders(task: &FarmTask, folder: Option<&Path>) -> Result<(), OrderError> {
    let folders = task.outputs.iter().filter_map(|(made, name)| output_folder(made, name, folder));
    let folders: BTreeSet<PathBuf> = folders.collect();
    for path in folders {
        match DirBuilder::new().mode(0o700).create(&path) {
            // The command may make the directory of its outputs.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // A job that goes on from its checkpoint finds what it had.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_private(&path) => {}
            made => {
                let shown = printable::path(&path);
                let what = format!("create the directory {shown} for its output");
                made.map_err(cannot(what))?;
            }
        }
    }
    Ok(())
}

/// Returns whether `path` is a directory in which only this user can write.
fn is_private(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| {
        found.is_dir() && found.uid() == process::user_id() && found.mode() & 0o077 == 0
    })
}

/// Renames outputs to their final names and returns them if the job succeeded, else removes them.
fn name_outputs(
    task: &FarmTask,
    folder: Option<&Path>,
    is_done: bool,
) -> Result<Vec<OutputFile>, OrderError> {
    let path = |name: &Text| path_of(name, folder);
    let mut files = Vec::new();
    if is_done {
        for (made, name) in &task.outputs {
            let found =
                describe(made, folder).map_err(cannot(format!("find its output {name}")))?;
            files.push(found);
        }
    }
    for (made, name) in &task.outputs {
        if !is_done {
            // What has its final name may have been there before: the command writes it by itself.
            if made != name {
                // Jobs that fail have usually created none.
                let _ = fs::remove_file(path(made));
            }
        } else if made != name {
            fs::rename(path(made), path(name))
                .map_err(cannot(format!("rename its output to {name}")))?;
        }
    }
    for (made, name) in &task.outputs {
        // What the command has made beside its outputs stays.
        let _ = output_folder(made, name, folder).map(fs::remove_dir);
    }
    Ok(files)
}
