//! The processes of one copy: all of them waited for, and ended if one fails or time is over.

use std::process::{Child, Command};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

use super::field::{Field, name};

/// No copy takes longer.
const LIMIT: Duration = Duration::from_secs(400);

/// Children and the nodes they run on.
#[derive(Default)]
pub(crate) struct Processes(Vec<(usize, Child)>);

impl Processes {
    /// Starts `command`, which must be one for `node`.
    pub(crate) fn start(&mut self, node: usize, mut command: Command) -> Result<&mut Child> {
        let child = command.spawn().with_context(|| format!("start on {}", name(node)))?;
        self.0.push((node, child));
        let (_, child) = self.0.last_mut().context("nothing was started")?;
        Ok(child)
    }

    /// Does `work` with each, in the order of their start.
    pub(crate) fn each(&mut self, work: impl Fn(&mut Child) -> Result<()>) -> Result<()> {
        for (node, child) in &mut self.0 {
            work(child).with_context(|| name(*node))?;
        }
        Ok(())
    }

    /// Waits for all of them.
    ///
    /// # Errors
    /// When one fails or they take too long; then nothing runs on any node any more.
    pub(crate) fn finish(self, field: &Field) -> Result<()> {
        self.ended(field, LIMIT, &|| field.kill())
    }

    /// Waits for all of them, but not longer than `limit`; others that run on the nodes stay.
    ///
    /// # Errors
    /// When one fails or they take too long.
    pub(crate) fn finish_within(self, field: &Field, limit: Duration) -> Result<()> {
        let pids = self.0.iter().filter_map(|(_, child)| Pid::from_raw(child.id().cast_signed()));
        // Not by their numbers, which are others' once they have been waited for.
        let handles = pids.map(|pid| pidfd_open(pid, PidfdFlags::empty()));
        let handles = handles.collect::<Result<Vec<_>, _>>().context("take hold of a child")?;
        self.ended(field, limit, &|| {
            for handle in &handles {
                // One that has ended is what is wanted.
                let _ = pidfd_send_signal(handle, Signal::KILL);
            }
        })
    }

    fn ended(mut self, field: &Field, limit: Duration, kill: &(dyn Fn() + Sync)) -> Result<()> {
        let (done, wait) = mpsc::channel::<()>();
        let mut outcome = Ok(());
        thread::scope(|scope| {
            scope.spawn(move || {
                if wait.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                    kill();
                }
            });
            outcome = self.wait(field);
            if outcome.is_err() {
                kill();
            }
            drop(done);
        });
        outcome
    }

    /// Waits until all have ended well or one hasn't, whichever ends first.
    fn wait(&mut self, field: &Field) -> Result<()> {
        while !self.0.is_empty() {
            // Asleep until some child has ended: polling would cost the time that is measured.
            waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
                .context("wait for a child")?;
            let before = self.0.len();
            let mut failed = Ok(());
            self.0.retain_mut(|(node, child)| match child.try_wait() {
                Ok(None) => true,
                Ok(Some(status)) if status.success() => false,
                Ok(Some(status)) => {
                    let said = field.said(*node);
                    failed = Err(anyhow!("{}: {status}: {said}", name(*node)));
                    false
                }
                Err(error) => {
                    failed = Err(anyhow!("{}: {error}", name(*node)));
                    false
                }
            });
            failed?;
            if self.0.len() == before {
                // Another child has ended, a daemon that whoever uses it will miss.
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for (_, child) in &mut self.0 {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs `command` of `node` alone to its end.
pub(crate) fn alone(field: &Field, node: usize, command: Command) -> Result<()> {
    let mut processes = Processes::default();
    processes.start(node, command)?;
    processes.finish(field)
}
