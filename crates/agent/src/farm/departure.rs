//! The departure of a running job: its checkpoint command runs beside it; then the job is killed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use garland_core::farm::{Outcome, Text};
use garland_protocol::farm::FarmTask;
use garland_sys::event::{self, Wake};
use garland_sys::mark::Mark;
use garland_sys::{child, clock, process};

use super::guard::Guard;
use super::launch;
use crate::error::{OrderError, cannot};

/// The time limit of checkpoint commands.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(60);

/// The departure of a job, as far as it has come.
pub struct Departure<'a> {
    task: &'a FarmTask,
    folder: Option<PathBuf>,
    guard: Option<&'a Guard>,
    mark: &'a Mark,
    step: Step<'a>,
}

enum Step<'a> {
    /// The job was not ordered to leave; the flag is raised when it is.
    Unasked(&'a Wake),
    Saving(Checkpoint),
    /// The work is saved, or the job has no checkpoint; it is to be killed.
    Ready,
    /// The job stays: it cannot be ordered to leave, or its checkpoint has failed.
    Stays,
}

/// A checkpoint command that runs.
struct Checkpoint {
    child: Child,
    watched: OwnedFd,
    deadline_ns: u64,
}

impl<'a> Departure<'a> {
    /// Creates the state of a job in the directory `folder` that was not ordered to leave. `leave`
    /// is raised when it is; without that, the job stays.
    pub fn new(
        task: &'a FarmTask,
        folder: Option<&Path>,
        mark: &'a Mark,
        guard: Option<&'a Guard>,
        leave: Option<&'a Wake>,
    ) -> Self {
        let step = leave.map_or(Step::Stays, Step::Unasked);
        Self { task, folder: folder.map(Path::to_owned), guard, mark, step }
    }

    /// Returns the descriptor that becomes readable when the departure proceeds; `None` if there is
    /// nothing to wait for.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.step {
            Step::Unasked(leave) => Some(leave.as_fd()),
            Step::Saving(checkpoint) => Some(checkpoint.watched.as_fd()),
            Step::Ready | Step::Stays => None,
        }
    }

    /// Returns the time at which the checkpoint is late, in monotonic nanoseconds; `None` while
    /// none runs.
    pub fn deadline_ns(&self) -> Option<u64> {
        match &self.step {
            Step::Saving(checkpoint) => Some(checkpoint.deadline_ns),
            _ => None,
        }
    }

    /// Takes the next step, if it is due. `leader` is the leader of the job's process group.
    /// Returns whether the job is to be killed now.
    ///
    /// # Errors
    /// When the checkpoint has failed: the job stays.
    pub fn proceed(&mut self, leader: u32) -> Result<bool, OrderError> {
        let next = match std::mem::replace(&mut self.step, Step::Stays) {
            Step::Unasked(leave) if !is_ready(leave.as_fd()) => Step::Unasked(leave),
            Step::Unasked(_) => match &self.task.checkpoint {
                Some(command) => Step::Saving(
                    self.start(command, leader).map_err(cannot("start its checkpoint command"))?,
                ),
                None => Step::Ready,
            },
            Step::Saving(checkpoint) => {
                let now = clock::now_ns();
                let is_over = is_ready(checkpoint.watched.as_fd());
                if is_over || now >= checkpoint.deadline_ns {
                    self.finish(&checkpoint, is_over)?;
                    Step::Ready
                } else {
                    Step::Saving(checkpoint)
                }
            }
            step => step,
        };
        self.step = next;
        Ok(matches!(self.step, Step::Ready))
    }

    /// Ends the departure of a job that has ended, and returns whether the job has left. A
    /// checkpoint that still runs is waited for, until `stop` is raised: some programs end when
    /// they save their work. If the job has a result (`has_result`), it does not leave.
    pub fn end(mut self, has_result: bool, stop: &Wake) -> bool {
        if let Step::Saving(checkpoint) = &self.step {
            let mut is_over = is_ready(checkpoint.watched.as_fd());
            while !is_over && !has_result && clock::now_ns() < checkpoint.deadline_ns {
                let fds = [checkpoint.watched.as_fd(), stop.as_fd()];
                match event::wait_readable(&fds, Some(clock::until(checkpoint.deadline_ns))) {
                    Ok(ready) if ready[1] => break,
                    Ok(ready) => is_over = ready[0],
                    Err(_) => break,
                }
            }
            let saved = self.finish(checkpoint, is_over);
            self.step = if saved.is_ok() { Step::Ready } else { Step::Stays };
        }
        matches!(self.step, Step::Ready) && !has_result
    }

    fn start(&self, command: &Text, leader: u32) -> io::Result<Checkpoint> {
        let mut process = launch::shell(command);
        process.stdout(Stdio::null()).stderr(Stdio::null());
        launch::prepare(&mut process, self.task.job, self.folder.as_deref(), self.mark);
        process.env("GARLAND_JOB_PID", leader.to_string());
        let child = process.spawn()?;
        if let Some(guard) = self.guard {
            guard.begun(child.id());
        }
        let watched = child::watch(&child);
        let deadline_ns = clock::after(CHECKPOINT_TIMEOUT);
        match watched {
            Ok(watched) => Ok(Checkpoint { child, watched, deadline_ns }),
            Err(error) => {
                self.kill(&child)?;
                Err(error)
            }
        }
    }

    /// Ends a checkpoint command, and checks that it has saved the work.
    fn finish(&self, checkpoint: &Checkpoint, is_over: bool) -> Result<(), OrderError> {
        let ended = self.kill(&checkpoint.child).map_err(cannot("wait for its checkpoint"))?;
        if !is_over {
            return Err(format!(
                "its checkpoint took longer than {} s",
                CHECKPOINT_TIMEOUT.as_secs()
            )
            .into());
        }
        let outcome = Outcome::from(ended.status);
        if !outcome.is_done() {
            return Err(format!("its checkpoint command failed: {outcome}").into());
        }
        let is_there = |name: &Text| launch::path_of(name, self.folder.as_deref()).is_file();
        match self.task.state.iter().find(|name| !is_there(name)) {
            Some(name) => {
                Err(format!("its checkpoint did not create the state file {name}").into())
            }
            None => Ok(()),
        }
    }

    /// Kills what is left of a checkpoint command, and reaps it.
    fn kill(&self, child: &Child) -> io::Result<child::Ended> {
        process::kill_group(child.id());
        self.guard.iter().for_each(|guard| guard.ended(child.id()));
        child::reap(child)
    }
}

fn is_ready(fd: BorrowedFd<'_>) -> bool {
    event::wait_readable(&[fd], Some(Duration::ZERO)).is_ok_and(|ready| ready[0])
}

#[cfg(test)]
mod tests;
