//! `garland unpublish`: ends a name. The files stay where they are.

use garland_core::cluster::nodelist;
use garland_fleet::context::Context;
use garland_lab::Lab;
use garland_protocol::names::{HolderKind, NameEntry, NameHolder, NameRecord};
use garland_results::head::{Head, Phases, show};
use garland_results::names::UnpublishResult;
use garland_state::places::Places;
use garland_sys::clock;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};

use crate::access::Access;
use crate::args::Unpublish;
use crate::keepers::{self, ATTEMPTS_MAX, Keepers, Kept, contended, enter, unknown};

/// Ends a name.
pub fn run(context: &Context, unpublish: &Unpublish) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let lab = enter(&places, unpublish.keepers.lab.as_deref())?;
    let interrupts = Interrupts::catch().or_nothing("cannot catch Ctrl-C")?;
    let access = Access::open(&places, lab.as_ref().map(Lab::name))?;
    let signer = access.signer()?;
    let mut keepers = Keepers::open(&access, &interrupts)?;
    phases.end("set-up");
    let name = unpublish.name.as_str();
    let mut newest: Option<NameRecord> = None;
    let mut ended = None;
    for _ in 0..ATTEMPTS_MAX {
        let entry = keepers.latest(name)?.ok_or_else(|| unknown(name))?;
        if entry.record.content().is_none() {
            return end_again(context, &access, &entry.record, phases, &interrupts);
        }
        let newer = newest.filter(|newest| newest.is_newer_than(&entry.record));
        let old = newer.as_ref().unwrap_or(&entry.record);
        // The record stays with the agents, so that one that was away does not bring the name back.
        let number = NameRecord::number_after(Some(old), clock::wall_ns());
        let record = NameRecord::new(name, number, None, signer);
        let end = NameEntry { record, holders: Vec::new() };
        match keepers.keep(&end, &[])? {
            Kept::By(nodes) => {
                ended = Some((nodes, NameEntry { holders: entry.holders, ..end }));
                break;
            }
            Kept::ByTooFew(few) => {
                return Err(few.failure(name, "give `garland names`, which tells them"));
            }
            Kept::Newer(record) => newest = Some(record),
        }
    }
    let (kept, ended) = ended.ok_or_else(|| contended(name))?;
    phases.end("keep");
    // Also those who hold what the name stood for before, or who got it and are not listed.
    let nodes: Vec<String> = access.nodes().collect();
    keepers::end_serving(&access, &[&ended.record], &nodes, &interrupts)?;
    tell_absent(&access, &ended);
    phases.end("end");
    let head = Head::new("garland.unpublish/1", None, phases);
    let result = UnpublishResult { head, name: name.to_owned(), keepers: kept };
    show(context.json, &result).map_err(|failure| failure.after(Exit::Done))?;
    Ok(Exit::Done)
}

/// Tells all standing agents once more that a name has ended: some may have been away.
fn end_again(
    context: &Context,
    access: &Access,
    ended: &NameRecord,
    phases: Phases,
    interrupts: &Interrupts,
) -> Result<Exit, Failure> {
    let mut phases = phases;
    let nodes: Vec<String> = access.nodes().collect();
    keepers::end_serving(access, &[ended], &nodes, interrupts)?;
    phases.end("end");
    let head = Head::new("garland.unpublish/1", None, phases);
    let result = UnpublishResult { head, name: ended.name().to_owned(), keepers: Vec::new() };
    show(context.json, &result).map_err(|failure| failure.after(Exit::Done))?;
    Ok(Exit::Done)
}

/// Prints which holders of a name that has ended have no agent now. `garland up` tells their next
/// agents of the end, whether they are printed here or not.
fn tell_absent(access: &Access, ended: &NameEntry) {
    let is_absent = |it: &&NameHolder| {
        it.kind == HolderKind::Node && access.nodes().all(|node| node != it.node)
    };
    let absent = ended.holders.iter().filter(is_absent);
    let absent: Vec<&str> = absent.map(|holder| holder.node.as_str()).collect();
    if !absent.is_empty() {
        let name = ended.record.name();
        let nodes = nodelist::fold(&absent);
        garland_terminal::errln!(
            "names: {nodes}: no agent runs there now; `garland up` tells the next one that {name} has ended"
        );
    }
}
