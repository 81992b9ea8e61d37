//! The worker, which engines other than Garland's start on nodes: it runs jobs, and reports their ends with
//! the figures of an agent.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use garland_agent::{JobExecutor, Place};
use garland_core::farm::Text;
use garland_protocol::{FarmEvent, FarmTask, TaskEnd};
use garland_sys::{clock, process};
use serde::{Deserialize, Serialize};

use crate::args::FarmWork;
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// The end of a job, as a worker reports it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkEnd {
    /// The node's host name, or the name that the user knows it by.
    pub node: String,
    /// Nanoseconds by which the node's wall clock is ahead of its monotonic clock, which `end` uses.
    pub ahead_ns: u64,
    /// The end of the job.
    pub end: TaskEnd,
    /// Number of times that the engine has restarted the worker.
    pub again: u32,
    /// The job's output, if any.
    pub said: Option<Text>,
}

/// The file with a part's jobs.
pub fn part_file(folder: &Path, part: usize) -> PathBuf {
    folder.join(format!("part-{part}.jsonl"))
}

/// The file with the ends of a part's jobs.
pub fn ended_file(folder: &Path, part: usize) -> PathBuf {
    folder.join(format!("ended-{part}.jsonl"))
}

/// Runs a part's jobs or a single one, and reports the ends in the part's file or on standard output.
pub fn run(asked: &FarmWork) -> Result<Exit, Failure> {
    let tasks = match (&asked.folder, &asked.task) {
        (Some(folder), _) => left(folder, asked.part)?,
        (None, Some(task)) => vec![task_of(task)?],
        (None, None) => return Err(Failure::usage("there is no job")),
    };
    let mut output: Box<dyn Write> = match &asked.folder {
        Some(folder) => {
            let path = ended_file(folder, asked.part);
            let file = OpenOptions::new().create(true).append(true).open(&path);
            Box::new(file.or_nothing(format!("opening {}", path.display()))?)
        }
        None => Box::new(std::io::stdout()),
    };
    let (tell, told) = channel();
    let tell = Arc::new(move |event| {
        // The receiver outlives the executor unless this function fails.
        let _ = tell.send(event);
    });
    let cores = tasks.iter().map(|task| task.cores).max().unwrap_or(1);
    let count = tasks.len();
    let bench = JobExecutor::new(cores.max(asked.slots), Place::default(), false, tell);
    let mut bench = bench.or_nothing("running jobs")?;
    bench.take(tasks);
    say_all(count, &told, &mut output)?;
    Ok(Exit::Done)
}

/// A task as a word that needs no quoting in any shell: JSON in hexadecimal.
pub fn word_of(task: &FarmTask) -> Result<String, Failure> {
    let text = serde_json::to_vec(task).or_nothing("writing a job")?;
    Ok(text.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn task_of(word: &str) -> Result<FarmTask, Failure> {
    let digits = word.as_bytes().chunks(2);
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok();
    let text: Option<Vec<u8>> = digits.map(byte).collect();
    let text = text.ok_or_else(|| Failure::usage("a job is JSON in hexadecimal"))?;
    serde_json::from_slice(&text).or_nothing("reading the job")
}

/// The jobs of a part that have not ended: an earlier worker may have done some before its node died.
fn left(folder: &Path, part: usize) -> Result<Vec<FarmTask>, Failure> {
    let path = part_file(folder, part);
    let reading = || format!("reading {}", path.display());
    let file = BufReader::new(File::open(&path).or_nothing(reading())?);
    let ended: HashSet<u32> = match File::open(ended_file(folder, part)) {
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

fn say_all(
    mut count: usize,
    told: &Receiver<FarmEvent>,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let node = process::host_name();
    let again = std::env::var("SLURM_RESTART_COUNT").ok();
    let again = again.and_then(|count| count.parse().ok()).unwrap_or(0);
    let mut said = None;
    while count > 0 {
        match told.recv().or_nothing("running jobs")? {
            FarmEvent::Output(job, bytes) => said = Some((job, Text(bytes))),
            FarmEvent::Ended(ends) => {
                let mut lines = Vec::new();
                for end in ends {
                    count -= 1;
                    let ahead_ns = clock::wall_ns().saturating_sub(clock::now_ns());
                    let said = said.take_if(|(job, _)| *job == end.job).map(|(_, said)| said);
                    let line = WorkEnd { node: node.clone(), ahead_ns, end, again, said };
                    serde_json::to_writer(&mut lines, &line).or_nothing("saying how it ended")?;
                    lines.push(b'\n');
                }
                output.write_all(&lines).or_nothing("saying how jobs ended")?;
            }
            _ => {}
        }
    }
    output.flush().or_nothing("saying how jobs ended")
}
