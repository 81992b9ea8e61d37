//! The worker, which the engine slurm starts on nodes: it runs jobs, and reports their ends with
//! the same figures as an agent.

use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_agent::{JobExecutor, Place};
use garland_core::farm::Text;
use garland_core::printable;
use garland_protocol::farm::{FarmEvent, FarmTask, TaskEnd};
use garland_sys::channel::{Receiver, channel};
use garland_sys::{clock, ownership, process, regular_file};
use garland_terminal::failure::{Exit, Failure, OrFailure};
use serde::{Deserialize, Serialize};

use crate::args::FarmWork;

/// The end of a job, as a worker reports it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkEnd {
    /// The node's name: the host name that the worker reports.
    pub node: String,
    /// Wall clock minus monotonic clock of the node in nanoseconds; `end` has monotonic times.
    pub ahead_ns: u64,
    /// The end of the job.
    pub end: TaskEnd,
    /// The number of times that the engine has restarted the worker.
    pub again: u32,
    /// The job's output; none if it is empty.
    pub said: Option<Text>,
}

/// Returns the path of the file with a part's jobs.
pub fn part_file(folder: &Path, part: usize) -> PathBuf {
    folder.join(format!("part-{part}.jsonl"))
}

/// Returns the path of the file with the ends of a part's jobs.
pub fn ended_file(folder: &Path, part: usize) -> PathBuf {
    folder.join(format!("ended-{part}.jsonl"))
}

/// Runs the jobs of a part, and reports their ends in the part's file.
pub fn run(asked: &FarmWork) -> Result<Exit, Failure> {
    let folder = &asked.folder;
    refuse_foreign(folder)?;
    let tasks = left(folder, asked.part)?;
    let path = ended_file(folder, asked.part);
    let mut options = OpenOptions::new();
    let output = regular_file::open_with(options.create(true).append(true).mode(0o600), &path);
    let mut output = output.or_nothing(format!("cannot open {}", printable::path(&path)))?;
    let (tell, events) = channel();
    let tell = Arc::new(move |event| {
        // The receiver outlives the executor unless this function fails.
        let _ = tell.send(event);
    });
    let cores = tasks.iter().map(|task| task.cores).max().unwrap_or(1);
    let count = tasks.len();
    let executor = JobExecutor::new(cores.max(asked.slots), Place::default(), false, tell);
    let mut executor = executor.or_nothing("cannot run jobs")?;
    executor.take(tasks);
    report_ends(count, &events, &mut output)?;
    Ok(Exit::Done)
}

/// Fails unless the directory with the jobs is this user's alone.
fn refuse_foreign(folder: &Path) -> Result<(), Failure> {
    let shown = printable::path(folder);
    let stat = fs::symlink_metadata(folder).or_nothing(format!("cannot inspect {shown}"))?;
    match ownership::fault_of_file(folder, &stat) {
        Some(why) => Err(Failure::usage(format!("cannot run the jobs of {shown}: {why}"))
            .hint("only a directory of your own says what you run")),
        None => Ok(()),
    }
}

/// Returns the jobs of a part that have not ended: an earlier worker may have run some before its
/// node died.
fn left(folder: &Path, part: usize) -> Result<Vec<FarmTask>, Failure> {
    let path = part_file(folder, part);
    let reading = || format!("cannot read {}", printable::path(&path));
    let file = BufReader::new(regular_file::open(&path).or_nothing(reading())?);
    let ended: HashSet<u32> = match regular_file::open(&ended_file(folder, part)) {
        Ok(ended) => {
            let lines = BufReader::new(ended).lines().map_while(Result::ok);
            let ends = lines.filter_map(|line| serde_json::from_str::<WorkEnd>(&line).ok());
            ends.map(|end| end.end.job).collect()
        }
        Err(_) => HashSet::new(),
    };
    let mut tasks = Vec::new();
    for line in file.lines() {
        let line = line.or_nothing(reading())?;
        let task: FarmTask = serde_json::from_str(&line).or_nothing(reading())?;
        tasks.extend(Some(task).filter(|task| !ended.contains(&task.job)));
    }
    Ok(tasks)
}

/// Writes the ends of jobs to `output` as JSON lines, until `count` jobs have ended.
fn report_ends(
    mut count: usize,
    events: &Receiver<FarmEvent>,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let node = process::host_name();
    let again = std::env::var("SLURM_RESTART_COUNT").ok();
    let again = again.and_then(|count| count.parse().ok()).unwrap_or(0);
    let mut outputs = HashMap::new();
    while count > 0 {
        match events.recv().or_nothing("cannot run jobs")? {
            FarmEvent::Output(job, bytes) => {
                outputs.insert(job, Text(bytes));
            }
            FarmEvent::Ended(ends) => {
                let mut lines = Vec::new();
                for end in ends {
                    count -= 1;
                    let ahead_ns = clock::wall_ns().saturating_sub(clock::now_ns());
                    let said = outputs.remove(&end.job);
                    let line = WorkEnd { node: node.clone(), ahead_ns, end, again, said };
                    serde_json::to_writer(&mut lines, &line)
                        .or_nothing("cannot encode the end of a job")?;
                    lines.push(b'\n');
                }
                output.write_all(&lines).or_nothing("cannot write the ends of jobs")?;
            }
            _ => {}
        }
    }
    output.flush().or_nothing("cannot write the ends of jobs")
}

#[cfg(test)]
mod tests {
    use garland_core::farm::Outcome;

    use super::*;

    #[test]
    fn jobs_that_end_together_keep_the_output_of_each() {
        let (sender, events) = channel();
        let end = |job| TaskEnd {
            job,
            started_ns: 0,
            ended_ns: 1,
            outcome: Outcome::Exit(0),
            cpu_ns: 0,
            memory: 0,
            bytes_out: 0,
            last_words: Vec::new(),
        };
        for job in [1, 2] {
            let output = FarmEvent::Output(job, vec![b'0' + u8::try_from(job).unwrap()]);
            sender.send(output).unwrap();
        }
        sender.send(FarmEvent::Ended(vec![end(1), end(2)])).unwrap();
        let mut lines = Vec::new();
        report_ends(2, &events, &mut lines).unwrap();
        let ends = lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let said: Vec<_> = ends
            .map(|line| serde_json::from_slice::<WorkEnd>(line).unwrap().said.unwrap().0)
            .collect();
        assert_eq!(said, [b"1", b"2"]);
    }
}
