//! Many jobs on a few nodes, over several topologies: the encodes of 2004, heavy and light, a copy
//! through the mount, and what may have made one of the networks slower than it should be.

mod course;
mod foretold;
mod job;
mod riddle;
mod row;
mod table;
mod wave;
mod words;

use super::stage::Stage;
use super::table::Size;
use course::FarmTrial;
use garland_commands::result::Phases;
use garland_results::failure::Failure;
pub use job::Farm;
use job::ONE;
use row::{Row, Scaling};
use table::Common;
pub use table::Table;

impl Farm {
    /// Encodes on one machine and over every topology, copies, and tries what may have been wrong.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        wave::find_encoder(&self.job.program)?;
        let Size { scale, bytes: length } = stage.scaled(&self.job.bytes, self.job.scale)?;
        let course = FarmTrial { experiment: self, stage, length };
        let ones = course.alone(&stage.topologies[0], phases)?;
        let scaling = self.scaling(scale, &ones)?;
        let (mut rows, mut copies) = (ones.clone(), Vec::new());
        for topology in stage.topologies {
            let found = course.together(topology, &scaling, &ones, phases)?;
            rows.extend(found.0);
            copies.push(found.1);
        }
        let suspects = course.suspects(phases)?;
        Ok(Table::new(self, Common { scaling, copies, suspects }, rows))
    }

    /// By how much everything is smaller or faster than it was: files by `scale`, and wires so that they
    /// carry as many bytes of a job in the time that it takes.
    fn scaling(&self, scale: f64, ones: &[Row]) -> Result<Scaling, Failure> {
        let first = ones.first().ok_or_else(|| Failure::nothing("nothing was encoded"))?;
        let published = self.published(ONE, Some(&first.load)).map_or(0.0, |row| row.slowest);
        Ok(Scaling::new(scale, published / first.seconds.max(1e-9)))
    }
}
