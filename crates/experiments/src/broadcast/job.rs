//! The sections of a broadcast scenario.

use garland_core::units::bytes;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use crate::sections::{Kind, Sections, only};

/// What is done and compared.
pub type Broadcast = Sections<Job, Tolerance, Published>;

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `broadcast`.
    pub kind: Kind,
    /// The file's length.
    pub bytes: String,
    /// To how many nodes.
    pub receivers: Vec<u32>,
    /// By which tools.
    pub steps: Vec<Tool>,
}

/// What copies the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// The script of 2005, written anew: named pipes, tee and netcat.
    Pipes,
    /// Garland, its agents started for the copy.
    Cold,
    /// Garland with agents that stay.
    Up,
}

impl Tool {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pipes => "pipe script",
            Self::Cold => "garland, cold",
            Self::Up => "garland, up",
        }
    }
}

/// What counts as reproduced.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The most that a copy with agents up may take, as a multiple of the wire's own time.
    pub up_over_limit: f64,
}

/// A row as it was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// To how many nodes.
    pub receivers: u32,
    /// Seconds of the whole command, least and most.
    pub seconds: [f64; 2],
    /// MByte/s of the best.
    pub rate: f64,
}

impl Broadcast {
    /// Whether there are enough nodes, and the length is one.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        bytes::parse(&self.job.bytes).map_err(|error| error.to_string())?;
        let topology = only(topologies, "a broadcast")?;
        let others = topology.nodes.len() - 1;
        let beyond = |some: &&u32| !(1..=others).contains(&(**some as usize));
        match self.job.receivers.iter().find(beyond) {
            Some(some) => Err(format!(
                "a job for {some} receivers, but there are {others} nodes beside the head"
            )),
            None => Ok(()),
        }
    }

    /// The published row for so many receivers.
    pub fn published(&self, receivers: u32) -> Option<&Published> {
        self.published.iter().find(|row| row.receivers == receivers)
    }
}
