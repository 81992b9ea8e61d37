//! The sections of a stripes scenario.

use garland_core::plan;
use garland_core::units::{Nanos, bytes};
use garland_topology::{Topology, bounds};
use serde::{Deserialize, Serialize};

use super::maker::{Maker, Pause};
use crate::sections::{Kind, Sections, only, place};

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
}
