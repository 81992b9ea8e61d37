//! Executes a controller's orders about jobs: the agent's side of a farm.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_core::farm::Text;
use garland_core::printable;
use garland_protocol::FromAgent;
use garland_protocol::farm::{FarmEvent, FarmOrder};
use garland_sys::error::reason;
use garland_sys::{private_file, removal};

use super::facts::node_facts;
use super::remover::Remover;
use super::run::Place;
use super::snapshot::JobsSnapshot;
use super::window::Window;
use crate::controller::Controller;
use crate::error::{OrderError, cannot};
use crate::farm::executor::JobExecutor;
use crate::log::log;

/// The jobs of one controller. Dropping this kills the jobs and removes their files.
pub struct JobService {
    controller: Controller,
    executor: Option<JobExecutor>,
    /// The directory that contains the jobs' own directories; `None` until the farm is opened.
    own: Option<PathBuf>,
    /// Removes these directories; `None` also if no thread could be started.
    remover: Option<Remover>,
    window: Option<Window>,
    /// The number of jobs that this node was given.
    given: u64,
}

impl JobService {
    /// Creates a service without an executor.
    pub fn new(controller: &Controller) -> Self {
        let controller = controller.clone();
        Self { controller, executor: None, own: None, remover: None, window: None, given: 0 }
    }

    /// Executes an order.
    pub fn obey(&mut self, order: FarmOrder) {
        match order {
            FarmOrder::Open { slots, folder, metered, streamed } => {
                self.open(slots, &folder, metered, streamed);
            }
            FarmOrder::Run(tasks) => {
                if let Some(executor) = &mut self.executor {
                    self.given += tasks.len() as u64;
                    executor.take(tasks);
                }
            }
            FarmOrder::Make(job, folders) => {
                let made = self.make(job, &folders);
                self.tell(FarmEvent::Made(job, made.err().map(|error| error.to_string())));
            }
            FarmOrder::Recall(jobs) => {
                if let Some(executor) = &self.executor {
                    executor.give_back(&jobs);
                }
            }
            FarmOrder::Leave(job) => {
                if let Some(executor) = &self.executor {
                    executor.leave(job);
                }
            }
            FarmOrder::Mount(opening) => {
                let opened = Window::open(&self.path(&opening.folder), &opening);
                let error = opened.as_ref().err().map(OrderError::to_string);
                self.window = opened.ok();
                self.tell(FarmEvent::Mounted(error));
            }
            FarmOrder::Clear(job) => {
                if let Some(remover) = &mut self.remover {
                    remover.remove(job);
                }
            }
        }
    }

    fn tell(&self, event: FarmEvent) {
        self.controller.session.send(&FromAgent::Farm(Box::new(event)));
    }

    fn open(&mut self, slots: Option<u32>, folder: &Text, metered: bool, streamed: bool) {
        let facts = node_facts();
        let own = self.path(folder);
        let Controller { agent, session } = self.controller.clone();
        let place = Place { folder: agent.config.root.clone(), own: Some(own.clone()) };
        let tell = Arc::new(move |event| session.send(&FromAgent::Farm(Box::new(event))));
        let executor = JobExecutor::new(slots.unwrap_or(facts.cores), place, true, tell);
        let metered = |mut executor: JobExecutor| {
            if metered { executor.meter() } else { Ok(()) }.map(|()| executor)
        };
        match executor.and_then(metered) {
            Ok(mut executor) => {
                if streamed {
                    executor.stream();
                }
                agent.activity.add_executor(JobsSnapshot::new(&executor));
                self.executor = Some(executor);
            }
            Err(error) => log(&format!("cannot run jobs on this node: {}", reason(&error))),
        }
        // Without a thread, all directories are removed at the end.
        self.remover = Remover::start(own.clone()).ok();
        self.own = Some(own);
        self.tell(FarmEvent::Opened(facts));
    }

    /// Resolves a path relative to the agent's root directory.
    fn path(&self, name: &Text) -> PathBuf {
        let name = Path::new(OsStr::from_bytes(name.bytes()));
        let root = &self.controller.agent.config.root;
        root.as_ref().map_or_else(|| name.to_owned(), |root| root.join(name))
    }

    /// Creates a job's own empty directory with the subdirectories `folders`.
    fn make(&self, job: u32, folders: &[Text]) -> Result<(), OrderError> {
        let own = self.own.as_ref().ok_or("protocol error: a job without an open run")?;
        let own = own.join(job.to_string());
        // Remove the files of an earlier attempt.
        let _ = removal::remove_dir_all(&own);
        let mut folders = folders.iter().map(|folder| own.join(OsStr::from_bytes(folder.bytes())));
        // Other users of the node must not read what is copied below it.
        private_file::create_folder(&own)
            .and_then(|()| folders.try_for_each(fs::create_dir_all))
            .map_err(cannot(format!("create its directory {}", printable::path(&own))))
    }
}

impl Drop for JobService {
    fn drop(&mut self) {
        if self.given > 0 {
            let Controller { agent, session } = &self.controller;
            agent.audit.farm(&session.caller, self.given);
        }
        // Jobs first: they use the mount.
        self.executor = None;
        self.window = None;
        self.remover = None;
        if let Some(own) = &self.own {
            // Errors are ignored: the directory does not exist if no job had files.
            let _ = removal::remove_dir_all(own);
        }
    }
}
