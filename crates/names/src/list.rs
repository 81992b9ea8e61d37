//! `garland names`: lists names, their content and their holders.

use garland_fleet::context::Context;
use garland_lab::Lab;
use garland_results::head::{Head, Phases, show};
use garland_results::names::{NamedResult, NamesResult};
use garland_state::places::Places;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};

use crate::access::Access;
use crate::args::Names;
use crate::keepers::{Keepers, enter, unknown};

/// Lists one name or all.
pub fn run(context: &Context, names: &Names) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let lab = enter(&places, names.keepers.lab.as_deref())?;
    let interrupts = Interrupts::catch().or_nothing("cannot catch Ctrl-C")?;
    let access = Access::open(&places, lab.as_ref().map(Lab::name))?;
    let mut keepers = Keepers::open(&access, &interrupts)?;
    phases.end("set-up");
    let found = match &names.name {
        Some(name) => vec![keepers.find(name)?.ok_or_else(|| unknown(name))?],
        None => keepers.all(None)?.into_values().collect(),
    };
    phases.end("ask");
    let valid = found.iter().filter(|entry| entry.record.content().is_some());
    let listed = valid.map(NamedResult::new).collect();
    let head = Head::new("garland.names/1", None, phases);
    show(context.json, &NamesResult { head, names: listed })?;
    Ok(Exit::Done)
}
