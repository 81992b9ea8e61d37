//! The attempts at a job so far.

/// The attempts at a job so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The number of times that the job was sent to a node.
    pub tries: u32,
    /// The node that has the job.
    pub node: Option<usize>,
    /// The nodes on which the job has failed.
    pub failed_at: Vec<usize>,
    /// When the job entered the queue, in seconds since the run began.
    pub queued: f64,
}

impl Tally {
    /// Notes that the job goes to this node.
    pub fn begin(&mut self, node: usize) {
        self.node = Some(node);
    }

    /// Notes that the node returned the job without starting it.
    pub fn give_back(&mut self) {
        self.node = None;
        self.tries = self.tries.saturating_sub(1);
    }

    /// Notes that the job failed and waits for another node.
    pub fn give_again(&mut self, now: f64) {
        self.node = None;
        self.queued = now;
    }
}
