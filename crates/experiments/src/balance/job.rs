//! The sections of a balance scenario.

use garland_core::units::{Rate, bytes};
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use crate::pairs::{Group, Wire};
use crate::sections::{Kind, Sections};
use garland_results::failure::Failure;

/// What is done and compared.
pub type Balance = Sections<Job, Tolerance, Published>;

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `balance`.
    pub kind: Kind,
    /// The lengths of the files.
    pub sizes: Vec<String>,
    /// What share of them is copied, unless the user says another.
    pub scale: f64,
    /// How many copies are remote.
    pub remote: Vec<usize>,
    /// Bytes of a block.
    pub block: String,
    /// How fast each node's disk is.
    pub disk: String,
    /// The pairs by their wire; each topology is run with those that it has.
    pub wire: Vec<Group>,
    /// Which forecasts are tried.
    pub upgrade: Option<Upgrade>,
}

/// Which forecasts are tried.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Upgrade {
    /// Over which topology.
    pub topology: String,
    /// With how many remote copies.
    pub remote: Vec<usize>,
}

/// What counts as reproduced.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The least rate of all copies together, as a share of what wires and disks allow.
    pub least_of_bound: f64,
    /// Rates that differ by less than this share are equal.
    pub equal: f64,
    /// The share by which what was tried may differ from its forecast.
    pub forecast: f64,
}

/// A figure as it was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Over which topology.
    pub topology: String,
    /// By which wire.
    pub wire: Wire,
    /// For files of this length.
    pub size: String,
    /// With so many remote copies the topology is at its best.
    pub best: Option<usize>,
    /// MB/s of all copies.
    pub rate: f64,
}

impl Balance {
    /// Whether the nodes and wires are there, and all that is compared is measured.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        let job = &self.job;
        for text in job.sizes.iter().chain([&job.block]) {
            bytes::parse(text).map_err(|error| error.to_string())?;
        }
        let pairs = job.wire.iter().map(|group| group.pairs.len()).min().unwrap_or(0);
        if let Some(many) = job.remote.iter().find(|&&remote| remote > pairs) {
            return Err(format!("`remote` has {many}, but there are {pairs} pairs"));
        }
        if job.sizes.is_empty() || job.remote.is_empty() || pairs == 0 {
            return Err("`sizes`, `remote` and `wire` have one entry at least".to_owned());
        }
        if job.disk.parse::<Rate>().map_err(|error| error.to_string())? == Rate::default() {
            return Err("`disk` is 0".to_owned());
        }
        Group::check_all(&job.wire, pairs, topologies)?;
        if let Some(row) = self.published.iter().find(|row| !job.sizes.contains(&row.size)) {
            return Err(format!("files of {} are published but not copied", row.size));
        }
        let is_run = |name: &str| topologies.iter().any(|topology| topology.name == name);
        if let Some(row) = self.published.iter().find(|row| !is_run(&row.topology)) {
            return Err(format!("{} is published but not run", row.topology));
        }
        let best = self.published.iter().filter_map(|row| row.best);
        let tried = job.upgrade.iter().flat_map(|upgrade| upgrade.remote.iter().copied());
        if let Some(missing) = best.chain(tried).find(|at| !job.remote.contains(at)) {
            return Err(format!("{missing} remote copies are compared, but not measured"));
        }
        match &job.upgrade {
            Some(upgrade) if !is_run(&upgrade.topology) => {
                Err(format!("an upgrade of {} is tried, but it is not run", upgrade.topology))
            }
            _ => Ok(()),
        }
    }

    /// The lengths of the files at this scale.
    pub fn sizes(&self, scale: f64) -> Result<Vec<u64>, Failure> {
        let least = *garland_protocol::BALANCE_SIZES.start();
        let scaled = |text: &String| {
            let size = bytes::parse(text).map_err(Failure::usage)?;
            Ok(((size as f64 * scale) as u64).max(least))
        };
        self.job.sizes.iter().map(scaled).collect()
    }

    /// A topology whose nodes have the experiment's disks.
    pub fn with_disks(&self, topology: &Topology) -> Result<Topology, Failure> {
        let disk: Rate = self.job.disk.parse().map_err(Failure::usage)?;
        let mut topology = topology.clone();
        topology.nodes.iter_mut().for_each(|node| node.disk = Some(disk));
        Ok(topology)
    }
}
