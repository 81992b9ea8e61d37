//! The sections of a ping scenario.

use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use crate::sections::{Kind, Sections, place};

/// What is done and compared.
pub type Ping = Sections<Job, Tolerance, Published>;

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `ping`.
    pub kind: Kind,
    /// The node that gets.
    pub from: String,
    /// The node whose bytes they are.
    pub to: String,
    /// What gets go by, in the table's order.
    pub transports: Vec<Transport>,
    /// How the node that gets waits for answers.
    pub wait: Wait,
    /// How many gets each line is for.
    pub count: u32,
    /// The least and the largest get; sizes between double.
    pub sizes: [u32; 2],
    /// The bytes of a get where several are in flight.
    pub deep_size: u32,
    /// How many are in flight, at least and at most; numbers between double.
    pub in_flight: [u32; 2],
}

/// What gets go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A TCP connection: the other CPU serves them.
    Tcp,
    /// Memory that agents of one machine share.
    Shm,
}

impl Transport {
    /// Its name for `garland ping`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Shm => "shm",
        }
    }
}

/// How one waits for answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// Asleep in the kernel.
    Block,
    /// Looking again and again, as pgping did.
    Poll,
}

impl Wait {
    /// Its name for `garland ping`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Poll => "poll",
        }
    }
}

/// What counts as reproduced over TCP. In shared memory there is no way to be paid for; there every
/// get must take less than over TCP.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The most that the largest get may take, as a multiple of the smallest that was published.
    pub large_over_small: f64,
    /// The most that each of the most in flight may take, as a share of one alone.
    pub deep_over_alone: f64,
}

/// A line as it was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Bytes of a get.
    pub bytes: u32,
    /// How many in flight.
    pub in_flight: u32,
    /// Microseconds a get.
    pub us: f64,
    /// MB/s.
    pub rate: f64,
}

/// One measurement.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Point {
    /// Bytes of a get.
    pub size: u32,
    /// How many in flight.
    pub in_flight: u32,
    /// How many were measured.
    pub count: u64,
    /// Nanoseconds a get, over all of them.
    pub each_ns: f64,
    /// From a get's beginning to its end.
    pub sojourn: Sojourn,
    /// Writes that they were asked for in; 0 where nothing is written.
    pub writes: u64,
}

/// How long one stays.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Sojourn {
    /// Nanoseconds that half of them stay at most.
    pub p50: u64,
}

impl Ping {
    /// Whether both nodes are there, and the published lines are among those that are measured.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        let Job { from, to, transports, count, sizes, deep_size, in_flight, .. } = &self.job;
        for topology in topologies {
            place(topology, from)?;
            place(topology, to)?;
        }
        if from == to {
            return Err(format!("{from} has no wire to itself"));
        }
        if transports.is_empty() || *count == 0 {
            return Err("`transports` names none, or `count` is 0".to_owned());
        }
        if sizes[0] > sizes[1] || in_flight[0] > in_flight[1] || in_flight[0] == 0 {
            return Err("`sizes` and `in_flight` are the least and the most".to_owned());
        }
        let is_run = |line: &&Published| {
            let of_sizes = line.in_flight == 1 && (sizes[0]..=sizes[1]).contains(&line.bytes);
            let of_depths =
                line.bytes == *deep_size && (in_flight[0]..=in_flight[1]).contains(&line.in_flight);
            of_sizes || of_depths
        };
        match self.published.iter().find(|line| !is_run(line)) {
            Some(Published { bytes, in_flight, .. }) => {
                Err(format!("{bytes} bytes, {in_flight} in flight: published but not run"))
            }
            None => Ok(()),
        }
    }

    /// The published line of so many bytes and so many in flight.
    pub fn published(&self, point: &Point) -> Option<&Published> {
        let is = |line: &&Published| (line.bytes, line.in_flight) == (point.size, point.in_flight);
        self.published.iter().find(is)
    }
}
