//! The request to the probe, and its reply.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The task of the probe, which it reads from standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The file of the user namespace to enter; `None` if the probe is in it already.
    pub(crate) user: Option<PathBuf>,
    pub(crate) flows: Vec<FlowTask>,
    /// The time before bytes are counted.
    pub(crate) warm_up: Duration,
    /// The time during which bytes are counted.
    pub(crate) window: Duration,
}

/// One flow of a [`Task`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FlowTask {
    pub(crate) from: PathBuf,
    pub(crate) to: PathBuf,
    pub(crate) address: Ipv4Addr,
    /// Whether both nodes are bonded by subflows.
    pub(crate) mptcp: bool,
}

/// The reply of the probe: the goodput of each flow in bits per second, in order, or the error
/// message.
pub(crate) type Answer = Result<Vec<f64>, String>;
