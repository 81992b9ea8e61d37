//! The settings of a run, which are stored in its directory so that it can be resumed.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use garland_core::farm::Job;
use garland_core::printable;
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::regular_file;
use garland_terminal::failure::{Failure, OrFailure};
use serde::{Deserialize, Serialize};

use super::json_lines;
use crate::args::{DataName, EngineName, FarmRun, PlacementName, word};

/// The name of the file with the settings, in the run's directory.
pub const SETTINGS: &str = "farm.json";

/// The version of a run's files: settings, jobs and journal.
const VERSION: u32 = 2;

/// The name of the file with the jobs, one per line, in the run's directory.
const JOBS: &str = "jobs.jsonl";

/// The settings of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The version of the run's files.
    version: u32,
    /// The engine that runs the jobs.
    pub engine: EngineName,
    /// The node list, as the user gave it.
    pub nodes: Option<String>,
    /// How the engine `agents` chooses the node of a job.
    pub placement: PlacementName,
    /// Whether all jobs start at once.
    pub all_at_once: bool,
    /// How jobs get their files.
    pub data: DataName,
    /// Number of cores of each node for jobs; none for all.
    pub slots: Option<u32>,
    /// The number of times that a job that fails is tried again.
    pub retries: u32,
    /// Whether existing outputs are replaced.
    pub overwrite: bool,
    /// Whether running jobs move to idle nodes.
    #[serde(default)]
    pub migrate: bool,
    /// The directory to which the paths of files are relative.
    pub folder: PathBuf,
    /// Number of jobs.
    pub jobs: usize,
    /// The name of the nodes' lab; none for the default lab.
    #[serde(default)]
    pub lab: Option<String>,
}

impl Settings {
    /// Returns the settings of a new run. Fails if options exclude each other, or a needed node
    /// list is missing.
    pub fn new(asked: &FarmRun, nodes: Option<String>, jobs: usize) -> Result<Self, Failure> {
        let usual = if nodes.is_some() { EngineName::Agents } else { EngineName::Local };
        let engine = asked.engine.unwrap_or(usual);
        match (engine, &nodes) {
            (EngineName::Local, Some(_)) => {
                return Err(Failure::usage(
                    "the engine local runs jobs on this machine, not on nodes",
                )
                .hint("omit the nodes, or --engine local"));
            }
            (EngineName::Local, _) if asked.data != DataName::There => {
                return Err(Failure::usage("the engine local supports only `--data there`")
                    .hint("omit --data"));
            }
            (EngineName::Agents, None) => {
                return Err(Failure::usage("the engine agents needs a node list"));
            }
            (EngineName::Slurm | EngineName::Local, _) if asked.migrate => {
                return Err(Failure::usage(format!(
                    "the engine {} starts jobs where they stay: --migrate has no effect",
                    word(engine)
                ))
                .hint("omit --migrate, or use --engine agents with nodes"));
            }
            _ if !asked.state.is_empty() && asked.data != DataName::Stage => {
                return Err(Failure::usage(
                    "--state names files in a job's own directory, which jobs have only with --data stage",
                )
                .hint("omit --state: all nodes reach the files of other jobs"));
            }
            _ => {}
        }
        let folder =
            std::env::current_dir().or_nothing("cannot determine the working directory")?;
        Ok(Self {
            version: VERSION,
            engine,
            nodes,
            placement: asked.placement,
            all_at_once: asked.all_at_once,
            data: asked.data,
            slots: asked.slots,
            retries: asked.retries(),
            overwrite: asked.overwrite,
            migrate: asked.migrate,
            folder,
            jobs,
            lab: asked.launch.lab.clone(),
        })
    }

    /// Stores the settings and the jobs in the run's directory.
    pub fn keep(&self, run: &Run, jobs: &[Job]) -> Result<(), Failure> {
        let path = run.folder().join(JOBS);
        let written = json_lines::write(&path, jobs.iter()).and_then(|file| file.sync_all());
        written.or_nothing(format!("cannot write {}", printable::path(&path)))?;
        run.keep(SETTINGS, self)
    }

    /// Finds the run `name`, and reads its settings and jobs.
    pub fn find(places: &Places, name: &str) -> Result<(Run, Self, Vec<Job>), Failure> {
        let run = Run::find_own(places, name, SETTINGS, "farm jobs")?;
        let path = run.folder().join(SETTINGS);
        let reading = || format!("cannot read {}", printable::path(&path));
        let text = run.read(SETTINGS).or_nothing(reading())?;
        let settings: Self = serde_json::from_slice(&text).or_nothing(reading())?;
        if settings.version != VERSION {
            let name = run.name();
            let version = settings.version;
            return Err(Failure::usage(format!(
                "{name} has farm files of version {version}; this garland supports version {VERSION}"
            ))
            .hint("resume it with the version of garland that began it"));
        }
        let path = run.folder().join(JOBS);
        let reading = || format!("cannot read {}", printable::path(&path));
        let file = BufReader::new(regular_file::open(&path).or_nothing(reading())?);
        let job = |line: std::io::Result<String>| -> Result<Job, Failure> {
            serde_json::from_str(&line.or_nothing(reading())?).or_nothing(reading())
        };
        let jobs = file.lines().map(job).collect::<Result<_, _>>()?;
        Ok((run, settings, jobs))
    }
}
