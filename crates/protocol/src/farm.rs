//! What the head and an agent say to each other about the jobs of a farm.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::channel::{KeyPair, PublicKey};
use garland_core::farm::{Command, Outcome, Text};

/// Bytes that a job's command may have, so that it fits in a message.
pub const COMMAND_MAX: usize = 32 << 10;

/// The number of bytes of a job's output that are kept from its beginning, and from its end.
pub const OUTPUT_HALF: usize = 8 << 10;

/// Orders about jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FarmOrder {
    /// Take jobs from now on, and run them on this number of processors; without it on all.
    /// Jobs that have a directory of their own get it under this name.
    Open {
        /// Processors; `u32::MAX` starts every job as it comes.
        slots: Option<u32>,
        /// The name of the directory in the agent's that jobs' directories are made in.
        folder: Text,
    },
    /// Run these in their order, as processors get free.
    Run(Vec<Task>),
    /// Make the directories for these jobs' files; precedes the files.
    Make(u32, Vec<Text>),
    /// Give back those of these jobs that haven't been started.
    Recall(Vec<u32>),
    /// The job's files aren't needed any more.
    Clear(u32),
    /// Mount the files of the machine that has them.
    Mount(Opening),
}

/// How a node sees the files of the machine that has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The name of the directory in the agent's to mount on.
    pub folder: Text,
    /// Where the agent is that gives the files.
    pub address: SocketAddr,
    /// Its key.
    pub key: PublicKey,
    /// What opens it, the private part first; made for this run alone.
    pub keys: [[u8; 32]; 2],
}

impl Opening {
    /// The length of this in bytes for the mounting process.
    pub const TOLD: usize = 18 + 3 * 32;

    /// The bytes for the mounting process: address, port and keys.
    #[must_use]
    pub fn told(&self) -> Vec<u8> {
        let address = match self.address.ip() {
            std::net::IpAddr::V4(address) => address.to_ipv6_mapped(),
            std::net::IpAddr::V6(address) => address,
        };
        let port = self.address.port().to_be_bytes();
        [&address.octets()[..], &port, &self.key, &self.keys[0], &self.keys[1]].concat()
    }

    /// Parses these bytes: the address, the public key of the peer, and the own key pair.
    #[must_use]
    pub fn heard(told: &[u8; Self::TOLD]) -> Option<(SocketAddr, PublicKey, KeyPair)> {
        let (address, rest) = told.split_first_chunk::<16>()?;
        let (port, keys) = rest.split_first_chunk::<2>()?;
        let address = std::net::Ipv6Addr::from(*address).to_canonical();
        let key = |at: usize| keys[32 * at..].first_chunk::<32>().copied();
        let pair = KeyPair { private: key(1)?, public: key(2)? };
        Some(((address, u16::from_be_bytes(*port)).into(), key(0)?, pair))
    }
}

/// A job as a node gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The job's number.
    pub job: u32,
    /// What to run.
    pub command: Command,
    /// Whether it runs in a directory of its own.
    pub own_folder: bool,
    /// Files that it makes under a name for the time being, and what they are called once it has ended well.
    pub outputs: Vec<(Text, Text)>,
    /// Processors that it keeps busy.
    pub cores: u32,
    /// Nanoseconds that it may run.
    pub timeout_ns: Option<u64>,
}

/// What a node says about jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FarmEvent {
    /// Jobs may come.
    Opened(NodeFacts),
    /// The files are mounted, or why not.
    Mounted(Option<String>),
    /// The directories of this job are there, or why not.
    Made(u32, Option<String>),
    /// These jobs have ended.
    Ended(Vec<TaskEnd>),
    /// The output of a job, if there is any; sent before its end.
    Output(u32, Vec<u8>),
    /// These were given back, and not started.
    Returned(Vec<u32>),
}

/// What a node has for jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeFacts {
    /// Processors that processes may have there.
    pub cores: u32,
    /// Memory in bytes that processes may have there; 0 if it isn't known.
    pub memory: u64,
    /// The memory that was free when the run began.
    pub memory_free: u64,
    /// Thousandths of one processor that all processes there may have together.
    pub share: u32,
    /// The clock rate of the processors in MHz, if known.
    pub mhz: Option<f64>,
}

impl NodeFacts {
    /// The share of a processor that each of this number of concurrent jobs gets: 1 unless something holds the
    /// node to less.
    pub fn share_of(&self, slots: u32) -> f64 {
        (f64::from(self.share) / 1000.0 / f64::from(slots.max(1))).min(1.0)
    }

    /// The speed of one of its processors: its clock rate, if known, times its share.
    pub fn pace(&self) -> f64 {
        self.mhz.unwrap_or(1.0) * self.share_of(self.cores)
    }
}

/// How a job ended on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEnd {
    /// The job's number.
    pub job: u32,
    /// When it was started, by the node's clock.
    pub started_ns: u64,
    /// When it had ended, by the node's clock.
    pub ended_ns: u64,
    /// How.
    pub outcome: Outcome,
    /// CPU time of it and all that it waited for.
    pub cpu_ns: u64,
    /// Its largest process's peak resident memory, in bytes.
    pub memory: u64,
    /// Bytes of the outputs that got their names.
    pub bytes_out: u64,
    /// The last lines of its standard error, a few, where it failed.
    pub last_words: Vec<Text>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_heard() {
        for address in ["10.0.0.7:81", "[fe80::1]:65535"] {
            let address = address.parse().unwrap();
            let (key, keys) = ([1; 32], [[2; 32], [3; 32]]);
            let opening = Opening { folder: "x".into(), address, key, keys };
            let told = opening.told().try_into().unwrap();
            let (heard, of, pair) = Opening::heard(&told).unwrap();
            assert_eq!((heard, of), (address, key));
            assert_eq!([pair.private, pair.public], keys);
        }
    }
}
