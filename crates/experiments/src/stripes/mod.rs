//! One file copied to a striped server, in operations as in 2007 and without operations, and with
//! injected pauses whose makers `garland explain` must find.

mod answer;
mod budget;
mod job;
mod maker;
mod sizes;
mod table;
#[cfg(test)]
mod tests;
mod trial;
mod varied;

use garland_core::units::bytes;
use garland_results::head::Phases;
use garland_terminal::failure::Failure;
use garland_topology::bounds;

use super::predicted::{self, NEXT_TO_NOTHING};
use super::sections::{only, place};
use super::stage::Stage;
pub use job::Stripes;
use sizes::Sizes;
pub use table::Table;
use table::{Common, Row};
#[cfg(test)]
pub use tests::ideal;
use trial::Trial;

impl Stripes {
    /// Runs the experiment: copies, and explains the copies.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let topology = only(stage.topologies, "a copy in stripes")?;
        let receiver = place(topology, &self.job.to)?;
        let size = stage.scaled(&self.job.bytes, 1.0)?;
        let buffer = bytes::parse(&self.job.buffer).map_err(Failure::usage)?;
        let operation = bytes::parse(&self.job.operation).map_err(Failure::usage)?;
        let length = size.bytes;
        let sizes = Sizes { length, buffer, operation, overlap: 0 };
        let wire_s = bounds::seconds(topology, &[(0, receiver)], length);
        stage.in_lab(topology, length.saturating_mul(3), phases, |lab, phases| {
            let source = lab.random_file("source", length)?;
            let nothing = lab.random_file("nothing", NEXT_TO_NOTHING)?;
            let bytes_s = predicted::chain(topology, lab.processors()?, &[0, receiver], length)?;
            let trial = Trial { experiment: self, lab, source, sizes, bytes_s };
            let node = format!("lab:{}", self.job.to);
            lab.garland(&["up", &node])?;
            lab.check(0, receiver)?;
            phases.end("set-up");
            let start_s = trial.start_s(&nothing)?;
            let copies = trial.copies(start_s)?;
            let varied = trial.varied(start_s)?;
            phases.end("copies");
            let answers = trial.answers(&copies)?;
            phases.end("explained copies");
            lab.garland(&["down", &node])?;
            let rows: Vec<Row> = copies.into_iter().map(|copy| copy.row).collect();
            let free = rows.iter().find(|row| !row.held && !row.paused);
            let buffer_ms =
                free.map_or(f64::NAN, |row| row.stream_s) * 1e3 * buffer as f64 / length as f64;
            let operations = sizes.operations();
            let common = Common { sizes, size, operations, wire_s, buffer_ms, answers, varied };
            Ok(Table::new(self, common, rows))
        })
    }
}
