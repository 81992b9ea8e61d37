//! The sections of a farm scenario.

use std::collections::BTreeMap;

use garland_analysis::grade::Published;
use garland_core::units::bytes;
use garland_farm::result::Unit;
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use super::riddle::Suspect;
use crate::scaling::check_counts;
use crate::sections::{Kind, Sections, place, reached, refuse};

/// The sections of a farm scenario's file.
pub type Farm = Sections<Job, PublishedRow>;

/// The name in `[[published]]` of the runs on a single machine, with which all others are compared.
pub const ONE: &str = "one";

/// Section `[job]`: the jobs, the copy and the riddle.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The kind of experiment: `farm`.
    pub kind: Kind,
    /// Number of jobs.
    pub jobs: usize,
    /// The plural noun for the jobs in messages, such as `encodes`.
    pub called: String,
    /// The length of the sound file of each job, in bytes or with a unit such as `MB`.
    pub bytes: String,
    /// The default scale: the length of a sound file as a share of `bytes`.
    pub scale: f64,
    /// The nodes that work; the first one has the files.
    pub nodes: Vec<String>,
    /// The CPU limit of each node, as a share of one CPU.
    pub share: f64,
    /// Whether running jobs move to idle nodes, as openMosix moved processes. They start over
    /// there, as no encoder can go on elsewhere.
    #[serde(default)]
    pub migrate: bool,
    /// The power of a node in 2004 with its unit, such as `300MHz`.
    pub unit: String,
    /// The encoder. Its last two arguments are `-`, for standard input, and the name of the output.
    pub program: String,
    /// The loads, the heaviest one first.
    pub load: Vec<LoadKind>,
    /// The copy of a file through the mount.
    pub copy: CopyJob,
    /// The network that was slower than expected, and the faults that may explain it.
    pub riddle: Riddle,
    /// A load on growing numbers of nodes; `None` if their numbers do not grow.
    pub growth: Option<Growth>,
}

/// A load on growing numbers of nodes of one topology: small numbers are measured, and the times on
/// larger ones are forecast from them and then tried.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// The name of the topology. Its nodes share no wire.
    pub topology: String,
    /// The name of the load.
    pub load: String,
    /// The nodes in the order in which they are added; the first one has the files.
    pub nodes: Vec<String>,
    /// The numbers of nodes that are measured first.
    pub measured: Vec<u32>,
    /// The numbers of nodes that are forecast from these measurements, and then tried.
    pub forecast: Vec<u32>,
}

/// A load: one way to call the encoder.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LoadKind {
    /// The load's name, such as `heavy`.
    pub name: String,
    /// Arguments of the encoder before `-`.
    pub words: Vec<String>,
}

/// A copy that one node makes by reading a file through the mount.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CopyJob {
    /// The length of the copied file.
    pub bytes: String,
    /// The node that reads the file.
    pub to: String,
}

/// A network that was slower than another one, although its wires were faster.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Riddle {
    /// The name of the slower topology.
    pub slow: String,
    /// The name of the faster topology.
    pub fast: String,
    /// The length of the file that is copied to find the cause.
    pub bytes: String,
    /// The faults that are tested as possible causes.
    pub suspect: Vec<Suspect>,
}

/// Entry of `[[published]]`: a published row. Fields that were not published are `None`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// The topology's name, or [`ONE`] for one machine alone.
    pub topology: String,
    /// The name of the load; `None` for the copy through the mount.
    pub load: Option<String>,
    /// The time of the slowest job, or of the copy, in seconds.
    pub slowest: Published,
    /// The time of the fastest job.
    pub fastest: Option<Published>,
    /// The time of the slowest job minus that of the fastest.
    pub difference: Option<Published>,
    /// `difference` as percent of `slowest`.
    pub spread: Option<Published>,
    /// `slowest` as percent of the time of one machine, or of the first published copy.
    pub percent: Option<Published>,
    /// `slowest` as percent of the time over other topologies, by their names.
    #[serde(default)]
    pub rebased: BTreeMap<String, Published>,
    /// By how many percent `slowest` is below the time over other topologies, by their names.
    #[serde(default)]
    pub gain: BTreeMap<String, Published>,
    /// The power of one machine that is as fast, in the job's unit.
    pub power: Option<Published>,
    /// The difference of `power` from that of all machines together, in percent.
    pub of_all: Option<Published>,
    /// The least power of one machine that is as fast as other numbers of nodes, in the job's unit,
    /// by these numbers.
    #[serde(default)]
    pub at_least: BTreeMap<String, Published>,
    /// The rate of the copy in MiB/s.
    pub rate: Option<Published>,
}

