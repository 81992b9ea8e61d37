//! `garland cp` from nodes: makes the copies, and prints their result.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use garland_copy::gathering::{FromNodes, GatheredSource, LocalEnd, PlannedGather, WantedGather};
use garland_copy::session::{MadeCopy, Session};
use garland_copy::spec::CopySpec;
use garland_core::cluster::target::{self, Target};
use garland_dataplane::tree::Tally;
use garland_fleet::context::Context;
use garland_protocol::copy::Destination;
use garland_results::copy::CopyResult;
use garland_results::head::Phases;
use garland_showing::progress::CopyBars;
use garland_showing::tell::{end_with, save, tell_plans};
use garland_sys::inherited;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

/// Copies `sources` to `destination` on this machine.
pub fn run(
    context: &Context,
    spec: &CopySpec,
    sources: &[FromNodes],
    destination: &OsStr,
) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("cannot catch Ctrl-C")?);
    let to = local_end(destination)?;
    let is_output = matches!(to, LocalEnd::Sink(Destination::Output));
    if is_output {
        inherited::output().or_nothing("cannot copy to standard output")?;
    }
    let (place, wanted) = WantedGather::enter(context, &interrupts, spec, sources, to)?;
    let mut bars = CopyBars::gathering(context, &spec.run);
    let copies = wanted.ask(Session::begin(spec, &place, phases)?, &mut bars)?;
    save(spec, &copies.plans())?;
    if spec.run.names_entries && !context.json {
        copies.sources().try_for_each(|source| tell_source(&source))?;
    }
    if spec.run.is_dry {
        tell_plans(context, &copies.plans())?;
        let exit = tell_absence(context, spec, &copies)?;
        copies.leave();
        return Ok(exit);
    }
    let MadeCopy { outcome, run, .. } = copies.make(&mut bars)?;
    let shown: &[u8] = if is_output { b"-" } else { b"" };
    end_with(context, spec, shown, &run, &CopyResult::new(&run, outcome))
}

/// Names the nodes that have nothing to send, and what the others leave out. Returns the exit code
/// of the copy if nothing else fails.
fn tell_absence(
    context: &Context,
    spec: &CopySpec,
    copies: &PlannedGather<'_>,
) -> Result<Exit, Failure> {
    let tree = copies.tree();
    let names_all = spec.run.names_entries;
    let shown = tree.as_ref().map(|tree| match names_all {
        true => tree.whole_table(),
        false => tree.to_string(),
    });
    match shown {
        // Standard output has the plans.
        Some(table) if context.json => output::warn(table),
        Some(table) => output::print(table)?,
        None => {}
    }
    let mut ok = copies.node_count();
    for failure in copies.failures() {
        garland_terminal::errln!("failed  {}: {}", failure.node, failure.reason);
        ok -= 1;
    }
    let is_whole = tree.is_none_or(|tree| tree.is_whole());
    let all = is_whole && ok >= spec.slow.min_ok.unwrap_or(copies.node_count());
    Ok(Exit::of_work(all, ok > 0, false))
}

/// Prints what is copied from some nodes (`--verbose`).
fn tell_source(source: &GatheredSource) -> Result<(), Failure> {
    let tally = source.tally.map_or_else(String::new, |Tally { files, folders, links }| {
        format!(" ({files} files, {folders} directories, {links} links)")
    });
    output::print(format_args!("copy    {}:{}{tally}\n", source.nodes, source.paths))
}

/// Returns the path or sink on this machine that the destination specifies.
fn local_end(destination: &OsStr) -> Result<LocalEnd<'_>, Failure> {
    match target::parse(destination)? {
        Target::Local(path) if path.as_os_str() == "/dev/null" => {
            Ok(LocalEnd::Sink(Destination::Null))
        }
        Target::Local(_) => Ok(LocalEnd::Path(Path::new(destination))),
        Target::Pipe => Ok(LocalEnd::Sink(Destination::Output)),
        Target::Command(line) if line.trim_ascii().is_empty() => {
            Err(Failure::usage("no command after `|`")
                .hint("specify one, such as garland cp n1:/x '|zstd -d > x'"))
        }
        Target::Command(line) => Ok(LocalEnd::Sink(Destination::Command(line))),
        // Refused already, with the commands that make the copy.
        Target::Nodes { .. } => {
            Err(Failure::usage("one end of a copy must be a path of this machine"))
        }
    }
}
