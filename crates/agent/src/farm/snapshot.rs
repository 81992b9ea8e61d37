//! A view of an executor's jobs, for reports of the node's activity.

use std::sync::{Arc, Weak};

use garland_core::farm::{Command, Text};
use garland_protocol::measure::{Account, JobView};
use garland_sys::clock;

use super::executor::{JobExecutor, Shared};

/// A view of an executor's jobs, empty once the executor is gone.
#[derive(Clone)]
pub struct JobsSnapshot(Weak<Shared>);

impl JobsSnapshot {
    /// Creates a view of the jobs of `executor`. The view does not keep the executor alive.
    pub fn new(executor: &JobExecutor) -> Self {
        Self(Arc::downgrade(&executor.shared))
    }

    /// Returns whether the executor still exists.
    pub fn is_there(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Adds the running jobs and the number of waiting ones to `account`.
    pub fn add_to(&self, account: &mut Account) {
        let Some(executor) = self.0.upgrade() else { return };
        let (running, waiting) = executor.jobs();
        let now = clock::now_ns();
        account.jobs.extend(running.iter().map(|job| JobView {
            job: job.task.job,
            command: shown(&job.task.command),
            cores: job.task.cores,
            running_ns: now.saturating_sub(job.since_ns),
        }));
        let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        account.waiting = account.waiting.saturating_add(waiting);
    }
}

/// Formats a command on one line.
fn shown(command: &Command) -> String {
    match command {
        Command::Line(line) => line.escaped().into_owned(),
        Command::Words(words) => words.iter().map(Text::escaped).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use garland_protocol::farm::{FarmEvent, FarmTask};
    use garland_sys::sync::Mutex;

    use super::*;
    use crate::farm::Place;

    #[test]
    fn jobs_are_reported_only_while_they_run() {
        let ended: Arc<Mutex<usize>> = Arc::default();
        let count = Arc::clone(&ended);
        let tell = Arc::new(move |event| {
            if let FarmEvent::Ended(jobs) = event {
                *count.lock() += jobs.len();
            }
        });
        let mut executor = JobExecutor::new(1, Place::default(), false, tell).unwrap();
        let snapshot = JobsSnapshot::new(&executor);
        let look = || {
            let mut account = Account::default();
            snapshot.add_to(&mut account);
            account
        };
        assert_eq!(look(), Account::default());
        let pipe = std::env::temp_dir().join(format!("garland-snapshot-{}", std::process::id()));
        let line = format!("until [ -e {} ]; do sleep 0.01; done", pipe.display());
        let task = |job| FarmTask {
            job,
            command: Command::Line(line.as_str().into()),
            own_folder: false,
            outputs: Vec::new(),
            cores: 1,
            timeout_ns: None,
            checkpoint: None,
            state: Vec::new(),
        };
        executor.take(vec![task(1), task(2)]);
        let seen = loop {
            let seen = look();
            if !seen.jobs.is_empty() {
                break seen;
            }
        };
        let [job] = &seen.jobs[..] else { panic!("{seen:?}") };
        assert_eq!((job.job, job.command.as_str(), seen.waiting), (1, line.as_str(), 1));
        std::fs::write(&pipe, "").unwrap();
        while *ended.lock() < 2 {
            std::thread::yield_now();
        }
        std::fs::remove_file(&pipe).unwrap();
        assert_eq!(look(), Account::default());
        drop(executor);
        assert!(!snapshot.is_there());
    }
}