impl Farm {
    /// Checks that all nodes, wires and loads exist, and that every published figure is measured.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
        let job = &self.job;
        for text in [&job.bytes, &job.copy.bytes, &job.riddle.bytes] {
            bytes::parse(text).map_err(Failure::usage)?;
        }
        job.unit.parse::<Unit>().map_err(Failure::usage)?;
        job.riddle.suspect.iter().try_for_each(Suspect::check)?;
        if job.jobs == 0 || job.load.is_empty() || job.nodes.len() < 2 {
            return refuse("a farm needs at least 1 of `jobs`, 1 `load` and 2 `nodes`");
        }
        if !(job.share > 0.0 && job.share <= 1.0) {
            return refuse("`share` must be above 0 and at most 1");
        }
        for topology in topologies {
            self.check_nodes(topology)?;
        }
        let known = |name: &str| topologies.iter().any(|topology| topology.name == name);
        for name in [&job.riddle.slow, &job.riddle.fast] {
            if !known(name) {
                return refuse(format!("the riddle is about {name}, which is not in `topologies`"));
            }
        }
        let has_load = |row: &PublishedRow| {
            row.load.as_ref().is_none_or(|load| job.load.iter().any(|own| own.name == *load))
        };
        let unknown = self
            .published
            .iter()
            .find(|row| !(row.topology == ONE || known(&row.topology)) || !has_load(row));
        if let Some(row) = unknown {
            let load = row.load.as_deref().unwrap_or("copy");
            return refuse(format!(
                "topology {}, load {load} is published, but not run",
                row.topology
            ));
        }
        self.check_growth(topologies)?;
        let is_missing = |load: &LoadKind| self.published(ONE, Some(&load.name)).is_none();
        match job.load.iter().find(|load| is_missing(load)) {
            Some(load) => {
                refuse(format!("topology {ONE}, load {} has no entry in `published`", load.name))
            }
            None => Ok(()),
        }
    }

    fn check_nodes(&self, topology: &Topology) -> Result<(), Failure> {
        has_nodes(topology, &self.job.nodes)?;
        reached(topology, &self.job.copy.to).map(drop)
    }

    /// Checks that growing numbers of nodes are run as they are published.
    fn check_growth(&self, topologies: &[Topology]) -> Result<(), Failure> {
        let growth = self.job.growth.as_ref();
        for row in &self.published {
            for nodes in row.at_least.keys() {
                let is_tried = growth.is_some_and(|growth| {
                    let mut tried = growth.forecast.iter();
                    let is_same = growth.topology == row.topology;
                    is_same
                        && row.load.as_ref() == Some(&growth.load)
                        && tried.any(|count| count.to_string() == *nodes)
                });
                if !is_tried {
                    let topology = &row.topology;
                    return refuse(format!(
                        "{nodes} nodes of {topology} are published, but not in `forecast` of `growth`"
                    ));
                }
            }
        }
        let Some(growth) = growth else { return Ok(()) };
        let topology = topologies.iter().find(|topology| topology.name == growth.topology);
        let Some(topology) = topology else {
            return refuse(format!("{} grows, but is not in `topologies`", growth.topology));
        };
        if self.load(&growth.load).is_none() {
            return refuse(format!("load {} grows, but is not in `load`", growth.load));
        }
        check_counts(&growth.measured, &growth.forecast, growth.nodes.len(), "in `nodes`")?;
        has_nodes(topology, &growth.nodes)
    }

    /// Returns the options of `garland farm run` that start all jobs at once, each where it costs
    /// least, and move them as the job says.
    pub fn placed(&self) -> impl Iterator<Item = &'static str> {
        let how = ["--data", "mount", "--all-at-once", "--placement", "mosix"];
        how.into_iter().chain(self.job.migrate.then_some("--migrate"))
    }

    /// Returns the load `name`; `None` if there is none.
    pub fn load(&self, name: &str) -> Option<&LoadKind> {
        self.job.load.iter().find(|load| load.name == name)
    }

    /// Returns this experiment on other nodes.
    pub fn on(&self, nodes: &[String]) -> Self {
        let mut other = self.clone();
        other.job.nodes = nodes.to_vec();
        other
    }

    /// Returns the published figure of a topology: that of a load, or that of the copy if `load` is
    /// `None`.
    pub fn published(&self, topology: &str, load: Option<&str>) -> Option<&PublishedRow> {
        self.published.iter().find(|row| row.topology == topology && row.load.as_deref() == load)
    }
}

/// Checks that a topology has these nodes, and that the first one is its head, which has the files.
fn has_nodes(topology: &Topology, nodes: &[String]) -> Result<(), Failure> {
    let places = nodes.iter().map(|node| place(topology, node));
    let places = places.collect::<Result<Vec<_>, _>>()?;
    match places.first() {
        Some(0) => Ok(()),
        _ => refuse(format!(
            "the first of `nodes` has the files, so it must be the head of {}, but is {}",
            topology.name,
            nodes.first().map_or("none", String::as_str)
        )),
    }
}
