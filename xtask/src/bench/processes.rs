//! The processes of one copy: all of them waited for, and ended if one fails or time is over.

use std::process::{Child, Command};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

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
    pub(crate) fn finish(mut self, field: &Field) -> Result<()> {
        let groups = 0..=field.receivers;
        let (done, wait) = mpsc::channel::<()>();
        let mut outcome = Ok(());
        thread::scope(|scope| {
            scope.spawn(move || {
                if wait.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                    groups.for_each(|node| field.group(node).kill());
                }
            });
            for (node, child) in &mut self.0 {
                let status = child.wait().context("wait for a child");
                let failed = match status {
                    Ok(status) if status.success() => continue,
                    Ok(status) => format!("{}: {status}: {}", name(*node), field.said(*node)),
                    Err(error) => format!("{}: {error:#}", name(*node)),
                };
                if outcome.is_ok() {
                    outcome = Err(anyhow::anyhow!(failed));
                    field.kill();
                }
            }
            drop(done);
        });
        self.0.clear();
        outcome
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
pub(crate) fn alone(field: &Field, node: usize, mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("start on {}", name(node)))?;
    if !status.success() {
        bail!("{}: {status}: {}", name(node), field.said(node));
    }
    Ok(())
}
