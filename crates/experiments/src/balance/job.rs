//! The sections of a balance scenario.

use garland_analysis::grade::Published;
use garland_core::units::{Rate, bytes};
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use crate::pairs::{Group, Wire};
use crate::sections::{Kind, Sections, refuse};

/// The sections of a balance scenario's file.
pub type Balance = Sections<Job, PublishedRow>;

/// Section `[job]`: the copies that are measured.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The kind of experiment: `balance`.
    pub kind: Kind,
    /// The lengths of the files, such as `2MB`.
    pub sizes: Vec<String>,
    /// The default scale: the length of the files as a share of `sizes`.
    pub scale: f64,
    /// Numbers of remote copies that are measured.
    pub remote: Vec<usize>,
    /// The block size, such as `16KiB`.
    pub block: String,
    /// The rate of each node's disk.
    pub disk: String,
    /// The groups of pairs, by kind of wire; a topology is measured with the groups that fit it.
    pub wire: Vec<Group>,
    /// The name of the topology that is published as the best with one remote copy, and as poorer
    /// than the others with many; `None` if there is none.
    pub baseline: Option<String>,
    /// The forecasts to test; `None` to test none.
    pub upgrade: Option<Upgrade>,
}

/// The forecasts that are tested in a lab with faster disks, and in one with faster wires.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Upgrade {
    /// The name of the topology whose forecasts are tested.
    pub topology: String,
    /// The numbers of remote copies to test.
    pub remote: Vec<usize>,
}

/// Entry of `[[published]]`: a published figure.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// The name of the topology that the figure belongs to.
    pub topology: String,
    /// The kind of wire between the nodes of a pair.
    pub wire: Wire,
    /// Length of the files, as in `sizes`.
    pub size: String,
    /// The number of remote copies at which the rate is highest; `None` if that was not published.
    pub best: Option<usize>,
    /// Rate of all copies together, in MB/s: with `best` remote copies, or else the highest with
    /// any.
    pub rate: Published,
}

impl Balance {
    /// Checks that all nodes and wires exist, and that every published figure is measured.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
        let job = &self.job;
        for text in job.sizes.iter().chain([&job.block]) {
            bytes::parse(text).map_err(Failure::usage)?;
        }
        let pairs = job.wire.iter().map(|group| group.pairs.len()).min().unwrap_or(0);
        if let Some(many) = job.remote.iter().find(|&&remote| remote > pairs) {
            return refuse(format!("`remote` has {many}, but there are only {pairs} pairs"));
        }
        if job.sizes.is_empty() || job.remote.is_empty() || pairs == 0 {
            return refuse("`sizes`, `remote` and `wire` must have at least one entry");
        }
        if job.disk.parse::<Rate>().map_err(Failure::usage)? == Rate::default() {
            return refuse("`disk` must be above 0");
        }
        Group::check_all(&job.wire, pairs, topologies)?;
        if let Some(row) = self.published.iter().find(|row| !job.sizes.contains(&row.size)) {
            return refuse(format!("files of {} are published, but not in `sizes`", row.size));
        }
        let is_run = |name: &str| topologies.iter().any(|topology| topology.name == name);
        if let Some(row) = self.published.iter().find(|row| !is_run(&row.topology)) {
            return refuse(format!("{} is published, but not in `topologies`", row.topology));
        }
        if let Some(name) = job.baseline.as_ref().filter(|name| !is_run(name)) {
            return refuse(format!("`baseline` is {name}, which is not in `topologies`"));
        }
        let best = self.published.iter().filter_map(|row| row.best);
        let tried = job.upgrade.iter().flat_map(|upgrade| upgrade.remote.iter().copied());
        if let Some(missing) = best.chain(tried).find(|at| !job.remote.contains(at)) {
            return refuse(format!("`best` or `upgrade` has {missing}, which is not in `remote`"));
        }
        match &job.upgrade {
            Some(upgrade) if !is_run(&upgrade.topology) => refuse(format!(
                "the topology {} of `upgrade` is not in `topologies`",
                upgrade.topology
            )),
            _ => Ok(()),
        }
    }

    /// Returns the lengths of the files in bytes, at scale `scale`.
    pub fn sizes(&self, scale: f64) -> Result<Vec<u64>, Failure> {
        let least = *garland_protocol::measure::BALANCE_SIZES.start();
        let scaled = |text: &String| {
            let size = bytes::parse(text).map_err(Failure::usage)?;
            Ok(((size as f64 * scale) as u64).max(least))
        };
        self.job.sizes.iter().map(scaled).collect()
    }

    /// Returns `topology` with the disk rate of the job at all nodes.
    pub fn with_disks(&self, topology: &Topology) -> Result<Topology, Failure> {
        let disk: Rate = self.job.disk.parse().map_err(Failure::usage)?;
        let mut topology = topology.clone();
        topology.nodes.iter_mut().for_each(|node| node.disk = Some(disk));
        Ok(topology)
    }
}
