//! From the word that names a topology to the topology.

use garland_core::cluster::topology::Topology;
use garland_core::cluster::topology::file::parse;

use crate::failure::Failure;
use crate::scenario;

/// The topology of a scenario that comes with Garland, or of a file: what has a `/` or ends in
/// `.toml` is a file.
pub fn load(name: &str) -> Result<Topology, Failure> {
    let is_file = name.contains('/') || name.ends_with(".toml");
    if let Some(text) = scenario::text(name).filter(|_| !is_file) {
        return Ok(parse(text, name).map_err(Failure::usage)?.topology);
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        let failure = Failure::usage(format!("reading the topology {name}: {error}"));
        if is_file {
            return failure;
        }
        failure.hint("name a file, or a scenario of garland scenario list")
    })?;
    Ok(parse(&text, name).map_err(Failure::usage)?.topology)
}
