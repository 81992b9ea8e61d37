//! One list of jobs on nodes of unequal speed with several placements: jobs start as slots become
//! free, or all at once.

mod job;
mod table;
#[cfg(test)]
mod tests;

use garland_core::printable;
use garland_farm::result::FarmResult;
use garland_results::head::Phases;
use garland_terminal::failure::{Failure, OrFailure};

use super::stage::Stage;
use crate::scenario_lab::{ScenarioLab, lab_nodes};
pub use job::Placements;
use table::Row;
pub use table::Table;
#[cfg(test)]
pub use tests::ideal;

impl Placements {
    /// Runs the experiment: the jobs with each placement, first started as slots become free, and
    /// then all at once.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let topology = &stage.topologies[0];
        stage.in_lab(topology, 1 << 20, phases, |lab, phases| {
            let list = lab.files().join("jobs");
            std::fs::write(&list, self.list(stage.scale.unwrap_or(1.0)))
                .or_nothing(format!("cannot write {}", printable::path(&list)))?;
            phases.end("set-up");
            let mut rows = Vec::new();
            for at_once in [false, true] {
                for placement in &self.job.placements {
                    let how = if at_once { "all at once" } else { "as slots become free" };
                    garland_terminal::errln!("{placement}, {how} ...");
                    rows.push(self.farm(lab, placement, at_once, &list.to_string_lossy())?);
                }
            }
            phases.end("jobs");
            Ok(Table::new(self, (), rows))
        })
    }

    /// Returns the list of jobs at `scale`: shell loops, which use nothing but a CPU.
    fn list(&self, scale: f64) -> String {
        let loops = ((self.job.loops as f64 * scale) as u64).max(1);
        let lengths = self.job.lengths.iter().cycle().take(self.job.jobs);
        let line = |length: &u64| {
            let turns = loops.saturating_mul(*length);
            format!("i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done\n")
        };
        lengths.map(line).collect()
    }

    fn farm(
        &self,
        lab: &ScenarioLab<'_>,
        placement: &str,
        at_once: bool,
        list: &str,
    ) -> Result<Row, Failure> {
        let nodes = lab_nodes(&self.job.nodes);
        let mut words = vec![list, &nodes, "--slots", "1"];
        words.extend(["--placement", placement]);
        words.extend(at_once.then_some("--all-at-once"));
        let (FarmResult { head, nodes, summary, .. }, busy) =
            lab.watch(|| lab.farm_done(&words))?;
        let of_node = |name: &String| {
            let node = nodes.iter().find(|node| node.name == format!("lab:{name}"));
            node.map_or(0, |node| node.done)
        };
        Ok(Row {
            placement: placement.to_owned(),
            at_once,
            seconds: summary.total,
            bound_s: summary.losses.map(|losses| losses.whole_jobs),
            slowdown: summary.slowdown,
            spread: summary.spread,
            busy,
            done: self.job.nodes.iter().map(of_node).collect(),
            run: head.run.unwrap_or_default(),
        })
    }
}
