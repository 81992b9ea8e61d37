//! One file from the head to one node, over several topologies: the copies of 2004, which were made
//! through the cluster's file system.

mod job;
mod table;

use std::path::Path;

use garland_topology::{Topology, bounds};

use super::predicted::{self, NEXT_TO_NOTHING};
use super::stage::Stage;
use crate::scenario_lab::ScenarioLab;
use garland_results::head::Phases;
use garland_terminal::failure::Failure;
pub use job::CopyExperiment;
use job::CopyTool;
use table::Row;
pub use table::Table;

/// The name of the file on the node.
const NAME: &str = "copy";

impl CopyExperiment {
    /// Runs the experiment: copies the file over every topology.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let size = stage.scaled(&self.job.bytes, self.job.scale)?;
        let mut rows = Vec::new();
        for topology in stage.topologies {
            garland_terminal::errln!("{} ...", topology.name);
            rows.extend(self.copy(stage, topology, size.bytes, phases)?);
        }
        Ok(Table::new(self, size, rows))
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
        stage.in_lab(topology, length.saturating_mul(2), phases, |lab, phases| {
            let source = lab.random_file("source", length)?;
            let nothing = lab.random_file("nothing", NEXT_TO_NOTHING)?;
            let wires_s = predicted::chain(topology, &[0, place], length)?;
            let node = format!("lab:{to}");
            lab.garland(&["up", &node])?;
            lab.check(0, place)?;
            lab.go_on()?;
            phases.end("set-up");
            let bound_s = bounds::seconds(topology, &[(0, place)], length);
            let enough_s = bound_s / self.tolerance.least_of_bound;
            let mut rows = Vec::new();
            for by in self.job.by.iter().copied() {
                let copy = |source: &Path, enough_s: f64| match by {
                    CopyTool::Cp => self.by_cp(lab, source, enough_s),
                    CopyTool::Mount => self.by_mount(lab, source, enough_s),
                };
                let predicted_s = copy(&nothing, f64::INFINITY)? + wires_s;
                let whole_s = copy(&source, enough_s)?;
                let equal = lab.verify(to, NAME, &source)?;
                let topology = topology.name.clone();
                rows.push(Row { topology, by, predicted_s, whole_s, bound_s, equal });
            }
            phases.end("copies");
            lab.garland(&["down", &node])?;
            Ok(rows)
        })
    }

    fn by_cp(&self, lab: &ScenarioLab<'_>, source: &Path, enough_s: f64) -> Result<f64, Failure> {
        let target = format!("lab:{}:/{NAME}", self.job.to);
        let words = ["cp", "--whole", &source.to_string_lossy(), &target, "--no-fsync", "--json"];
        lab.fastest(&[words.map(str::to_owned).to_vec()], enough_s)
    }

    /// Copies `source` with cp to a mount. Returns the seconds until cp has closed the file, when
    /// the node has the whole file; the least of several tries if the first takes more than
    /// `enough_s`.
    fn by_mount(
        &self,
        lab: &ScenarioLab<'_>,
        source: &Path,
        enough_s: f64,
    ) -> Result<f64, Failure> {
        let to = &self.job.to;
        lab.mounted(&format!("lab:{to}"), |dir| {
            let target = dir.join(to).join(NAME);
            lab.fastest_of(enough_s, || lab.system("cp", &[source, &target]))
        })
    }
}
