//! Messages between the head and an agent about the jobs of a farm.

use std::net::SocketAddr;

use garland_core::farm::{Command, Outcome, Text};
use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::wire::Secret;
use crate::wire::{KeyPair, PublicKey};

/// The maximum length of a job's command in bytes, so that the command fits into a message.
pub const COMMAND_MAX: usize = 32 << 10;

/// The maximum number of jobs that a node runs at the same time: each needs a thread and file
/// descriptors.
pub const JOBS_AT_ONCE_MAX: usize = 2000;

/// The maximum number of processors of a node: more than the largest machines have. It is the node
/// that tells, and it gets as many jobs.
pub(crate) const CORES_MAX: u32 = 8192;

/// The maximum clock rate of a processor in MHz.
const MHZ_MAX: f64 = 1e5;

/// The number of bytes that are kept of the beginning of a job's output, and of its end.
pub const OUTPUT_HALF: usize = 8 << 10;

/// An order to an agent about jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FarmOrder {
    /// Prepare to run jobs on this number of processors.
    Open {
        /// The number of processors; `None` uses all, `u32::MAX` starts every job as it arrives.
        slots: Option<u32>,
        /// The name of the directory, below the agent's own directory, that holds the jobs'
        /// directories.
        folder: Text,
        /// Whether to report the CPU time of running jobs once a second.
        metered: bool,
        /// Whether to send the whole output of jobs, as it comes.
        streamed: bool,
    },
    /// Run these jobs in order, as processors become free.
    Run(Vec<Task>),
    /// Create these directories for the files of the job with this number; sent before the files.
    Make(u32, Vec<Text>),
    /// Return the jobs of this list that were not started.
    Recall(Vec<u32>),
    /// Remove the files of this job.
    Clear(u32),
    /// Mount the files of the machine that serves the jobs' files.
    Mount(Opening),
    /// End this running job, so that it can go on elsewhere: run its checkpoint command, if it has
    /// one, and kill the job if that succeeds.
    Leave(u32),
}

/// The address and keys with which a node mounts the files of the machine that serves them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The name of the mount point, in the agent's own directory.
    pub folder: Text,
    /// The address of the agent that serves the files.
    pub address: SocketAddr,
    /// The public key of the agent that serves the files.
    pub key: PublicKey,
    /// The key pair of the node, the private key first; made for this node and this run. It has the
    /// role [`Role::FarmNode`](crate::Role::FarmNode).
    pub keys: [[u8; 32]; 2],
}

impl Opening {
    /// The name of the directory of the head's files in a window.
    pub const FILES: &str = "files";

    /// The length of [`Self::told`] in bytes.
    pub const TOLD: usize = 18 + 3 * 32;

    /// Encodes the address, port and keys for the mounting process.
    #[must_use]
    pub fn told(&self) -> Vec<u8> {
        let address = match self.address.ip() {
            std::net::IpAddr::V4(address) => address.to_ipv6_mapped(),
            std::net::IpAddr::V6(address) => address,
        };
        let port = self.address.port().to_be_bytes();
        [&address.octets()[..], &port, &self.key, &self.keys[0], &self.keys[1]].concat()
    }

    /// Decodes [`Self::told`]: the address and public key of the agent that serves the files, and
    /// the key pair of the mounting side.
    #[must_use]
    pub fn heard(told: &[u8; Self::TOLD]) -> Option<(SocketAddr, PublicKey, KeyPair)> {
        let (address, rest) = told.split_first_chunk::<16>()?;
        let (port, keys) = rest.split_first_chunk::<2>()?;
        let address = std::net::Ipv6Addr::from(*address).to_canonical();
        let key = |at: usize| keys[32 * at..].first_chunk::<32>().copied();
        let pair = KeyPair { private: Secret(key(1)?), public: key(2)? };
        Some(((address, u16::from_be_bytes(*port)).into(), key(0)?, pair))
    }
}

/// A job as it is sent to a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The job's number.
    pub job: u32,
    /// The command to run.
    pub command: Command,
    /// Whether the job runs in a directory of its own.
    pub own_folder: bool,
    /// Output files: the temporary name, and the final name that the file gets when the job has
    /// succeeded.
    pub outputs: Vec<(Text, Text)>,
    /// The number of processors that the job uses.
    pub cores: u32,
    /// The time limit in nanoseconds; `None` if unlimited.
    pub timeout_ns: Option<u64>,
    /// The command line for `sh -c` that saves the job's work before it leaves the node; `None` if
    /// the job is just killed.
    pub checkpoint: Option<Text>,
    /// The files in the job's own directory that the checkpoint creates.
    pub state: Vec<Text>,
}

