//! `garland cp` to nodes: opens the source, makes the copy, and prints the result.

use std::ffi::OsStr;
use std::sync::Arc;

use garland_control::Outcome;
use garland_copy::place::Place;
use garland_copy::planned::PlannedCopy;
use garland_copy::session::{MadeCopy, Session};
use garland_copy::source::CopySource;
use garland_copy::spec::CopySpec;
use garland_fleet::builder::Fleet;
use garland_fleet::context::Context;
use garland_remote::elsewhere;
use garland_results::copy::CopyResult;
use garland_results::head::Phases;
use garland_showing::progress::CopyBars;
use garland_showing::tell::{end_with, save, tell_dry_run, tell_plan};
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};

use super::failed_list::{self, FailedList};
use super::sources;

/// Copies a file, a tree, a stream or an object to every node of `destination`.
pub fn run(context: &Context, spec: &CopySpec, destination: &OsStr) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("cannot catch Ctrl-C")?);
    elsewhere::refuse_as_destination(destination)?;
    failed_list::check(&spec.source)?;
    // Before anything can fail; a dry run copies nothing, and leaves the list of a copy alone.
    let failed_list = if spec.run.is_dry { None } else { FailedList::open(&spec.source)? };
    // A dry run that asks no node needs no lab.
    let needs_lab = !spec.run.is_dry || spec.run.names_entries;
    let launch = &spec.run.launch;
    let (place, target) = Place::enter(context, &interrupts, launch, destination, needs_lab)?;
    spec.slow.refuse_unreachable(target.nodes.len())?;
    let opening = place.begin_opening()?;
    let given = sources::open(spec, &interrupts, opening.disk)?;
    let mut copy = PlannedCopy::new(given, spec, &place, target)?;
    drop(opening);
    save(spec, copy.plan())?;
    if spec.run.is_dry {
        copy.fit_as_expected()?;
    }
    if !names_changes(spec, copy.source())? && spec.run.is_dry {
        return tell_plan(&copy, context, spec);
    }
    let failed_list = failed_list.map(|list| list.with_source(copy.source()));
    let mut session = copy.begin(phases)?;
    let fleet = copy.assemble(&mut session)?;
    if spec.run.is_dry {
        return tell_dry_run(&copy.dry_run(session, fleet)?, context, spec);
    }
    let mut bars = CopyBars::new(context, &spec.run);
    let close = |session: &mut Session<'_>, fleet: Fleet, outcome: &Outcome| {
        session.end(fleet, outcome);
        Vec::new()
    };
    let MadeCopy { outcome, run, listener: _listener } =
        copy.make(session, fleet, &mut bars, close)?;
    let path = outcome.path.clone();
    let failed_list = failed_list.map(|list| list.filled(&outcome));
    let ended = end_with(context, spec, &path, &run, &CopyResult::new(&run, outcome));
    // The verdict must not be lost with the list, nor the list with the verdict.
    let listed = failed_list.map_or(Ok(()), |mut list| list.write());
    let exit = ended?;
    listed.map_err(|failure| failure.after(exit)).map(|()| exit)
}

/// Returns whether each entry that changes is named.
fn names_changes(spec: &CopySpec, given: &CopySource) -> Result<bool, Failure> {
    let names = spec.run.names_entries && matches!(given, CopySource::Tree(_));
    if names {
        refuse_to_name_unknown(spec)?;
    }
    Ok(names)
}

/// Refuses to name the entries of a tree that change if that is not known by their status.
///
/// # Errors
/// When -v is given with an option that does not look at the status.
pub fn refuse_to_name_unknown(spec: &CopySpec) -> Result<(), Failure> {
    if spec.run.names_entries && spec.ignores_status() {
        let why =
            "-v names what differs by size and time, not what --whole, --checksum or --verify send";
        return Err(Failure::usage(why).hint("omit -v, or the other option"));
    }
    Ok(())
}
