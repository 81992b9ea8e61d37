//! Meetings: the head introduces two agents, which connect and measure the network between them.
//! Orders and findings cross the control channel; what is measured crosses the meeting's own
//! connections, unsealed: it is the wire that is measured.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::copy_id::CopyId;
use super::fabric::{FabricWay, check_provider};
use super::keys::Secret;
use super::stream::{RxStats, StreamTask, TxStats};

/// The maximum duration of a meeting.
pub const PROBE_LIMIT: Duration = Duration::from_secs(3600);

/// The maximum number of connections of a meeting.
pub const STREAMS_MAX: u16 = 64;

/// The maximum length of a get, put or message in bytes.
pub const PING_SIZE_MAX: u32 = 16 << 20;

/// The maximum number of operations in flight.
pub const PING_DEPTH_MAX: u32 = 4096;

/// The maximum number of points of a meeting.
pub const PING_POINTS_MAX: usize = 1024;

/// A meeting, as one of its two agents gets it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Meeting {
    /// Its identity.
    pub id: CopyId,
    /// The secret of this meeting, by which the two authenticate each other.
    pub secret: Secret,
    /// The address of the other agent; `None` for the agent that listens.
    pub dial: Option<SocketAddr>,
    /// The number of connections.
    pub streams: u16,
    /// The timeout of the meeting in milliseconds.
    pub limit_ms: u32,
    /// The CPU to pin threads to.
    pub pin: Option<u16>,
    /// What to measure.
    pub task: Task,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Small gets, puts and messages; the one that dials is the initiator.
    Ping(PingTask),
    /// Bytes as fast as they go.
    Stream(StreamTask),
}

/// What an agent has found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Finding {
    /// A point of a ping, from its initiator.
    Ping(PingSample),
    /// Nanoseconds that reading the clock takes, from a ping's initiator, once.
    Timer(u64),
    /// What about this node may have an influence: names and values, in words.
    Conditions(Vec<(String, String)>),
    /// How a ping goes over its fabric, from its initiator, once.
    Fabric(FabricWay),
    /// What came in on a stream, from its receiver.
    RxStats(RxStats),
    /// The kernel's account of a stream, from its sender.
    TxStats(TxStats),
}

/// Why a meeting ended early at an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint {
    /// In words.
    pub reason: String,
    /// The other agent had left before; its reason counts.
    pub left_alone: bool,
}

/// What gets, puts and messages go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PingTransport {
    /// A TCP connection; the other CPU serves gets.
    Tcp,
    /// Memory that two agents of one machine share.
    Shm,
    /// A fabric, by libfabric.
    Fabric,
}

/// How one waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PingWait {
    /// Asleep in the kernel.
    Block,
    /// Looking again and again.
    Poll,
}

/// What the target does while it has nothing to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetState {
    /// It looks again and again.
    Idle,
    /// It sleeps in the kernel.
    Asleep,
    /// It sleeps, and other work keeps its CPUs busy.
    Busy,
}

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PingKind {
    /// The target's bytes are fetched.
    Get,
    /// Bytes are put into the target's memory, and that they are there is acknowledged.
    Put,
    /// A message goes there, and one of the same size comes back.
    Msg,
}

impl PingKind {
    /// Bytes of a request and of its answer over a stream: a get asks with an address, a put brings
    /// one along and is acknowledged; what has no bytes takes one to be seen.
    #[must_use]
    pub fn bytes(self, size: u32) -> (u64, u64) {
        /// Of an address, and of an acknowledgement.
        const WORD: u64 = 8;
        let size = u64::from(size);
        match self {
            Self::Get => (WORD, size.max(1)),
            Self::Put => (WORD + size, WORD),
            Self::Msg => (size.max(1), size.max(1)),
        }
    }
}

/// A ping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingTask {
    /// What it goes by.
    pub means: PingTransport,
    /// The fabric's provider; without it, the best one that both agents have.
    pub provider: Option<String>,
    /// How the initiator waits.
    pub wait: PingWait,
    /// What the target does meanwhile.
    pub target: TargetState,
    /// What to measure, in this order.
    pub points: Vec<PingPoint>,
}

/// One measurement of a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingPoint {
    /// The operation.
    pub kind: PingKind,
    /// Its bytes.
    pub size: u32,
    /// How many are in flight at a time, at most.
    pub depth: u32,
    /// The rate of operations per second, at fixed times; without it as fast as possible.
    pub rate: Option<u32>,
    /// How many operations; without it, until the median is known within 1 %.
    pub count: Option<u32>,
    /// Milliseconds that it may take.
    pub time_ms: u32,
}

/// What times were like, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// How many.
    pub count: u64,
    /// Their true minimum.
    pub min: u64,
    /// Their mean.
    pub mean: u64,
    /// Half of them took no longer.
    pub p50: u64,
    /// 99 % took no longer.
    pub p99: u64,
    /// 99.9 % took no longer.
    pub p999: u64,
    /// Their true maximum.
    pub max: u64,
    /// Between these two lies the median, with 95 % confidence.
    pub median_between: (u64, u64),
}

/// What a point of a ping took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingSample {
    /// The point's number.
    pub point: u32,
    /// Operations done.
    pub count: u64,
    /// Nanoseconds in which they were done.
    pub elapsed_ns: u64,
    /// From an operation's beginning (its intended one, with a rate) to its end.
    pub sojourn: Summary,
    /// How many operations were timed at a time, where one is shorter than the clock can tell.
    pub timed_together: u32,
    /// Writes that the requests went out in: fewer than operations means that some went together.
    pub writes: u64,
    /// Nanoseconds spent in those writes.
    pub writing_ns: u64,
    /// Nanoseconds that the initiator was at work: its CPU time without unsuccessful polls.
    pub initiator_ns: u64,
    /// Nanoseconds that the target was at work.
    pub target_ns: u64,
}

impl Meeting {
    /// Whether an agent can take part without harm: every number from the wire is bounded before
    /// it is used.
    ///
    /// # Errors
    /// What is out of bounds, in words.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=STREAMS_MAX).contains(&self.streams) {
            return Err(format!("{} connections: allowed are 1 to {STREAMS_MAX}", self.streams));
        }
        if u128::from(self.limit_ms) > PROBE_LIMIT.as_millis() {
            return Err(format!("a meeting of {} ms is too long", self.limit_ms));
        }
        match &self.task {
            Task::Ping(task) => task.check(),
            Task::Stream(task) => task.check(self.streams),
        }
    }
}

impl PingTask {
    fn check(&self) -> Result<(), String> {
        if self.points.len() > PING_POINTS_MAX {
            return Err(format!("{} points: allowed are {PING_POINTS_MAX}", self.points.len()));
        }
        self.provider.as_deref().map_or(Ok(()), check_provider)?;
        self.points.iter().try_for_each(PingPoint::check)
    }
}

impl PingPoint {
    /// Whether it can be measured.
    ///
    /// # Errors
    /// What is out of bounds, in words.
    pub fn check(&self) -> Result<(), String> {
        let Self { size, depth, .. } = *self;
        if size > PING_SIZE_MAX {
            return Err(format!("{size} bytes: an agent keeps {PING_SIZE_MAX} at most for it"));
        }
        if !(1..=PING_DEPTH_MAX).contains(&depth) {
            return Err(format!("{depth} in flight: allowed are 1 to {PING_DEPTH_MAX}"));
        }
        if self.rate == Some(0) || self.count == Some(0) {
            return Err("a rate or a count of 0".to_owned());
        }
        Ok(())
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
            let (means, wait, target) = (PingTransport::Tcp, PingWait::Poll, TargetState::Idle);
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
