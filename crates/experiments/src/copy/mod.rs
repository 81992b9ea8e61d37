//! One file from the head to one node, over several topologies: the copies of 2004, which went through
//! the cluster's file system.

mod table;

use std::path::Path;

use garland_core::units::bytes;
use garland_topology::{Topology, bounds};
use serde::{Deserialize, Serialize};

use super::experiment::{Kind, Stage};
use super::predicted::{self, NEXT_TO_NOTHING};
use super::sections::Sections;
use crate::scenario_lab::ScenarioLab;
use garland_results::head::Phases;
use garland_terminal::failure::Failure;
pub use table::{Row, Table};

/// The name of the file on the node.
const NAME: &str = "copy";

/// What is done and compared.
pub type CopyExperiment = Sections<Job, Tolerance, Published>;

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `copy`.
    pub kind: Kind,
    /// The file's length.
    pub bytes: String,
    /// What share of it is copied, unless the user says another.
    pub scale: f64,
    /// To which node.
    pub to: String,
    /// By what, one after the other.
    #[serde(default = "by_cp")]
    pub by: Vec<CopyTool>,
}

/// What copies the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CopyTool {
    /// `garland cp`.
    Cp,
    /// The system's cp through `garland mount`, as through /mfs.
    Mount,
}

fn by_cp() -> Vec<CopyTool> {
    vec![CopyTool::Cp]
}

/// What counts as reproduced.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The least rate of the whole command, as a share of what the wires allow.
    pub least_of_bound: f64,
}

/// A row as it was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Over which topology.
    pub topology: String,
    /// Seconds of the whole file.
    pub seconds: f64,
    /// MiB/s.
    pub rate: f64,
}

impl CopyExperiment {
    /// Whether the node is there, the head reaches it, and the wires have a rate.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        bytes::parse(&self.job.bytes).map_err(|error| error.to_string())?;
        let to = &self.job.to;
        for topology in topologies {
            let name = &topology.name;
            let place = topology.node(to).filter(|place| *place > 0);
            let place = place.ok_or_else(|| format!("{name} has no node {to} beside its head"))?;
            let bound = bounds::max_min(topology, &[(0, place)])[0];
            if !(bound.is_finite() && bound > 0.0) {
                return Err(format!("{name} has no wire with a rate between its head and {to}"));
            }
        }
        let is_one = |row: &&Published| topologies.iter().all(|one| one.name != row.topology);
        match self.published.iter().find(is_one) {
            Some(row) => Err(format!("{} is published but not run", row.topology)),
            None => Ok(()),
        }
    }

    /// Copies over every topology.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let (scale, length) = stage.scaled(&self.job.bytes, self.job.scale)?;
        let mut rows = Vec::new();
        for topology in stage.topologies {
            garland_terminal::errln!("{} ...", topology.name);
            rows.extend(self.copy(stage, topology, length, phases)?);
        }
        Ok(Table::new(self, scale, length, rows))
    }

    fn copy(
        &self,
        stage: &Stage<'_>,
        topology: &Topology,
        length: u64,
        phases: &mut Phases,
    ) -> Result<Vec<Row>, Failure> {
        let to = &self.job.to;
        let place = topology.node(to).unwrap_or_default();
        stage.in_lab(topology, length.saturating_mul(2), phases, |bench, phases| {
            let source = bench.random_file("source", length)?;
            let nothing = bench.random_file("nothing", NEXT_TO_NOTHING)?;
            let wires_s = predicted::chain(topology, &[0, place], length)?;
            let node = format!("lab:{to}");
            bench.garland(&["up", &node])?;
            bench.check(0, place)?;
            bench.go_on()?;
            phases.end("set-up");
            let bound_s = bounds::seconds(topology, &[(0, place)], length);
            let enough_s = bound_s / self.tolerance.least_of_bound;
            let mut rows = Vec::new();
            for by in self.job.by.iter().copied() {
                let copy = |source: &Path, enough_s: f64| match by {
                    CopyTool::Cp => self.by_cp(bench, source, enough_s),
                    CopyTool::Mount => self.by_mount(bench, source, enough_s),
                };
                let predicted_s = copy(&nothing, f64::INFINITY)? + wires_s;
                let whole_s = copy(&source, enough_s)?;
                let equal = bench.verify(to, NAME, &source)?;
                let topology = topology.name.clone();
                rows.push(Row { topology, by, predicted_s, whole_s, bound_s, equal });
            }
            phases.end("copies");
            bench.garland(&["down", &node])?;
            Ok(rows)
        })
    }

    fn by_cp(&self, bench: &ScenarioLab<'_>, source: &Path, enough_s: f64) -> Result<f64, Failure> {
        let target = format!("lab:{}:/{NAME}", self.job.to);
        let words = ["cp", "--whole", &source.to_string_lossy(), &target, "--no-fsync", "--json"];
        bench.fastest(&[words.map(str::to_owned).to_vec()], enough_s)
    }

    /// From before cp is started until it has closed the file, of which the node then has all.
    fn by_mount(
        &self,
        bench: &ScenarioLab<'_>,
        source: &Path,
        enough_s: f64,
    ) -> Result<f64, Failure> {
        let to = &self.job.to;
        bench.mounted(&format!("lab:{to}"), |dir| {
            let target = dir.join(to).join(NAME);
            bench.fastest_of(enough_s, || bench.system("cp", &[source, &target]))
        })
    }

    /// The published row of a topology.
    pub fn published(&self, topology: &str) -> Option<&Published> {
        self.published.iter().find(|row| row.topology == topology)
    }
}
