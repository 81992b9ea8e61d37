//! The nodes of a command whose user names none.

use garland_core::cluster::Node;
use garland_state::places::Places;
use garland_terminal::failure::Failure;

use crate::args::DEFAULT_LAB;
use crate::launch::lab;
use crate::standing::RecordDir;

/// Returns the nodes of `lab` with a standing agent. Without `lab`, returns the real nodes with
/// one, or those of the default lab if no real node has one.
///
/// # Errors
/// When the records of agents cannot be listed.
pub fn standing(places: &Places, lab: Option<&str>) -> Result<Vec<Node>, Failure> {
    let named = |lab: Option<&str>| -> Result<Vec<Node>, Failure> {
        let names = RecordDir::open(places, lab)?.names()?;
        Ok(names.iter().map(|name| Node::named(name)).collect())
    };
    if lab.is_some() {
        return named(lab);
    }
    let real = named(None)?;
    if !real.is_empty() || !lab::runs(places, DEFAULT_LAB) {
        return Ok(real);
    }
    named(Some(DEFAULT_LAB))
}
