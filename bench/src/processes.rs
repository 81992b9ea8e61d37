//! The processes of one copy. All are killed if one fails or takes too long.

use std::process::{Child, Command};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

/// Timeout of a copy.
const LIMIT: Duration = Duration::from_secs(400);

/// The nodes that processes run on.
pub(crate) trait Nodes: Sync {
    /// Kills every process on every node.
    fn kill(&self);

    /// Returns what a process on `node` has said last, in one line.
    fn said(&self, node: usize) -> String;
}

/// Processes, each with the number of its node.
#[derive(Default)]
pub(crate) struct Processes(Vec<(usize, Child)>);

impl Processes {
    /// Starts `command`, which must have been made for `node`.
    pub(crate) fn start(&mut self, node: usize, mut command: Command) -> Result<&mut Child> {
        let child =
            command.spawn().with_context(|| format!("failed to start on {}", name(node)))?;
        self.0.push((node, child));
        let (_, child) = self.0.last_mut().context("no process was started")?;
        Ok(child)
    }

    /// Calls `work` with each process, in the order of their start.
    pub(crate) fn each(&mut self, work: impl Fn(&mut Child) -> Result<()>) -> Result<()> {
        for (node, child) in &mut self.0 {
            work(child).with_context(|| name(*node))?;
        }
        Ok(())
    }

    /// Waits for all processes.
    ///
    /// # Errors
    /// If one fails or they take too long; then all processes on all nodes are killed.
    pub(crate) fn finish(self, nodes: &impl Nodes) -> Result<()> {
        self.ended(nodes, LIMIT, &|| nodes.kill())
    }

    /// Waits for all processes, at most for `limit`. Does not kill other processes on the nodes.
    ///
    /// # Errors
    /// If one fails or they take too long.
    pub(crate) fn finish_within(self, nodes: &impl Nodes, limit: Duration) -> Result<()> {
        let pids = self.0.iter().filter_map(|(_, child)| Pid::from_raw(child.id().cast_signed()));
        // Kill by pidfd: a process id may be reused once its process has been waited for.
        let handles = pids.map(|pid| pidfd_open(pid, PidfdFlags::empty()));
        let handles = handles
            .collect::<Result<Vec<_>, _>>()
            .context("failed to open a pidfd of a child process")?;
        self.ended(nodes, limit, &|| {
            for handle in &handles {
                // The process may have ended already.
                let _ = pidfd_send_signal(handle, Signal::KILL);
            }
        })
    }

    fn ended(
        mut self,
        nodes: &impl Nodes,
        limit: Duration,
        kill: &(dyn Fn() + Sync),
    ) -> Result<()> {
        let (done, wait) = mpsc::channel::<()>();
        let mut outcome = Ok(());
        thread::scope(|scope| {
            scope.spawn(move || {
                if wait.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                    kill();
                }
            });
            outcome = self.wait(nodes);
            if outcome.is_err() {
                kill();
            }
            drop(done);
        });
        outcome
    }

    /// Waits until all have succeeded or one has failed.
    fn wait(&mut self, nodes: &impl Nodes) -> Result<()> {
        while !self.0.is_empty() {
            // Sleep until a child has ended: polling would use the CPU time that is measured.
            waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
                .context("failed to wait for a child")?;
            let before = self.0.len();
            let mut failed = Ok(());
            self.0.retain_mut(|(node, child)| match child.try_wait() {
                Ok(None) => true,
                Ok(Some(status)) if status.success() => false,
                Ok(Some(status)) => {
                    let said = nodes.said(*node);
                    failed = Err(anyhow!("a process on {} failed ({status}): {said}", name(*node)));
                    false
                }
                Err(error) => {
                    failed =
                        Err(anyhow!("failed to wait for a process on {}: {error}", name(*node)));
                    false
                }
            });
            failed?;
            if self.0.len() == before {
                // Another child has ended, such as a daemon; a process that needs it will fail.
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for (_, child) in &mut self.0 {
            // The process may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs a single `command` on `node` to its end.
pub(crate) fn alone(nodes: &impl Nodes, node: usize, command: Command) -> Result<()> {
    let mut processes = Processes::default();
    processes.start(node, command)?;
    processes.finish(nodes)
}

/// Returns the name of `node`.
pub(crate) fn name(node: usize) -> String {
    format!("n{node}")
}
