//! The sections of a stripes scenario.

use garland_analysis::grade::Published;
use garland_core::plan;
use garland_core::units::{Nanos, bytes};
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use super::maker::{Maker, Pause};
use super::sizes::Sizes;
use super::varied::Variation;
use crate::sections::{Kind, Sections, only, reached, refuse};

/// The sections of a stripes scenario's file.
pub type Stripes = Sections<Job, PublishedCopy>;

/// Section `[job]`: the copies and their pauses.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The kind of experiment: `stripes`.
    pub kind: Kind,
    /// The file's length.
    pub bytes: String,
    /// The length of a buffer, which is both the block size and the stripe unit.
    pub buffer: String,
    /// The length of an operation, such as `10MiB`; a multiple of `buffer`.
    pub operation: String,
    /// The server's node.
    pub to: String,
    /// The makers of pauses that are tested, each with every length in `pauses`.
    pub makers: Vec<Maker>,
    /// The lengths of the pauses, such as `11ms`.
    pub pauses: Vec<String>,
    /// The pauses that the published copy probably had; all are injected at once.
    pub suspects: Vec<Pause>,
    /// Further copies in operations with the suspects' pauses.
    #[serde(default)]
    pub varied: Vec<Variation>,
}

/// Entry of `[[published]]`: the published copy.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedCopy {
    /// Rate while bytes were sent, in Gbit/s.
    pub transfer: Published,
    /// Rate of the whole copy, in Gbit/s.
    pub copy: Published,
    /// The milliseconds of a buffer's transfer.
    pub buffer_ms: Published,
    /// The milliseconds between two operations.
    pub between_ms: Published,
    /// Milliseconds from an operation's last send to its last reply.
    pub end_ms: Published,
}

impl Stripes {
    /// Checks that the head reaches the server over wires with rates, and that operations consist
    /// of whole buffers.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
        reached(only(topologies, "a copy in stripes")?, &self.job.to)?;
        let bytes = |text: &String| bytes::parse(text).map_err(Failure::usage);
        let buffer = bytes(&self.job.buffer)?;
        let operation = bytes(&self.job.operation)?;
        let length = bytes(&self.job.bytes)?;
        plan::Stripes::new(length, buffer, 1).map_err(Failure::usage)?;
        if operation == 0 || !operation.is_multiple_of(buffer) {
            return refuse("`operation` must be a multiple of `buffer`");
        }
        let sizes = Sizes { length, buffer, operation, overlap: 0 };
        self.job.varied.iter().try_for_each(|varied| varied.sizes(sizes).map(drop))?;
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
