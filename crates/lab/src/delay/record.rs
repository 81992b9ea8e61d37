use serde::{Deserialize, Serialize};

/// What holds the frames of media with a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelayBy {
    /// The kernel's queueing discipline netem.
    Netem,
    /// The lab's own delay line, a process.
    Own,
}

/// What the keeper writes down about the delay of its lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayRecord {
    /// What holds the frames.
    pub by: DelayBy,
    /// The descriptor of the counters in the keeper; `None` with netem.
    pub(crate) counters: Option<u32>,
}
