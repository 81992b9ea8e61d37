//! One file from the head to one node, over several topologies: the copies of 2004, which were made
//! through the cluster's file system.

mod job;
mod table;
#[cfg(test)]
mod tests;

use std::path::Path;

use garland_results::head::Phases;
use garland_terminal::failure::Failure;
use garland_topology::{Topology, bounds};

use super::predicted::{self, NEXT_TO_NOTHING};
use super::stage::Stage;
use crate::scenario_lab::ScenarioLab;
pub use job::CopyExperiment;
use job::CopyTool;
use table::Row;
pub use table::Table;
#[cfg(test)]
pub use tests::ideal;

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
            let wires_s = predicted::chain(topology, lab.processors()?, &[0, place], length)?;
            let node = format!("lab:{to}");
            lab.garland(&["up", &node])?;
            lab.check(0, place)?;
            lab.go_on()?;
            phases.end("set-up");
            let bound_s = bounds::seconds(topology, &[(0, place)], length);
            let mut rows = Vec::new();
            for by in self.job.by.iter().copied() {
                let copy = |source: &Path| match by {
                    CopyTool::Cp => self.by_cp(lab, source),
                    CopyTool::Mount => self.by_mount(lab, source),
                };
                let predicted_s = copy(&nothing)? + wires_s;
                let (whole_s, busy) = lab.watch(|| copy(&source))?;
                let equal = lab.verify(to, NAME, &source)?;
                let topology = topology.name.clone();
                rows.push(Row { topology, by, predicted_s, whole_s, bound_s, busy, equal });
            }
            phases.end("copies");
            lab.garland(&["down", &node])?;
            Ok(rows)
        })
    }

    fn by_cp(&self, lab: &ScenarioLab<'_>, source: &Path) -> Result<f64, Failure> {
        let target = format!("lab:{}:/{NAME}", self.job.to);
        let words = ["cp", "--whole", &source.to_string_lossy(), &target, "--no-fsync", "--json"];
        lab.together(&[words.map(str::to_owned).to_vec()])
    }

    /// Copies `source` with cp to a mount. Returns the seconds until cp has closed the file, when
    /// the node has the whole file.
    fn by_mount(&self, lab: &ScenarioLab<'_>, source: &Path) -> Result<f64, Failure> {
        let to = &self.job.to;
        lab.mounted(&format!("lab:{to}"), |dir| {
            let target = dir.join(to).join(NAME);
            lab.system("cp", &[source, &target]).map(|whole_ns| whole_ns as f64 / 1e9)
        })
    }
}
