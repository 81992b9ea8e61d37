//! The engine `slurm`: submits a job array, each task of which runs a part of the jobs. The run's
//! directory and the jobs' files must have the same paths on the nodes and on this machine.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use garland_control::program::Image;
use garland_core::farm::last_words::last_words;
use garland_core::farm::{Engine, Job};
use garland_core::printable;
use garland_protocol::farm::dispatch::Round;
use garland_state::run;
use garland_sys::new_file::NewFile;
use garland_sys::{clock, ownership, private_file, random, regular_file};
use garland_terminal::failure::{Failure, OrFailure};

use super::driver::{Driver, Ending, Work};
use super::json_lines;
use super::ledger::Ledger;
use super::rounds::EngineRun;
use super::task::{JobFiles, JobTry};
use super::worker::{WorkEnd, ended_file, part_file};
use crate::args::DataName;

/// The interval at which the files of ended jobs are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The interval in nanoseconds at which Slurm is asked whether the array still exists.
const ASK_NS: u64 = 1_000_000_000;

/// The number of parts per CPU. More parts balance better; fewer parts start faster, since Slurm
/// starts only a few tasks per second.
const PARTS: usize = 8;

/// The maximum number of array tasks: Slurm's default limit is 1001.
const PARTS_MAX: usize = 1000;

/// The file with the ids of the run's arrays, one per line.
const ARRAYS: &str = "slurm";

/// The engine that runs jobs with Slurm's job arrays.
pub struct Slurm;

impl Driver for Slurm {
    fn run(&self, work: &Work<'_>, jobs: Vec<Job>, ledger: &mut Ledger) -> Result<Ending, Failure> {
        if work.settings.data != DataName::There {
            return Err(Failure::usage(
                "the engine slurm supports only `--data there`: its nodes share the jobs' files",
            )
            .hint("omit --data, or use --engine agents, which copies files to nodes"));
        }
        let shared = match &work.asked.slurm_dir {
            Some(folder) => {
                std::path::absolute(folder).or_nothing("cannot resolve the path of --slurm-dir")?
            }
            None => work.run.folder().to_owned(),
        };
        let folder = own_folder(&shared, &format!("{}-slurm", work.run.name()))?;
        cancel_earlier(work);
        let program = folder.join("garland");
        write_program(&program)
            .or_nothing(format!("cannot write {}", printable::path(&program)))?;
        let cores = processors()?;
        let mut count = 0;
        EngineRun::new(work, Engine::Slurm, jobs, ledger).go(&mut |rounds, round| {
            count += 1;
            // The directory belongs to this round of this controller only.
            let name = format!("{}-{count}", clock::wall_ns());
            let array = Array::submit(work, round, &folder.join(name), &program, cores)?;
            let interrupted = array.follow(work, rounds)?;
            if interrupted {
                array.cancel();
            }
            Ok(interrupted)
        })
    }
}

/// Cancels the job arrays that earlier controllers submitted for the run. Jobs without a record are
/// run again.
fn cancel_earlier(work: &Work<'_>) {
    let ids = work.run.read(ARRAYS).unwrap_or_default();
    let ids = String::from_utf8_lossy(&ids);
    for id in ids.lines() {
        // Most arrays have ended, so errors are expected.
        let _ = Command::new("scancel").arg(id).output();
    }
}

/// Creates the directory `name` in the directory `shared`, unless an earlier controller of the run
/// has. The nodes run a program and jobs from there as this user, so no other may write to it.
fn own_folder(shared: &Path, name: &str) -> Result<PathBuf, Failure> {
    let creating = || format!("cannot create {}", printable::path(shared.join(name)));
    fs::create_dir_all(shared).or_nothing(creating())?;
    // A link on the way may lead elsewhere later.
    let folder = shared.canonicalize().or_nothing(creating())?.join(name);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(error).or_nothing(creating());
        }
        _ => {}
    }
    let shown = printable::path(&folder);
    let refused = |why: &str| {
        let message = format!("cannot use {shown} for the nodes' program and jobs: {why}");
        Failure::usage(message)
            .hint("give --slurm-dir a shared directory to which only you can write")
    };
    let looking = || format!("cannot inspect {shown}");
    if !fs::symlink_metadata(&folder).or_nothing(looking())?.is_dir() {
        return Err(refused("it is not a directory"));
    }
    match ownership::fault_of_own_folder(&folder).or_nothing(looking())? {
        Some(why) => Err(refused(&why)),
        None => Ok(folder),
    }
}

