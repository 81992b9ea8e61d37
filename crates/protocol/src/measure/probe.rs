//! Meetings: two agents connect to each other by order of the head, and measure the network between
//! them. Orders and results use the control channel. The measured data uses the meeting's own
//! connections, unencrypted, so that the network alone is measured.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounds::{self, ensure, within};
use crate::copy::CopyId;
use crate::measure::fabric::{FabricWay, check_provider};
use crate::measure::stream::{RxStats, StreamTask, TxStats};
use crate::wire::Secret;

/// The maximum duration of a meeting.
pub const PROBE_LIMIT: Duration = Duration::from_secs(3600);

/// The maximum number of connections of a meeting.
pub const STREAMS_MAX: u16 = 64;

/// The maximum length of a get, put or message in bytes.
pub const PING_SIZE_MAX: u32 = 16 << 20;

/// The maximum number of operations in flight.
pub const PING_DEPTH_MAX: u32 = 4096;

/// The maximum number of points (measurements) of a meeting.
pub const PING_POINTS_MAX: usize = 1024;

/// The description of a meeting for one of its two agents.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Meeting {
    /// The identity of the meeting.
    pub id: CopyId,
    /// The secret of this meeting, with which the two agents authenticate each other.
    pub secret: Secret,
    /// The address of the other agent; `None` for the agent that listens.
    pub dial: Option<SocketAddr>,
    /// The number of connections between the two agents.
    pub streams: u16,
    /// The timeout of the meeting in milliseconds.
    pub limit_ms: u32,
    /// The CPU to pin threads to; `None` leaves threads unpinned.
    pub pin: Option<u16>,
    /// What to measure.
    pub task: Task,
}

/// The kind of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Small gets, puts and messages; the agent that dials is the initiator.
    Ping(PingTask),
    /// Data at the maximum rate.
    Stream(StreamTask),
}

/// A result of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Finding {
    /// The result of a point of a ping; sent by the initiator.
    Ping(PingSample),
    /// The nanoseconds that reading the clock takes; sent once, by a ping's initiator.
    Timer(u64),
    /// Conditions of the node that may affect results: names and values.
    Conditions(#[serde(deserialize_with = "bounds::facts")] Vec<(String, String)>),
    /// The provider that a ping uses on its fabric; sent once, by the initiator.
    Fabric(FabricWay),
    /// The measured rate of a stream; sent by the receiver.
    RxStats(RxStats),
    /// The kernel's statistics of a stream; sent by the sender.
    TxStats(TxStats),
}

/// Why a meeting ended early at an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint {
    /// The reason as text.
    #[serde(deserialize_with = "bounds::reason")]
    pub reason: String,
    /// Whether the other agent had left before; then the other agent's reason is the relevant one.
    pub left_alone: bool,
}

/// The transport of gets, puts and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PingTransport {
    /// A TCP connection; the target's CPU serves gets.
    Tcp,
    /// Shared memory of two agents on one machine.
    Shm,
    /// A fabric, through libfabric.
    Fabric,
}

/// How an agent waits for the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PingWait {
    /// The agent blocks in the kernel.
    Block,
    /// The agent polls.
    Poll,
}

/// The state of the target while it has nothing to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetState {
    /// The target polls.
    Idle,
    /// The target blocks in the kernel.
    Asleep,
    /// The target blocks in the kernel, and other work keeps its CPUs busy.
    Busy,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PingKind {
    /// Fetches bytes of the target.
    Get,
    /// Writes bytes into the target's memory; the target acknowledges when they are there.
    Put,
    /// Sends a message; the target replies with one of the same size.
    Msg,
}

impl PingKind {
    /// Returns the lengths in bytes of a request and of its reply on a byte stream. A get request
    /// is an address; a put consists of an address and the data, and its reply is an
    /// acknowledgement. An empty message takes one byte.
    #[must_use]
    pub fn bytes(self, size: u32) -> (u64, u64) {
        /// The length of an address and of an acknowledgement.
        const WORD: u64 = 8;
        let size = u64::from(size);
        match self {
            Self::Get => (WORD, size.max(1)),
            Self::Put => (WORD + size, WORD),
            Self::Msg => (size.max(1), size.max(1)),
        }
    }
}

/// A ping measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingTask {
    /// The transport.
    pub means: PingTransport,
    /// The fabric's provider; `None` chooses the best one that both agents have.
    pub provider: Option<String>,
    /// How the initiator waits.
    pub wait: PingWait,
    /// The state of the target while it waits.
    pub target: TargetState,
    /// The points to measure, in this order.
    pub points: Vec<PingPoint>,
}

