//! From the word that names a topology to the topology.

use garland_core::cluster::topology::Topology;
use garland_core::cluster::topology::file::parse;

use crate::failure::Failure;
use crate::scenario;

/// The topology of a scenario that comes with Garland, or of a file: what has a `/` or ends in
/// `.toml` is a file.
pub fn load(name: &str) -> Result<Topology, Failure> {
    let is_file = is_file(name);
    if let Some(text) = scenario::text(name).filter(|_| !is_file) {
        return only(text, name);
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        let failure = Failure::usage(format!("reading the topology {name}: {error}"));
        if is_file {
            return failure;
        }
        failure.hint("name a file, or a scenario of garland scenario list")
    })?;
    only(&text, name)
}

/// Whether a word names a file, and not a scenario that comes with Garland.
pub fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// The topology of a file, which must have one of its own.
fn only(text: &str, name: &str) -> Result<Topology, Failure> {
    if let Some(several) = scenario::topologies(text) {
        let problem = format!("{name} compares several topologies and has none of its own");
        return Err(Failure::usage(problem).hint(format!("they are {}", several.join(", "))));
    }
    Ok(parse(text, name).map_err(Failure::usage)?.topology)
}
