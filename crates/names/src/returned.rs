//! Tells agents that have just begun which names have ended: their nodes may have been away, and
//! would serve the contents again.

use garland_lab::Lab;
use garland_protocol::names::NameRecord;
use garland_state::places::Places;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::Failure;

use crate::access::Access;
use crate::keepers::{Keepers, end_serving};

/// Tells the agents of `nodes`, which have just begun, which names have ended. Does nothing if no
/// agent that keeps names answers: then no node can look up a name.
///
/// # Errors
/// When the records of agents cannot be read, or the user interrupts it.
pub fn tell_ended(
    places: &Places,
    lab: Option<&Lab>,
    nodes: &[String],
    interrupts: &Interrupts,
) -> Result<(), Failure> {
    if nodes.is_empty() {
        return Ok(());
    }
    let access = Access::open(places, lab.map(Lab::name))?;
    let Ok(mut keepers) = Keepers::open(&access, interrupts) else { return Ok(()) };
    let entries = keepers.all(None)?;
    let ended: Vec<&NameRecord> = entries
        .values()
        .map(|entry| &entry.record)
        .filter(|record| record.content().is_none())
        .collect();
    if ended.is_empty() {
        return Ok(());
    }
    end_serving(&access, &ended, nodes, interrupts)
}
