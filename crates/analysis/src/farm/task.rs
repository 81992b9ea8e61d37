//! Jobs and nodes as the analysis takes them.

/// A node that works. What it gives in a second is `slots * share * speed`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worker {
    /// How many jobs it runs at a time, each at its full pace.
    pub slots: u32,
    /// What share of a processor a slot has: below 1 where something holds the node to less.
    pub share: f64,
    /// What a second of its processor is worth, in seconds of the processor that all are compared
    /// with: 2 where it is twice as fast.
    pub speed: f64,
}

impl Worker {
    /// Work that a slot does in a second.
    #[must_use]
    pub fn pace(&self) -> f64 {
        self.share * self.speed
    }

    /// Work that all its slots do in a second.
    #[must_use]
    pub fn power(&self) -> f64 {
        f64::from(self.slots) * self.pace()
    }
}

/// A job that was done, in seconds since the run began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    /// The node that did it, a place in the list of workers.
    pub worker: usize,
    /// When the dispatcher knew of it.
    pub queued: f64,
    /// All its inputs were on the node; none where nothing was brought there.
    pub staged_in: Option<f64>,
    /// Its command was started.
    pub started: f64,
    /// Its command had ended.
    pub ended: f64,
    /// All its results were where they belong; none where nothing was taken back.
    pub staged_out: Option<f64>,
    /// CPU seconds of all its processes; `None` if they were not counted.
    pub cpu: Option<f64>,
}

impl Task {
    /// When nothing was to be done for it any more.
    #[must_use]
    pub fn done(&self) -> f64 {
        self.staged_out.map_or(self.ended, |out| out.max(self.ended))
    }

    /// Seconds from its start to its end.
    #[must_use]
    pub fn ran(&self) -> f64 {
        (self.ended - self.started).max(0.0)
    }

    /// Its work, in seconds of the processor that all are compared with. Where nobody counted, all of
    /// its time is taken for work.
    #[must_use]
    pub fn work(&self, worker: &Worker) -> f64 {
        let own = self.cpu.unwrap_or_else(|| self.ran() * worker.share);
        own.max(0.0) * worker.speed
    }
}
