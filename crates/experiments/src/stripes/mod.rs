//! A file to one striped server, in operations as in 2007 and as it is, and with pauses whose makers
//! `garland explain` has to find.

mod answer;
mod maker;
mod table;
mod trial;

use garland_core::plan;
use garland_core::units::{Nanos, bytes};
use garland_topology::{Topology, bounds};
use serde::{Deserialize, Serialize};

use super::experiment::{Kind, Stage};
use super::predicted::{self, NEXT_TO_NOTHING};
use super::sections::{Sections, only, place};
use garland_results::head::Phases;
use garland_terminal::failure::Failure;
use maker::{Maker, Pause};
pub use table::{Row, Table};
use trial::Trial;

/// What is done and compared.
pub type Stripes = Sections<Job, Tolerance, Published>;

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `stripes`.
    pub kind: Kind,
    /// The file's length.
    pub bytes: String,
    /// Bytes of a buffer, which is a block and a unit.
    pub buffer: String,
    /// Bytes of an operation.
    pub operation: String,
    /// The server.
    pub to: String,
    /// Who pauses at every operation, one after the other...
    pub makers: Vec<Maker>,
    /// ... and for how long, one after the other.
    pub pauses: Vec<String>,
    /// Who paused when the figures were published, probably; all of them at once.
    pub suspects: Vec<Pause>,
}

/// What counts as reproduced.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The least rate of a copy as it is, with and without pauses, as a share of the wire's.
    pub least_of_wire: f64,
    /// With the suspects' pauses, how many times as fast as one in operations it is at least.
    pub least_gain: f64,
    /// The share by which what is found of a pause may differ from what was put in, with the traces of
    /// both ends.
    pub found: f64,
    /// Without the server's trace: what nobody knows of it then is more than its pauses.
    pub found_by_one: f64,
}

/// What was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Gbit/s while bytes went.
    pub transfer: f64,
    /// Gbit/s of the whole copy.
    pub copy: f64,
    /// Milliseconds between operations, least and most.
    pub between_ms: [f64; 2],
    /// Milliseconds from an operation's last send to its last answer.
    pub end_ms: f64,
}

/// The job's sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub length: u64,
    pub buffer: u64,
    pub operation: u64,
}

impl Sizes {
    /// How many operations there are.
    fn operations(self) -> u64 {
        self.length.div_ceil(self.operation)
    }
}

impl Stripes {
    /// Whether there is one way to the server, with a rate, and operations of whole buffers.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        let topology = only(topologies, "a copy in stripes")?;
        let to = place(topology, &self.job.to)?;
        let bound = || bounds::max_min(topology, &[(0, to)])[0];
        if to == 0 || !(bound().is_finite() && bound() > 0.0) {
            let name = &topology.name;
            return Err(format!("{name} has no wire with a rate from its head to {}", self.job.to));
        }
        let bytes = |text: &String| bytes::parse(text).map_err(|error| error.to_string());
        let (buffer, operation) = (bytes(&self.job.buffer)?, bytes(&self.job.operation)?);
        let stripes = plan::Stripes::new(bytes(&self.job.bytes)?, buffer, 1);
        stripes.map_err(|error| error.to_string())?;
        if operation == 0 || !operation.is_multiple_of(buffer) {
            return Err("`operation` has no whole number of buffers".to_owned());
        }
        let pauses = self.job.pauses.iter().chain(self.job.suspects.iter().map(|one| &one.pause));
        for pause in pauses {
            pause.parse::<Nanos>().map_err(|error| error.to_string())?;
        }
        match self.published.len() {
            1 => Ok(()),
            many => Err(format!("one copy was published, not {many}")),
        }
    }

    /// Copies, and asks where the time went.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let topology = only(stage.topologies, "a copy in stripes").map_err(Failure::usage)?;
        let place = place(topology, &self.job.to).map_err(Failure::usage)?;
        let (scale, length) = stage.scaled(&self.job.bytes, 1.0)?;
        let buffer = bytes::parse(&self.job.buffer).map_err(Failure::usage)?;
        let operation = bytes::parse(&self.job.operation).map_err(Failure::usage)?;
        let sizes = Sizes { length, buffer, operation };
        let wire_s = bounds::seconds(topology, &[(0, place)], length);
        stage.in_lab(topology, length.saturating_mul(3), phases, |bench, phases| {
            let source = bench.random_file("source", length)?;
            let nothing = bench.random_file("nothing", NEXT_TO_NOTHING)?;
            let bytes_s = predicted::chain(topology, &[0, place], length)?;
            let trial = Trial { experiment: self, bench, source, nothing, sizes, wire_s, bytes_s };
            let node = format!("lab:{}", self.job.to);
            bench.garland(&["up", &node])?;
            bench.check(0, place)?;
            phases.end("set-up");
            let copies = trial.copies()?;
            phases.end("copies");
            let answers = trial.answers(&copies)?;
            phases.end("explained copies");
            bench.garland(&["down", &node])?;
            let rows = copies.into_iter().map(|copy| copy.row).collect();
            Ok(Table::new(self, (scale, sizes), wire_s, rows, answers))
        })
    }
}
