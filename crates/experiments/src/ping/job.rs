//! The sections of a ping scenario.

use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use crate::sections::{Kind, Sections, place, refuse};
use garland_terminal::failure::Failure;

/// The sections of the scenario's file.
pub type Ping = Sections<Job, Tolerance, Published>;

/// Section `[job]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `ping`.
    pub kind: Kind,
    /// The node that reads.
    pub from: String,
    /// The node that is read.
    pub to: String,
    /// The transports, in the table's order.
    pub transports: Vec<Transport>,
    /// How the initiator waits for replies.
    pub wait: Wait,
    /// Number of gets for each line.
    pub count: u32,
    /// Smallest and largest get in bytes; sizes between them double.
    pub sizes: [u32; 2],
    /// Bytes of a get in the lines with several in flight.
    pub deep_size: u32,
    /// Least and most gets in flight; numbers between them double.
    pub in_flight: [u32; 2],
}

/// A transport of gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A TCP connection: the target's CPU serves the gets.
    Tcp,
    /// Memory that the agents of one machine share.
    Shm,
}

impl Transport {
    /// Returns the name on the command line of `garland ping`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Shm => "shm",
        }
    }
}

/// How the initiator waits for replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// Sleeps in the kernel.
    Block,
    /// Busy-polls, as pgping did.
    Poll,
}

impl Wait {
    /// Returns the name on the command line of `garland ping`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Poll => "poll",
        }
    }
}

/// Section `[tolerance]`: the limits within which results over TCP count as reproduced. Over shared memory,
/// every get must take less time than over TCP.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Upper limit of the largest get's time, as a multiple of the smallest non-empty get's.
    pub large_over_small: f64,
    /// Upper limit of the time for each get with the most in flight, as a share of one get alone.
    pub deep_over_alone: f64,
}

/// Entry of `[[published]]`: a published line.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Bytes of a get.
    pub bytes: u32,
    /// Gets in flight.
    pub in_flight: u32,
    /// Microseconds for each get.
    pub us: f64,
    /// Rate in MB/s.
    pub rate: f64,
}

/// A measured point: the fields of `garland.ping/2` that are read.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Point {
    /// Bytes of a get.
    pub size: u32,
    /// Gets in flight.
    pub in_flight: u32,
    /// Number of measured gets.
    pub count: u64,
    /// Nanoseconds for each get, over all of them.
    pub each_ns: f64,
    /// Time from a get's start to its end.
    pub sojourn: Sojourn,
    /// Number of writes to the connection; 0 for shared memory.
    pub writes: u64,
}

/// The distribution of an operation's time from start to end.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Sojourn {
    /// Median in nanoseconds.
    pub p50: u64,
}

impl Ping {
    /// Checks that both nodes exist and that the published lines are measured.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
        let Job { from, to, transports, count, sizes, deep_size, in_flight, .. } = &self.job;
        for topology in topologies {
            place(topology, from)?;
            place(topology, to)?;
        }
        if from == to {
            return refuse(format!("`from` and `to` are the same node, {from}"));
        }
        if transports.is_empty() || *count == 0 {
            return refuse("`transports` must have an entry, and `count` must be above 0");
        }
        if sizes[0] > sizes[1] || in_flight[0] > in_flight[1] || in_flight[0] == 0 {
            return refuse("`sizes` and `in_flight` must be a least and a largest number");
        }
        let is_run = |line: &&Published| {
            let of_sizes = line.in_flight == 1 && (sizes[0]..=sizes[1]).contains(&line.bytes);
            let of_depths =
                line.bytes == *deep_size && (in_flight[0]..=in_flight[1]).contains(&line.in_flight);
            of_sizes || of_depths
        };
        match self.published.iter().find(|line| !is_run(line)) {
            Some(Published { bytes, in_flight, .. }) => refuse(format!(
                "{bytes} bytes, {in_flight} in flight is published, but not measured"
            )),
            None => Ok(()),
        }
    }

    /// Returns the published line with the size and depth of `point`.
    pub fn published(&self, point: &Point) -> Option<&Published> {
        let is = |line: &&Published| (line.bytes, line.in_flight) == (point.size, point.in_flight);
        self.published.iter().find(is)
    }
}
