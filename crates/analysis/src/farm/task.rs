//! The jobs and nodes of a run as inputs of the analysis.

/// A node that runs jobs. Its work per second is `slots * share * speed`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worker {
    /// The number of jobs that the node runs concurrently, each at full pace.
    pub slots: u32,
    /// The number of CPUs per slot; below 1 if a limit restricts the node.
    pub share: f64,
    /// The speed of the node's CPUs relative to the reference CPU: 2 if twice as fast.
    pub speed: f64,
}

impl Worker {
    /// Returns the work that a slot does per second, in seconds of the reference CPU.
    pub fn pace(&self) -> f64 {
        self.share * self.speed
    }

    /// Returns the work that all slots do per second, in seconds of the reference CPU.
    pub fn power(&self) -> f64 {
        f64::from(self.slots) * self.pace()
    }
}

/// A completed job; times are in seconds since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    /// The index of the job's node in the list of workers.
    pub worker: usize,
    /// When the engine queued the job.
    pub queued: f64,
    /// When all inputs had arrived on the node; `None` without transfers.
    pub staged_in: Option<f64>,
    /// When the job's command was started.
    pub started: f64,
    /// When the job's command ended.
    pub ended: f64,
    /// When all outputs were in place; `None` without transfers.
    pub staged_out: Option<f64>,
    /// CPU seconds of all processes of the job; `None` if they were not counted.
    pub cpu: Option<f64>,
}

impl Task {
    /// Returns the time when the job was complete, including transfers of outputs.
    pub fn done(&self) -> f64 {
        self.staged_out.map_or(self.ended, |out| out.max(self.ended))
    }

    /// Returns the run time of the command in seconds.
    pub fn ran(&self) -> f64 {
        (self.ended - self.started).max(0.0)
    }

    /// Returns the work of the job in seconds of the reference CPU. If the CPU time is unknown, the
    /// whole run time counts as work.
    pub fn work(&self, worker: &Worker) -> f64 {
        let own = self.cpu.unwrap_or_else(|| self.ran() * worker.share);
        own.max(0.0) * worker.speed
    }
}
