//! One list of jobs on a growing number of nodes. Small numbers of nodes are measured; the times on
//! larger ones are forecast from them, and then tested.

mod curve;
mod forecast;
mod job;
mod table;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use garland_core::printable;
use garland_core::units::bytes;
use garland_farm::result::FarmResult;
use garland_results::head::Phases;
use garland_terminal::failure::{Failure, OrFailure};
use garland_topology::Topology;

use super::stage::Stage;
use crate::scenario_lab::{ScenarioLab, lab_nodes};
pub use curve::{Columns, CountRow, Curve, forecast};
pub use forecast::ScalingForecast;
#[cfg(test)]
pub use forecast::{Answer, At};
pub use job::{Scaling, check_counts};
use table::Common;
pub use table::Table;
#[cfg(test)]
pub use tests::ideal;

impl Scaling {
    /// Runs the experiment: measures small numbers of nodes, forecasts larger ones, and tests the
    /// forecasts.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let topology = &stage.topologies[0];
        let scale = stage.scale.unwrap_or(1.0);
        stage.in_lab(topology, 1 << 24, phases, |lab, phases| {
            let list = self.list(lab, scale)?;
            lab.check(0, 1)?;
            phases.end("set-up");
            let mut rows = Vec::new();
            for &nodes in &self.job.measured {
                rows.push(self.farm(lab, topology, nodes, &list)?);
            }
            phases.end("measured");
            let counts = [&self.job.measured[..], &self.job.forecast].concat();
            let prediction = forecast(lab, Some(stage.file), &counts, &rows)?;
            phases.end("forecast");
            for &nodes in &self.job.forecast {
                rows.push(self.farm(lab, topology, nodes, &list)?);
            }
            phases.end("tried");
            Ok(Table::new(self, Common { scale, prediction }, rows))
        })
    }

    /// Writes the jobs' inputs and the list of jobs, with lengths and times scaled by `scale`.
    /// Returns the path of the list.
    fn list(&self, lab: &ScenarioLab<'_>, scale: f64) -> Result<String, Failure> {
        let size = |text: &str| -> Result<u64, Failure> {
            Ok(((bytes::parse(text).map_err(Failure::usage)? as f64 * scale) as u64).max(1))
        };
        let read = size(&self.job.bytes_in)?;
        let made = size(&self.job.bytes_out)?;
        let mut text = String::new();
        let lengths = self.job.lengths.iter().cycle();
        for (job, seconds) in lengths.take(self.job.jobs).enumerate() {
            let source = lab.random_file(&format!("job{job:03}.in"), read)?;
            let source = printable::path(&source);
            let seconds = seconds * scale;
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "[[job]]\ncommand = \"cat {{in}} >/dev/null; sleep {seconds:.3}; head -c {made} {{in}} >{{out}}\"\n\
                 inputs = [\"{source}\"]\noutputs = [\"{source}.out\"]"
            );
        }
        let path = lab.files().join("jobs.toml");
        std::fs::write(&path, text)
            .or_nothing(format!("cannot write {}", printable::path(&path)))?;
        Ok(path.to_string_lossy().into_owned())
    }

    fn farm(
        &self,
        lab: &ScenarioLab<'_>,
        topology: &Topology,
        nodes: u32,
        list: &str,
    ) -> Result<CountRow, Failure> {
        garland_terminal::errln!("{nodes} nodes ...");
        let names = topology.nodes.iter().skip(1).take(nodes as usize);
        let names = lab_nodes(&names.map(|node| node.name.clone()).collect::<Vec<_>>());
        let words = [list, &names, "--data", "mount", "--slots", "1", "--overwrite"];
        let (FarmResult { head, summary, .. }, busy) = lab.watch(|| lab.farm_done(&words))?;
        Ok(CountRow { nodes, seconds: summary.total, busy, run: head.run.unwrap_or_default() })
    }
}