/// An agent's message about jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FarmEvent {
    /// The agent is ready to run jobs.
    Opened(NodeFacts),
    /// The reply to `Mount`: `None` if the files are mounted, otherwise the reason.
    Mounted(#[serde(deserialize_with = "bounds::reason_if_any")] Option<String>),
    /// The reply to `Make` for this job: `None` if the directories were created, otherwise the
    /// reason.
    Made(u32, #[serde(deserialize_with = "bounds::reason_if_any")] Option<String>),
    /// These jobs have ended.
    Ended(Vec<TaskEnd>),
    /// The output of a job, if there is any; sent before the job's end.
    Output(u32, Vec<u8>),
    /// Bytes of a running job's standard output (false) or standard error (true), as they come;
    /// sent only if the head wants them.
    Wrote(u32, bool, Vec<u8>),
    /// These jobs were returned without being started.
    Returned(Vec<u32>),
    /// The next output files, in the job's order, of a successful job that ran in a directory of
    /// its own, or the next state files of one that leaves; sent before the job's end.
    Results(u32, Vec<OutputFile>),
    /// The CPU time of each running job so far.
    Used {
        /// The time of the measurement, in nanoseconds of the node's clock.
        at_ns: u64,
        /// The numbers of the jobs, each with the CPU time of its processes in nanoseconds.
        jobs: Vec<(u32, u64)>,
    },
    /// A job has left the node, as ordered: its processes were ended, and its work is saved if it
    /// has a checkpoint. Sent in place of the job's end.
    Left(TaskEnd),
    /// A job that was ordered to leave goes on, since its checkpoint has failed for this reason.
    Stays(u32, #[serde(deserialize_with = "bounds::reason")] String),
}

/// An output file in a job's own directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// The length in bytes.
    pub length: u64,
    /// The modification time: seconds and nanoseconds.
    pub modified: (i64, u32),
    /// The permission bits.
    pub mode: u32,
}

/// The maximum number of files in one message about a job's output files.
pub const OUTPUT_FILES_MAX: usize = 1000;

/// The resources that a node has for jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeFacts {
    /// The number of processors that processes may use.
    pub cores: u32,
    /// The memory that processes may use, in bytes; 0 if unknown.
    pub memory: u64,
    /// The memory in bytes that was free when the run began.
    pub memory_free: u64,
    /// The CPU time that all processes together may use, in thousandths of one processor.
    pub share: u32,
    /// The clock rate of the processors in MHz, if known.
    pub mhz: Option<f64>,
}

impl NodeFacts {
    /// Returns what can be true of these facts, which a node has told.
    #[must_use]
    pub fn bounded(self) -> Self {
        let cores = self.cores.clamp(1, CORES_MAX);
        let is_rate = |mhz: &f64| (1.0..=MHZ_MAX).contains(mhz);
        Self {
            cores,
            share: self.share.clamp(1, cores * 1000),
            mhz: self.mhz.filter(is_rate),
            memory_free: if self.memory > 0 {
                self.memory_free.min(self.memory)
            } else {
                self.memory_free
            },
            ..self
        }
    }

    /// Returns the share of a processor that each of `slots` concurrent jobs gets: 1 unless a quota
    /// limits the node.
    pub fn share_of(&self, slots: u32) -> f64 {
        (f64::from(self.share) / 1000.0 / f64::from(slots.max(1))).min(1.0)
    }

    /// Returns for each node the speed of one processor (clock rate times share), relative to the
    /// fastest. Clock rates count only if all nodes report one; nodes without facts have 1.
    pub fn speeds(nodes: &[Option<Self>]) -> Vec<f64> {
        let are_clocked = nodes.iter().flatten().all(|node| node.mhz.is_some());
        let pace = |node: &Self| {
            let clock = node.mhz.filter(|_| are_clocked).unwrap_or(1.0);
            clock * node.share_of(node.cores)
        };
        let fastest = nodes.iter().flatten().map(pace).fold(0.0, f64::max);
        nodes.iter().map(|node| node.as_ref().map_or(1.0, |node| pace(node) / fastest)).collect()
    }
}

/// How a job ended on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEnd {
    /// The job's number.
    pub job: u32,
    /// The time at which the job was started, in nanoseconds of the node's clock.
    pub started_ns: u64,
    /// The time at which the job had ended, in nanoseconds of the node's clock.
    pub ended_ns: u64,
    /// How the command ended: an exit code, a signal, a timeout or an error.
    pub outcome: Outcome,
    /// The CPU time of the job and of all processes that it waited for, in nanoseconds.
    pub cpu_ns: u64,
    /// The peak resident memory of the job's largest process, in bytes.
    pub memory: u64,
    /// The total length of the outputs that got their final names, in bytes.
    pub bytes_out: u64,
    /// The last lines of the job's standard error, if the job failed.
    pub last_words: Vec<Text>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_does_not_report_its_clock_rate_is_not_taken_for_a_slow_one() {
        let node = |share, mhz| Some(NodeFacts { cores: 2, memory: 0, memory_free: 0, share, mhz });
        let of = |nodes: &[_]| NodeFacts::speeds(nodes);
        assert_eq!(
            of(&[node(2000, Some(3000.0)), node(2000, Some(1500.0)), None]),
            [1.0, 0.5, 1.0]
        );
        assert_eq!(of(&[node(2000, Some(3000.0)), node(1000, None)]), [1.0, 0.5]);
    }

    #[test]
    fn facts_that_cannot_be_true_are_bounded() {
        for mhz in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
            let told =
                NodeFacts { cores: u32::MAX, memory: 1, memory_free: 2, share: 0, mhz: Some(mhz) };
            let wanted =
                NodeFacts { cores: CORES_MAX, memory: 1, memory_free: 1, share: 1, mhz: None };
            assert_eq!(told.bounded(), wanted, "{mhz}");
            let relative = NodeFacts::speeds(&[Some(told.bounded()), None]);
            assert!(relative.iter().all(|speed| speed.is_finite()), "{relative:?}");
        }
        let honest =
            NodeFacts { cores: 4, memory: 9, memory_free: 5, share: 1500, mhz: Some(3000.0) };
        assert_eq!(honest.bounded(), honest);
    }

    #[test]
    fn the_encoding_of_an_opening_can_be_decoded() {
        for address in ["10.0.0.7:81", "[fe80::1]:65535"] {
            let address = address.parse().unwrap();
            let key = [1; 32];
            let keys = [[2; 32], [3; 32]];
            let opening = Opening { folder: "x".into(), address, key, keys };
            let told = opening.told().try_into().unwrap();
            let (heard, of, pair) = Opening::heard(&told).unwrap();
            assert_eq!((heard, of), (address, key));
            assert_eq!([pair.private.0, pair.public], keys);
        }
    }
}
