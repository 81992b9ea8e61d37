//! `garland unpublish`: ends a name. The files stay where they are.

use garland_fleet::context::Context;
use garland_lab::Lab;
use garland_protocol::{NameEntry, NameRecord};
use garland_results::head::{Head, Phases, show};
use garland_results::names::UnpublishResult;
use garland_results::places::Places;
use garland_sys::clock;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};

use crate::access::Access;
use crate::args::Unpublish;
use crate::keepers::{Keepers, enter, unknown};

/// Ends a name.
pub fn run(context: &Context, unpublish: &Unpublish) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let lab = enter(&places, unpublish.keepers.lab.as_deref())?;
    let interrupts = Interrupts::catch().or_nothing("catching Ctrl-C")?;
    let access = Access::open(&places, lab.as_ref().map(Lab::name))?;
    let signer = access.signer()?;
    let mut keepers = Keepers::open(&access, &interrupts)?;
    phases.end("set-up");
    let name = unpublish.name.as_str();
    let entry = keepers.find(name)?.ok_or_else(|| unknown(name))?;
    // The record stays with the agents, so that one that was away does not bring the name back.
    let number = clock::wall_ns().max(entry.record.number() + 1);
    let record = NameRecord::new(name, number, None, signer);
    let kept = keepers.keep(&NameEntry { record, holders: Vec::new() }, &[])?;
    phases.end("keep");
    let head = Head::new("garland.unpublish/1", None, phases);
    show(context.json, &UnpublishResult { head, name: name.to_owned(), keepers: kept })?;
    Ok(Exit::Done)
}
