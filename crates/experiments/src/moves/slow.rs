//! Other processes, which make a node slow.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use garland_sys::{process, signal};
use garland_terminal::failure::{Failure, OrFailure};

use super::job::Job;
use crate::scenario_lab::ScenarioLab;

/// Busy processes on a node of a lab. They end with the lab at the latest.
pub struct Slow(Child);

impl Slow {
    /// Starts the processes of `job` on the node that gets slow, which are busy after `after_s`
    /// seconds.
    pub fn begin(lab: &ScenarioLab<'_>, job: &Job, after_s: f64) -> Result<Self, Failure> {
        let mut command: Command = lab.lab()?.command(&job.slow, "sh").map_err(Failure::nothing)?;
        let busy = "sleep \"$1\"; i=0; while [ $i -lt \"$2\" ]; do i=$((i+1)); \
             (while :; do :; done) & done; wait";
        command.args(["-c", busy, "sh", &format!("{after_s:.3}"), &job.busy.to_string()]);
        command.stdin(Stdio::null()).process_group(0);
        signal::release_in(&mut command);
        Ok(Self(command.spawn().or_nothing("cannot start the processes that make a node slow")?))
    }

    /// Ends the processes.
    pub fn end(mut self) {
        process::kill_group(self.0.id());
        // It was killed.
        let _ = self.0.wait();
    }
}