/// Writes the running program to `path`, in the user's own directory, unless an earlier controller
/// of the run has. Nodes run it from there.
fn write_program(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let mut program = NewFile::create(path)?;
    io::copy(&mut Image::running()?, &mut program)?;
    program.file().set_permissions(fs::Permissions::from_mode(0o755))?;
    program.commit()
}

/// Returns the number of CPUs of all nodes that Slurm knows, but at least 1.
fn processors() -> Result<usize, Failure> {
    let mut command = Command::new("sinfo");
    let said = ask(command.args(["-h", "-o", "%C"]))?;
    // %C: allocated/idle/other/total CPUs of each partition.
    let all = said.lines().filter_map(|line| line.trim().rsplit('/').next()?.parse::<usize>().ok());
    Ok(all.sum::<usize>().max(1))
}

/// Runs a Slurm command. Returns its standard output.
fn ask(command: &mut Command) -> Result<String, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        Failure::nothing(format!("cannot run {program}: {}", garland_sys::error::reason(&error)))
            .hint("install Slurm's client commands on this machine, or use --engine agents")
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches(&format!("{program}: error: "));
        return Err(Failure::nothing(format!("cannot use Slurm: {program} failed: {said}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A submitted job array.
struct Array {
    id: String,
    folder: PathBuf,
    parts: usize,
    /// The numbers of the jobs. Job `i` is in part `i` modulo the number of parts.
    jobs: Vec<u32>,
}

/// Returns the path of the file with the standard output and standard error of a part's task.
/// `part` is the index of the part, or Slurm's pattern for it.
fn said_file(folder: &Path, part: impl fmt::Display) -> PathBuf {
    folder.join(format!("said-{part}"))
}

impl Array {
    fn submit(
        work: &Work<'_>,
        round: &Round,
        folder: &Path,
        program: &Path,
        cores: usize,
    ) -> Result<Self, Failure> {
        let parts = round.jobs.len().min(cores * PARTS).min(PARTS_MAX);
        let write = || -> io::Result<()> {
            fs::create_dir(folder)?;
            let secret = random::bytes();
            let this_try = JobTry { number: round.tries, restored: false, secret };
            for part in 0..parts {
                let jobs = round.jobs.iter().skip(part).step_by(parts);
                let tasks = jobs.map(|job| JobFiles::There.task(job, this_try));
                json_lines::write(&part_file(folder, part), tasks)?;
            }
            Ok(())
        };
        write().or_nothing(format!("cannot write {}", printable::path(folder)))?;
        let most = round.jobs.iter().map(|job| job.cores).max().unwrap_or(1);
        let script = folder.join("script");
        let text =
            "#!/bin/sh\nexec \"$1\" farm work --folder \"$2\" --part \"$SLURM_ARRAY_TASK_ID\"\n";
        let written = private_file::replace_unsynced(&script, text.as_bytes());
        written.or_nothing(format!("cannot write {}", printable::path(&script)))?;
        let mut command = Command::new("sbatch");
        command.args(["--parsable", "--requeue", "--ntasks=1"]);
        command.arg("--job-name=garland").arg(format!("--array=0-{}", parts - 1));
        command.arg(format!("--cpus-per-task={most}"));
        // This file gets errors of the task itself; the jobs' output is in the part's file.
        let mut output = OsString::from("--output=");
        output.push(said_file(folder, "%a"));
        command.arg(output);
        command.arg("--chdir").arg(&work.settings.folder);
        if let Some(memory) = round.jobs.iter().filter_map(|job| job.memory).max() {
            command.arg(format!("--mem={}K", memory.div_ceil(1024)));
        }
        if let Some(nodes) = &work.settings.nodes {
            let names: Vec<String> =
                work.inventory.nodes(nodes)?.into_iter().map(|node| node.name).collect();
            let avoid = round.avoid(names.iter());
            if !avoid.is_empty() {
                command.arg(format!("--exclude={}", avoid.join(",")));
            }
        }
        let arrays = work.run.folder().join(ARRAYS);
        let id = ask(command.arg(&script).arg(program).arg(folder))?;
        let id = id.trim().split(';').next().unwrap_or_default().to_owned();
        let open = File::options().create(true).append(true).mode(0o600).open(arrays);
        open.and_then(|mut file| writeln!(file, "{id}"))
            .or_nothing("cannot record the id of the job array")?;
        let jobs = round.jobs.iter().map(|job| job.number).collect();
        Ok(Self { id, folder: folder.to_owned(), parts, jobs })
    }

    /// Records the ends of jobs until all have ended or the array no longer exists. Returns whether
    /// the user interrupted the run.
    fn follow(&self, work: &Work<'_>, rounds: &mut EngineRun<'_, '_>) -> Result<bool, Failure> {
        let mut read = vec![0; self.parts];
        let mut asked_ns = clock::now_ns();
        let mut gone = false;
        loop {
            for (part, read) in read.iter_mut().enumerate() {
                self.read_ends(part, read, rounds);
            }
            rounds.commit()?;
            if rounds.open() == 0 {
                return Ok(false);
            }
            if gone {
                self.blame(rounds);
                return Ok(false);
            }
            if work.interrupts.have_come() {
                return Ok(true);
            }
            garland_sys::threads::sleep(POLL_INTERVAL);
            if clock::now_ns().saturating_sub(asked_ns) > ASK_NS {
                asked_ns = clock::now_ns();
                // If the array is gone, the next turn of the loop reads the last ends of jobs.
                gone = self.is_gone();
            }
        }
    }

    /// Records the ends that a part's task has written since the offset `read`, and advances
    /// `read`.
    fn read_ends(&self, part: usize, read: &mut u64, rounds: &mut EngineRun<'_, '_>) {
        let Ok(mut file) = regular_file::open(&ended_file(&self.folder, part)) else { return };
        let mut bytes = Vec::new();
        let more = file.seek(SeekFrom::Start(*read)).and_then(|_| file.read_to_end(&mut bytes));
        if more.is_err() {
            return;
        }
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        *read += whole as u64;
        let lines = bytes[..whole].split(|&byte| byte == b'\n');
        let ends = lines.filter_map(|line| serde_json::from_slice::<WorkEnd>(line).ok());
        ends.for_each(|end| rounds.ended(end));
    }

    /// Keeps the last lines of each part's output as the reason for jobs of the part without an
    /// end.
    fn blame(&self, rounds: &mut EngineRun<'_, '_>) {
        for part in 0..self.parts {
            let said = run::read_file(&said_file(&self.folder, part)).unwrap_or_default();
            let words = last_words(&said);
            if !words.is_empty() {
                let jobs = self.jobs.iter().skip(part).step_by(self.parts);
                jobs.for_each(|&job| rounds.blame(job, words.clone()));
            }
        }
    }

    /// Returns whether Slurm no longer knows the array.
    fn is_gone(&self) -> bool {
        let output = Command::new("squeue").args(["-h", "-o", "%i", "-j", &self.id]).output();
        output.is_ok_and(|output| match output.status.success() {
            true => output.stdout.trim_ascii().is_empty(),
            // After other errors of squeue, the array may still exist.
            false => String::from_utf8_lossy(&output.stderr).contains("Invalid job id"),
        })
    }

    fn cancel(&self) {
        // If this fails, Slurm ends the array by itself, or the next controller cancels it.
        let _ = Command::new("scancel").arg(&self.id).output();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn a_directory_that_others_made_or_may_write_to_runs_no_program() {
        let name = format!("garland-slurm-folder-{}", std::process::id());
        let shared = std::env::temp_dir().join(name);
        let folder = own_folder(&shared, "new").unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700);
        assert_eq!(own_folder(&shared, "new").unwrap(), folder, "by an earlier controller");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = own_folder(&shared, "new").unwrap_err();
        assert!(refused.message().contains("other users may write to it"), "{refused}");
        symlink(&folder, shared.join("link")).unwrap();
        let refused = own_folder(&shared, "link").unwrap_err();
        assert!(refused.message().contains("it is not a directory"), "{refused}");
        fs::remove_dir_all(&shared).unwrap();
    }
}
