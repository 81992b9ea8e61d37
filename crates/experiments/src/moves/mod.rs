//! Equal jobs on a few nodes of which one gets slow: they stay, start over on other nodes, or go on
//! there.

mod job;
mod slow;
mod table;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::Path;

use garland_core::printable;
use garland_farm::result::FarmResult;
use garland_results::head::Phases;
use garland_terminal::failure::{Failure, OrFailure};

use super::stage::Stage;
use crate::scenario_lab::{Busy, lab_nodes};
pub use job::Moves;
use slow::Slow;
pub use table::Table;
use table::{Row, Treatment};
#[cfg(test)]
pub use tests::ideal;

impl Moves {
    /// Runs the experiment: the jobs with each treatment, with a node that gets slow.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let topology = &stage.topologies[0];
        let scale = stage.scale.unwrap_or(1.0);
        let loops = ((self.job.loops as f64 * scale) as u64).max(1);
        stage.in_lab(topology, 1 << 20, phases, |lab, phases| {
            let nodes = lab_nodes(&self.job.nodes);
            lab.garland(&["up", &nodes])?;
            phases.end("set-up");
            let mut rows = Vec::new();
            for treatment in Treatment::ALL {
                garland_terminal::errln!("{} ...", treatment.words());
                let list = lab.files().join("jobs.toml");
                std::fs::write(&list, self.list(treatment, loops, lab.files()))
                    .or_nothing(format!("cannot write {}", printable::path(&list)))?;
                let slow = Slow::begin(lab, &self.job, self.after_s()? * scale)?;
                let words = [&list.to_string_lossy(), &*nodes, "--data", "stage", "--slots", "1"];
                let words = [&words[..], &["--overwrite"], treatment.options()].concat();
                let (result, busy) = lab.watch(|| lab.farm_done(&words))?;
                slow.end();
                rows.push(Row::new(treatment, &result, busy, self.is_whole(loops, lab.files())));
            }
            phases.end("jobs");
            lab.garland(&["down", &nodes])?;
            Ok(Table::new(self, (), rows))
        })
    }

    /// Returns the list of the jobs: shell loops that write how far they have come when they are
    /// asked to. Only those that go on elsewhere have a checkpoint.
    fn list(&self, treatment: Treatment, loops: u64, folder: &Path) -> String {
        let line = format!(
            "i=0; [ ! -e count ] || read i <count; \
             trap 'echo $i >count.new; mv count.new count; exit 1' USR1; \
             while [ $i -lt {loops} ]; do i=$((i+1)); done; echo $i >{{out}}"
        );
        let mut text = String::new();
        for job in 0..self.job.jobs {
            let file = output(folder, job);
            // Writing to a String cannot fail.
            let _ = writeln!(text, "[[job]]\ncommand = \"{line}\"\noutputs = [\"{file}\"]");
            if treatment == Treatment::Migrate {
                let save = "rm -f count; kill -USR1 $GARLAND_JOB_PID; \
                     until [ -e count ]; do sleep 0.02; done";
                let _ = writeln!(
                    text,
                    "checkpoint = \"{save}\"\nrestore = \"{line}\"\nstate = [\"count\"]"
                );
            }
        }
        text
    }

    /// Whether each job has done all of its work, and says so.
    fn is_whole(&self, loops: u64, folder: &Path) -> bool {
        let said = |job: usize| std::fs::read_to_string(output(folder, job)).unwrap_or_default();
        (0..self.job.jobs).all(|job| said(job).trim() == loops.to_string())
    }
}

/// Returns the path of a job's output.
fn output(folder: &Path, job: usize) -> String {
    folder.join(format!("job{job}.out")).to_string_lossy().into_owned()
}

impl Row {
    fn new(treatment: Treatment, result: &FarmResult, busy: Busy, whole: bool) -> Self {
        let moves: Vec<_> = result.records.iter().flat_map(|record| &record.moves).collect();
        Self {
            treatment,
            seconds: result.summary.total,
            moves: moves.len(),
            moved_cpu_s: moves.iter().fold(0.0, |all, one| all + one.cpu),
            busy,
            whole,
            run: result.head.run.clone().unwrap_or_default(),
        }
    }
}
