//! Executing jobs: a queue, and one thread per running job.

use std::sync::Arc;
use std::thread::JoinHandle;

use garland_protocol::FarmTask;
use garland_sys::threads;

use super::batcher::Tell;
use super::run::Place;
use super::snapshot::JobsSnapshot;
use super::workers::Shared;

/// The most jobs that run at a time: each needs a thread and file descriptors.
const AT_ONCE: usize = 2000;

/// Stack size of a thread that runs jobs, in bytes: it only starts processes and waits.
const STACK: usize = 128 << 10;

/// Runs jobs on this node. Dropping it kills all of them.
pub struct JobExecutor {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl JobExecutor {
    /// An executor with `slots` processors, which reports the events of its jobs to `tell`. The
    /// jobs end with this process; if `guarded`, even when it is killed.
    ///
    /// # Errors
    /// When the system has no file descriptors or threads left.
    pub fn new(slots: u32, place: Place, guarded: bool, tell: Tell) -> std::io::Result<Self> {
        let shared = Shared::new(slots, place, guarded, tell)?;
        Ok(Self { shared: Arc::new(shared), threads: Vec::new() })
    }

    /// A view of its jobs, which does not keep the executor alive.
    pub fn snapshot(&self) -> JobsSnapshot {
        JobsSnapshot::new(&self.shared)
    }

    /// Queues `tasks`; they are started in order as processors become free.
    pub fn take(&mut self, tasks: Vec<FarmTask>) {
        let wanted = self.shared.queue(tasks).min(AT_ONCE.saturating_sub(self.threads.len()));
        for _ in 0..wanted {
            let shared = Arc::clone(&self.shared);
            match threads::spawn_small("job", STACK, move || shared.work()) {
                Ok(thread) => self.threads.push(thread),
                // The existing threads run the jobs one after another.
                Err(_) if !self.threads.is_empty() => break,
                Err(error) => return self.shared.refuse_all(&error),
            }
        }
    }

    /// Returns those of `jobs` that have not been started.
    pub fn give_back(&self, jobs: &[u32]) {
        self.shared.give_back(jobs);
    }
}

impl Drop for JobExecutor {
    /// Kills all jobs.
    fn drop(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // A panic has been printed already.
            let _ = thread.join();
        }
        self.shared.end_events();
    }
}
