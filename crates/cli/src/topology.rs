//! From the word that names a topology to the topology.

use std::path::Path;

use garland_core::cluster::topology::Topology;
use garland_core::cluster::topology::file::parse;

use crate::failure::Failure;
use crate::scenario;

/// The topology of a file, or of a scenario that comes with Garland.
pub fn load(argument: &str) -> Result<Topology, Failure> {
    let path = Path::new(argument);
    let read = |text: &str, name: &str| {
        parse(text, name).map(|file| file.topology).map_err(Failure::usage)
    };
    if !path.exists()
        && let Some(text) = scenario::text(argument)
    {
        return read(text, argument);
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("read the topology {argument}: {error}"))
            .hint("name a file, or a scenario: garland scenario list")
    })?;
    read(&text, argument)
}
