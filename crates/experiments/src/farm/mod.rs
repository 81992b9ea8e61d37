//! Many jobs on a few nodes, over several topologies: the heavy and the light encodes of 2004, a
//! copy through the mount, faults that may have slowed one of the networks down, and more nodes
//! than were published.

mod claims;
mod faults;
mod growth;
mod job;
mod prediction;
mod riddle;
mod row;
mod table;
#[cfg(test)]
mod tests;
mod trial;
mod wave;
mod words;

use garland_results::head::Phases;
use garland_terminal::failure::Failure;

use super::stage::Stage;
use super::table::Size;
pub use job::Farm;
use job::ONE;
use row::{Row, Scaling};
use table::Common;
pub use table::Table;
#[cfg(test)]
pub use tests::ideal;
use trial::FarmTrial;

impl Farm {
    /// Runs the experiment: encodes on one machine and over every topology, copies through the
    /// mount, tests the suspects, and tries more nodes.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        wave::find_encoder(&self.job.program)?;
        let Size { scale, bytes: length } = stage.scaled(&self.job.bytes, self.job.scale)?;
        let course = FarmTrial { experiment: self, stage, length };
        let ones = course.alone(&stage.topologies[0], phases)?;
        let scaling = self.scaling(scale, &ones)?;
        let mut rows = ones.clone();
        let mut copies = Vec::new();
        for topology in stage.topologies {
            rows.extend(course.together(topology, &scaling, &ones, phases)?);
            copies.push(course.copied(topology, &scaling, phases)?);
        }
        let faults = course.with_faults(&scaling, &ones, phases)?;
        let suspects = course.suspects(phases)?;
        let growth = course.growth(&scaling, phases)?;
        Ok(Table::new(self, Common { scaling, copies, faults, suspects, growth }, rows))
    }

    /// Returns the scaling of the emulation: files are scaled by `scale`, and wires so that they
    /// carry a job's bytes in the same share of the job's time as in 2004. `ones` are the rows of
    /// one machine.
    fn scaling(&self, scale: f64, ones: &[Row]) -> Result<Scaling, Failure> {
        let first = ones.first().ok_or_else(|| Failure::nothing("nothing was encoded"))?;
        let published =
            self.published(ONE, Some(&first.load)).map_or(0.0, |row| row.slowest.middle());
        Ok(Scaling::new(scale, published / first.seconds.max(1e-9)))
    }
}
