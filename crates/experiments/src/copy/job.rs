//! The sections of a copy scenario.

use garland_analysis::grade::Published;
use garland_core::units::bytes;
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use crate::sections::{Kind, Sections, reached, refuse};

/// The sections of a copy scenario's file.
pub type CopyExperiment = Sections<Job, PublishedRow>;

/// Section `[job]`: the copy that is measured.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The kind of experiment: `copy`.
    pub kind: Kind,
    /// The length of the file, in bytes or with a unit such as `MiB`.
    pub bytes: String,
    /// The default scale: the length of the file as a share of `bytes`.
    pub scale: f64,
    /// The node that receives the file.
    pub to: String,
    /// The tools, in the table's order.
    #[serde(default = "by_cp")]
    pub by: Vec<CopyTool>,
}

/// A tool that copies the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CopyTool {
    /// `garland cp`.
    Cp,
    /// The system's cp on a `garland mount`, as in 2004 on /mfs.
    Mount,
}

fn by_cp() -> Vec<CopyTool> {
    vec![CopyTool::Cp]
}

/// Entry of `[[published]]`: a published row.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// The name of the topology that the row belongs to.
    pub topology: String,
    /// The seconds that the copy of the whole file took.
    pub seconds: Published,
    /// Rate in MiB/s.
    pub rate: Published,
    /// The seconds as percent of those over the first published topology.
    pub percent: Published,
}

impl CopyExperiment {
    /// Checks that the node exists and that the head reaches it over wires with a rate.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
        bytes::parse(&self.job.bytes).map_err(Failure::usage)?;
        topologies.iter().try_for_each(|topology| reached(topology, &self.job.to).map(drop))?;
        let is_unknown =
            |row: &&PublishedRow| topologies.iter().all(|one| one.name != row.topology);
        match self.published.iter().find(is_unknown) {
            Some(row) => refuse(format!("{} is published, but not in `topologies`", row.topology)),
            None => Ok(()),
        }
    }

    /// Returns the published row of a topology; `None` if there is none.
    pub fn published(&self, topology: &str) -> Option<&PublishedRow> {
        self.published.iter().find(|row| row.topology == topology)
    }
}
