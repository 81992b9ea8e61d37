//! What has been tried for a job.

/// A job's tries so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How often it was given to a node.
    pub tries: u32,
    /// The node that has it.
    pub node: Option<usize>,
    /// Nodes where it has failed.
    pub failed_at: Vec<usize>,
    /// Since when it has waited, in seconds since the run began.
    pub queued: f64,
}

impl Tally {
    /// It goes to this node.
    pub fn begin(&mut self, node: usize) {
        self.node = Some(node);
    }

    /// It hasn't been started.
    pub fn give_back(&mut self) {
        self.node = None;
        self.tries = self.tries.saturating_sub(1);
    }

    /// It has failed, and waits for another node.
    pub fn give_again(&mut self, now: f64) {
        self.node = None;
        self.queued = now;
    }
}