/// One measurement of a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingPoint {
    /// The kind of the operation.
    pub kind: PingKind,
    /// The size of the operation in bytes.
    pub size: u32,
    /// The maximum number of operations in flight.
    pub depth: u32,
    /// The number of operations per second, started at fixed times; `None` for the maximum rate.
    pub rate: Option<u32>,
    /// The number of operations; `None` continues until the median is known within 1 %.
    pub count: Option<u32>,
    /// The time limit in milliseconds.
    pub time_ms: u32,
}

/// A summary of durations in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of durations.
    pub count: u64,
    /// The exact minimum.
    pub min: u64,
    /// The mean.
    pub mean: u64,
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The exact maximum.
    pub max: u64,
    /// The 95 % confidence interval of the median.
    pub median_between: (u64, u64),
}

/// The result of a point of a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingSample {
    /// The index of the point in [`PingTask::points`].
    pub point: u32,
    /// The number of completed operations.
    pub count: u64,
    /// The duration of the measurement in nanoseconds.
    pub elapsed_ns: u64,
    /// The time from the start of an operation (with a rate, its scheduled start) to its end.
    pub sojourn: Summary,
    /// The number of operations that were timed together because one is shorter than the resolution
    /// of the clock; otherwise 1.
    pub timed_together: u32,
    /// The number of writes of requests: less than `count` if some requests were combined.
    pub writes: u64,
    /// The nanoseconds spent in writes of requests.
    pub writing_ns: u64,
    /// The nanoseconds in which the initiator worked: its CPU time without unsuccessful polls.
    pub initiator_ns: u64,
    /// The nanoseconds in which the target worked: its CPU time without unsuccessful polls.
    pub target_ns: u64,
}

impl Meeting {
    /// Checks that every number from the wire is within bounds, before any is used.
    ///
    /// # Errors
    /// Names the value that is out of bounds.
    pub fn check(&self) -> Result<(), String> {
        within("connections", self.streams, 1..=STREAMS_MAX)?;
        let limit = Duration::from_millis(self.limit_ms.into());
        let long = || format!("a measurement of {limit:?}: the maximum is {PROBE_LIMIT:?}");
        ensure(limit <= PROBE_LIMIT, long)?;
        match &self.task {
            Task::Ping(task) => task.check(),
            Task::Stream(task) => task.check(self.streams),
        }
    }
}

impl PingTask {
    fn check(&self) -> Result<(), String> {
        within("points", self.points.len(), 0..=PING_POINTS_MAX)?;
        self.provider.as_deref().map_or(Ok(()), check_provider)?;
        self.points.iter().try_for_each(PingPoint::check)
    }
}

impl PingPoint {
    /// Checks that the point can be measured.
    ///
    /// # Errors
    /// Names the value that is out of bounds.
    pub fn check(&self) -> Result<(), String> {
        within("bytes per operation", self.size, 0..=PING_SIZE_MAX)?;
        within("operations in flight", self.depth, 1..=PING_DEPTH_MAX)?;
        let is_zero = self.rate == Some(0) || self.count == Some(0);
        ensure(!is_zero, || "the rate and the number of operations must not be 0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meetings_out_of_bounds_are_refused() {
        let point = |size, depth| PingPoint {
            kind: PingKind::Get,
            size,
            depth,
            rate: None,
            count: None,
            time_ms: 1,
        };
        assert!(point(0, 1).check().is_ok());
        assert!(point(PING_SIZE_MAX + 1, 1).check().unwrap_err().contains("bytes"));
        assert!(point(8, 0).check().unwrap_err().contains("in flight"));
        assert!(point(8, PING_DEPTH_MAX + 1).check().is_err());
        assert!(PingPoint { rate: Some(0), ..point(8, 1) }.check().is_err());
        let task = |points| {
            let means = PingTransport::Tcp;
            let wait = PingWait::Poll;
            let target = TargetState::Idle;
            Task::Ping(PingTask { means, provider: None, wait, target, points })
        };
        let meeting = |streams, limit_ms, task| Meeting {
            id: CopyId([0; 16]),
            secret: Secret([0; 32]),
            dial: None,
            streams,
            limit_ms,
            pin: None,
            task,
        };
        assert!(meeting(1, 1000, task(vec![point(8, 1)])).check().is_ok());
        assert!(meeting(0, 1000, task(vec![])).check().is_err());
        assert!(meeting(1, u32::MAX, task(vec![])).check().is_err());
        let many = vec![point(8, 1); PING_POINTS_MAX + 1];
        assert!(meeting(1, 1000, task(many)).check().unwrap_err().contains("points"));
    }
}
