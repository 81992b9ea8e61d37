//! The sections of a farm scenario.

use garland_core::units::bytes;
use garland_topology::{Topology, bounds};
use serde::{Deserialize, Serialize};

use super::riddle::Suspect;
use crate::sections::{Kind, Sections};
use garland_farm::result::Unit;

/// What is done and compared.
pub type Farm = Sections<Job, Tolerance, Published>;

/// The name in `[[published]]` of the one machine that all is compared with.
pub const ONE: &str = "one";

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `farm`.
    pub kind: Kind,
    /// How many jobs.
    pub jobs: usize,
    /// What they are called: `encodes`.
    pub called: String,
    /// The length of each job's file of sound.
    pub bytes: String,
    /// What share of it is used, unless the user says another.
    pub scale: f64,
    /// The nodes that work, the one with the files first.
    pub nodes: Vec<String>,
    /// Each node's share of a processor.
    pub share: f64,
    /// What a node had: `300MHz`.
    pub unit: String,
    /// The encoder, which reads `-`, its standard input, and makes the file that is named behind it; and its
    /// words for each load, the heaviest first.
    pub program: String,
    /// Its loads.
    pub load: Vec<LoadKind>,
    /// The copy through the mount.
    pub copy: CopyJob,
    /// What is tried on the network that was slower than it should be.
    pub riddle: Riddle,
}

/// How the encoder is started.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LoadKind {
    /// `heavy`.
    pub name: String,
    /// Words before `-` and the file that is made.
    pub words: Vec<String>,
}

/// The copy through the mount.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CopyJob {
    /// The file's length.
    pub bytes: String,
    /// The node that reads it.
    pub to: String,
}

/// The network that was slower than another one, which it should have beaten.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Riddle {
    /// The slow one.
    pub slow: String,
    /// The one that it should have beaten.
    pub fast: String,
    /// The length of the copied file.
    pub bytes: String,
    /// Settings of the kernel by which its TCP is as it was, such as `net.ipv4.tcp_recovery=0`.
    pub settings: Vec<String>,
    /// What may have been wrong.
    pub suspect: Vec<Suspect>,
}

/// What counts as reproduced.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// By how much a share of one machine's time may differ from the published one: 0.05 are five
    /// hundredths of that machine's time.
    pub of_one: f64,
    /// How near a copy must come to what the wires allow.
    pub copy_of_bound: f64,
    /// By what factor the slow network's rate, against the other one's, may differ from the published
    /// one, so that a suspect counts as having done it.
    pub riddle: f64,
}

/// A figure as it was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Over which topology; `one`: one machine alone.
    pub topology: String,
    /// For which load; none for the copy.
    pub load: Option<String>,
    /// Seconds of the slowest job, or of the copy.
    pub slowest: f64,
    /// Seconds of the fastest job.
    pub fastest: Option<f64>,
    /// The figure belongs to the riddle: it is shown, and needn't be reproduced.
    #[serde(default)]
    pub riddle: bool,
}

impl Farm {
    /// Whether nodes, wires and loads are there, and all that is published is run.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        let job = &self.job;
        for text in [&job.bytes, &job.copy.bytes, &job.riddle.bytes] {
            bytes::parse(text).map_err(|error| error.to_string())?;
        }
        job.unit.parse::<Unit>()?;
        job.riddle.suspect.iter().try_for_each(Suspect::check)?;
        if job.jobs == 0 || job.load.is_empty() || job.nodes.len() < 2 {
            return Err("`jobs`, `load` are one at least, and `nodes` two".to_owned());
        }
        if !(job.share > 0.0 && job.share <= 1.0) {
            return Err("`share` is above 0 and at most 1".to_owned());
        }
        for topology in topologies {
            self.check_nodes(topology)?;
        }
        let known = |name: &str| topologies.iter().any(|topology| topology.name == name);
        for name in [&job.riddle.slow, &job.riddle.fast] {
            if !known(name) {
                return Err(format!("the riddle is about {name}, which is not run"));
            }
        }
        let has_load = |row: &Published| {
            row.load.as_ref().is_none_or(|load| job.load.iter().any(|own| own.name == *load))
        };
        let strange = self
            .published
            .iter()
            .find(|row| !(row.topology == ONE || known(&row.topology)) || !has_load(row));
        if let Some(row) = strange {
            let load = row.load.as_deref().unwrap_or("copy");
            return Err(format!("{}, {load} is published but not run", row.topology));
        }
        let one = |load: &LoadKind| self.published(ONE, Some(&load.name)).is_none();
        match job.load.iter().find(|load| one(load)) {
            Some(load) => Err(format!("{ONE}, {} is not published", load.name)),
            None => Ok(()),
        }
    }

    fn check_nodes(&self, topology: &Topology) -> Result<(), String> {
        let name = &topology.name;
        let place =
            |node: &String| topology.node(node).ok_or_else(|| format!("{name} has no node {node}"));
        let places = self.job.nodes.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        if places[0] != 0 {
            return Err(format!(
                "{} is not the head of {name}, which has the files",
                self.job.nodes[0]
            ));
        }
        let to = place(&self.job.copy.to)?;
        let bound = bounds::max_min(topology, &[(0, to)])[0];
        match bound.is_finite() && bound > 0.0 && to != 0 {
            true => Ok(()),
            false => Err(format!(
                "{name} has no wire with a rate between its head and {}",
                self.job.copy.to
            )),
        }
    }

    /// The published figure of a topology and a load.
    pub fn published(&self, topology: &str, load: Option<&str>) -> Option<&Published> {
        self.published.iter().find(|row| row.topology == topology && row.load.as_deref() == load)
    }
}
