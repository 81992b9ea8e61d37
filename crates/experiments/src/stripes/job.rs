//! The sections of a stripes scenario.

use garland_core::plan;
use garland_core::units::{Nanos, bytes};
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use super::maker::{Maker, Pause};
use crate::sections::{Kind, Sections, only, reached, refuse};
use garland_terminal::failure::Failure;

/// The sections of the scenario's file.
pub type Stripes = Sections<Job, Tolerance, Published>;

/// Section `[job]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `stripes`.
    pub kind: Kind,
    /// The file's length.
    pub bytes: String,
    /// Bytes of a buffer, which is both the block and the stripe unit.
    pub buffer: String,
    /// Bytes of an operation.
    pub operation: String,
    /// The server's node.
    pub to: String,
    /// Makers of pauses; each is tested with all `pauses`.
    pub makers: Vec<Maker>,
    /// Lengths of pauses.
    pub pauses: Vec<String>,
    /// The pauses that the published copy probably had, all at once.
    pub suspects: Vec<Pause>,
}

/// Section `[tolerance]`: the limits within which results count as reproduced.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Least rate of a copy without operations, with or without pauses, as a share of the wire's.
    pub least_of_wire: f64,
    /// Least speed-up of a copy without operations over one in operations, with the suspects' pauses.
    pub least_gain: f64,
    /// Error allowed in the found time of pauses with the traces of both ends, as a share of the injected
    /// time.
    pub found: f64,
    /// Error allowed in the found time without the server's trace, when more than the pauses is
    /// undecided.
    pub found_by_one: f64,
}

/// Entry of `[[published]]`: the published copy.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Rate while bytes were sent, in Gbit/s.
    pub transfer: f64,
    /// Rate of the whole copy, in Gbit/s.
    pub copy: f64,
    /// Least and most milliseconds between operations.
    pub between_ms: [f64; 2],
    /// Milliseconds from an operation's last send to its last reply.
    pub end_ms: f64,
}

impl Stripes {
    /// Checks that the server can be reached by rated wires and that operations consist of whole buffers.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
        reached(only(topologies, "a copy in stripes")?, &self.job.to)?;
        let bytes = |text: &String| bytes::parse(text).map_err(Failure::usage);
        let (buffer, operation) = (bytes(&self.job.buffer)?, bytes(&self.job.operation)?);
        let stripes = plan::Stripes::new(bytes(&self.job.bytes)?, buffer, 1);
        stripes.map_err(Failure::usage)?;
        if operation == 0 || !operation.is_multiple_of(buffer) {
            return refuse("`operation` must be a multiple of `buffer`");
        }
        let pauses = self.job.pauses.iter().chain(self.job.suspects.iter().map(|one| &one.pause));
        for pause in pauses {
            pause.parse::<Nanos>().map_err(Failure::usage)?;
        }
        match self.published.len() {
            1 => Ok(()),
            many => refuse(format!("`published` must have one entry, not {many}")),
        }
    }
}
