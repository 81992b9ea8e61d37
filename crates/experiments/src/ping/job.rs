//! The sections of a ping scenario.

use garland_analysis::grade::Published;
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use crate::sections::{Kind, Sections, place, refuse};

/// The sections of a ping scenario's file.
pub type Ping = Sections<Job, PublishedLine>;

/// Section `[job]`: the gets that are measured.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The kind of experiment: `ping`.
    pub kind: Kind,
    /// The node that reads.
    pub from: String,
    /// The node that is read.
    pub to: String,
    /// The transports, in the table's order.
    pub transports: Vec<Transport>,
    /// How the initiator waits for replies.
    pub wait: Wait,
    /// The number of gets that are measured for each line of the table.
    pub count: u32,
    /// The smallest and the largest size of a get, in bytes; each size in between is twice the
    /// previous one.
    pub sizes: [u32; 2],
    /// The size of a get in the lines with several in flight, in bytes.
    pub deep_size: u32,
    /// The least and the most gets in flight; each number in between is twice the previous one.
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
    /// Returns whether a get waits for its answer. In shared memory it is a read of some
    /// nanoseconds, no longer than a reading of the clock: nothing is in flight.
    pub fn has_round_trip(self) -> bool {
        self == Self::Tcp
    }

    /// Returns the value of the option of `garland ping`.
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
    /// Returns the value of the option of `garland ping`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Poll => "poll",
        }
    }
}

/// Entry of `[[published]]`: a published line.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedLine {
    /// The size of a get, in bytes.
    pub bytes: u32,
    /// The number of gets in flight.
    pub in_flight: u32,
    /// The microseconds per get.
    pub us: Published,
    /// Rate in MB/s.
    pub rate: Published,
}

/// A measured point: the fields of `garland.ping/2` that are read.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Point {
    /// The size of a get, in bytes.
    pub size: u32,
    /// The number of gets in flight.
    pub in_flight: u32,
    /// The number of gets that were measured.
    pub count: u64,
    /// The nanoseconds per get: the time of all gets, divided by their number.
    pub each_ns: f64,
    /// Time from a get's start to its end.
    pub sojourn: Sojourn,
    /// Number of writes to the connection; 0 for shared memory.
    pub writes: u64,
}

/// The distribution of an operation's time from start to end.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Sojourn {
    /// The median, in nanoseconds.
    pub p50: u64,
}

impl Ping {
    /// Checks that both nodes exist, and that every published line is measured.
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
            return refuse("`sizes` and `in_flight` must be [least, largest], `in_flight` from 1");
        }
        let is_run = |line: &&PublishedLine| {
            let of_sizes = line.in_flight == 1 && (sizes[0]..=sizes[1]).contains(&line.bytes);
            let of_depths =
                line.bytes == *deep_size && (in_flight[0]..=in_flight[1]).contains(&line.in_flight);
            of_sizes || of_depths
        };
        match self.published.iter().find(|line| !is_run(line)) {
            Some(PublishedLine { bytes, in_flight, .. }) => refuse(format!(
                "{bytes} bytes, {in_flight} in flight is published, but not measured"
            )),
            None => Ok(()),
        }
    }

    /// Returns the published line with the size and the number in flight of `point`; `None` if
    /// there is none.
    pub fn published(&self, point: &Point) -> Option<&PublishedLine> {
        let is =
            |line: &&PublishedLine| (line.bytes, line.in_flight) == (point.size, point.in_flight);
        self.published.iter().find(is)
    }
}
