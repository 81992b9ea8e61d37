//! The agent's side of a farm: a controller's orders about jobs.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_core::farm::Text;
use garland_protocol::{FarmEvent, FarmOrder, FromAgent};

use super::facts::facts;
use super::run::Place;
use super::snapshot::JobsSnapshot;
use super::window::Window;
use crate::agent::Agent;
use crate::farm::executor::JobExecutor;
use crate::session::Session;
use garland_dataplane::log::log;
use garland_sys::error::reason;

/// The jobs of one controller. Dropping it kills them and removes their files.
pub struct JobService {
    agent: Arc<Agent>,
    session: Arc<Session>,
    executor: Option<JobExecutor>,
    /// The directory of the jobs' own directories.
    own: Option<PathBuf>,
    window: Option<Window>,
}

impl JobService {
    /// Creates a service without an executor.
    pub fn new(agent: &Arc<Agent>, session: &Arc<Session>) -> Self {
        let (agent, session) = (Arc::clone(agent), Arc::clone(session));
        Self { agent, session, executor: None, own: None, window: None }
    }

    /// Executes an order.
    pub fn obey(&mut self, order: FarmOrder) {
        match order {
            FarmOrder::Open { slots, folder } => self.open(slots, &folder),
            FarmOrder::Run(tasks) => {
                if let Some(executor) = &mut self.executor {
                    executor.take(tasks);
                }
            }
            FarmOrder::Make(job, folders) => {
                let made = self.make(job, &folders);
                self.tell(FarmEvent::Made(job, made.err()));
            }
            FarmOrder::Recall(jobs) => {
                if let Some(executor) = &self.executor {
                    executor.give_back(&jobs);
                }
            }
            FarmOrder::Mount(opening) => {
                let (window, wrong) = match Window::open(&self.path(&opening.folder), &opening) {
                    Ok(window) => (Some(window), None),
                    Err(why) => (None, Some(why)),
                };
                self.window = window;
                self.tell(FarmEvent::Mounted(wrong));
            }
            FarmOrder::Clear(job) => {
                if let Some(own) = &self.own {
                    // Errors are ignored: the directory is removed again at the end.
                    let _ = fs::remove_dir_all(own.join(job.to_string()));
                }
            }
        }
    }

    fn tell(&self, event: FarmEvent) {
        self.session.send(&FromAgent::Farm(Box::new(event)));
    }

    fn open(&mut self, slots: Option<u32>, folder: &Text) {
        let facts = facts();
        let own = self.path(folder);
        let place =
            Place { folder: self.agent.folder().map(Path::to_owned), own: Some(own.clone()) };
        let session = Arc::clone(&self.session);
        let tell = Arc::new(move |event| session.send(&FromAgent::Farm(Box::new(event))));
        match JobExecutor::new(slots.unwrap_or(facts.cores), place, true, tell) {
            Ok(executor) => {
                self.agent.activity().add_executor(JobsSnapshot::of(&executor));
                self.executor = Some(executor);
            }
            Err(error) => log(&format!("cannot run jobs on this node: {}", reason(&error))),
        }
        self.own = Some(own);
        self.tell(FarmEvent::Opened(facts));
    }

    /// Returns a path in the agent's directory.
    fn path(&self, name: &Text) -> PathBuf {
        let name = Path::new(OsStr::from_bytes(name.bytes()));
        self.agent.folder().map_or_else(|| name.to_owned(), |folder| folder.join(name))
    }

    /// Creates a job's directory, and the subdirectories of its files.
    fn make(&self, job: u32, folders: &[Text]) -> Result<(), String> {
        let own =
            self.own.as_ref().ok_or("protocol error: a job without a run")?.join(job.to_string());
        let failed =
            |error| format!("cannot create its directory {}: {}", own.display(), reason(&error));
        // Remove the files of an earlier attempt.
        let _ = fs::remove_dir_all(&own);
        fs::create_dir_all(&own).map_err(failed)?;
        folders
            .iter()
            .try_for_each(|folder| fs::create_dir_all(own.join(OsStr::from_bytes(folder.bytes()))))
            .map_err(failed)
    }
}

impl Drop for JobService {
    fn drop(&mut self) {
        // Jobs first: they use the mount.
        self.executor = None;
        self.window = None;
        if let Some(own) = &self.own {
            // Errors are ignored: the directory does not exist if no job had files.
            let _ = fs::remove_dir_all(own);
        }
    }
}
