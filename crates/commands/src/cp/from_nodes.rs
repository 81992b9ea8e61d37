//! `garland cp` from nodes: makes the copies, and prints their result.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_copy::gathering::{GatheredSource, LocalEnd, PlannedGather};
use garland_copy::spec::CopySpec;
use garland_core::cluster::target::{self, Target};
use garland_core::printable;
use garland_dataplane::Tally;
use garland_fleet::context::Context;
use garland_protocol::copy::Destination;
use garland_showing::progress::CopyBars;
use garland_showing::tell::{save, tell, tell_plans};
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::output;

use super::on_nodes;

/// Copies `path` from the nodes of `list` to `destination` on this machine.
pub fn run(
    context: &Context,
    spec: &CopySpec,
    list: &str,
    path: &Path,
    destination: &OsStr,
) -> Result<Exit, Failure> {
    let to = local_end(destination)?;
    let is_output = matches!(to, LocalEnd::Sink(Destination::Output));
    let hinted = |reason| {
        on_nodes::with_pattern_hint(reason, list, path.as_os_str().as_bytes(), destination)
    };
    let copies = PlannedGather::new(spec, context, list, path, to, hinted)?;
    save(spec, &copies.plans())?;
    if spec.run.names_entries && !context.json {
        copies.sources().try_for_each(|source| tell_source(&source, path))?;
    }
    if spec.run.is_dry {
        tell_plans(context, &copies.plans())?;
        copies.leave();
        return Ok(Exit::Done);
    }
    let result = copies.make(&mut CopyBars::gathering(context, &spec.run))?;
    let shown: &[u8] = if is_output { b"-" } else { b"" };
    let exit = result.exit(spec.slow.min_ok);
    tell(context, spec, shown, &result).map_err(|failure| failure.after(exit))?;
    Ok(exit)
}

/// Prints what is copied from some nodes (`--verbose`).
fn tell_source(source: &GatheredSource, path: &Path) -> Result<(), Failure> {
    let tally = source.tally.map_or_else(String::new, |Tally { files, folders, links }| {
        format!(" ({files} files, {folders} directories, {links} links)")
    });
    output::print(format_args!("copy    {}:{}{tally}\n", source.nodes, printable::path(path)))
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
        Target::Nodes { .. } => {
            let shown = destination.to_string_lossy();
            let message = "one end of a copy must be a path of this machine";
            Err(Failure::usage(message)
                .hint(format!("to specify a file on this machine, write ./{shown}")))
        }
    }
}
