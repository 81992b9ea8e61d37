//! A chain of named pipes, tee and netcat, like the script of 2005.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use garland_lab::Lab;
use garland_sys::{clock, signal};
use garland_terminal::failure::{Failure, OrFailure};

use super::parts::{await_end, start_from_tail};
use crate::scenario_lab::ScenarioLab;

/// The script of the chain. The benchmarks use it as well.
const SCRIPT: &str = include_str!("../../../../bench/peers/pipes.sh");

const PORT: &str = "7002";

/// Copies `source` from the first of `nodes`, the head, to all others, where the file is named
/// `name`. Returns the nanoseconds of the whole command, and those of the transfer alone.
pub fn copy_by_pipes(
    lab: &ScenarioLab<'_>,
    source: &Path,
    name: &str,
    nodes: &[String],
) -> Result<(u64, u64), Failure> {
    let inner = lab.lab()?;
    inner.pace(false).map_err(Failure::nothing)?;
    let started = clock::now_ns();
    let mut pipes = Vec::new();
    // netcat connects as soon as it starts, so its successor must listen by then.
    let mut parts = start_from_tail(inner, nodes, name, PORT, |node, file, next| {
        if next != "-" {
            let pipe = file.with_extension("pipe");
            pipes.push(inner.pipe(node, &pipe).map_err(Failure::nothing)?);
        }
        start(inner, node, "node", file, next)
    })?;
    inner.pace(true).map_err(Failure::nothing)?;
    let first = inner.address(&nodes[1]).map_err(Failure::nothing)?.to_string();
    let stream = clock::now_ns();
    parts.push(start(inner, &nodes[0], "head", source, &first)?);
    for child in parts {
        await_end(lab, child, "the pipe script", stream)?;
    }
    let ended = clock::now_ns();
    Ok((ended - started, ended - stream))
}

fn start(lab: &Lab, node: &str, role: &str, file: &Path, next: &str) -> Result<Child, Failure> {
    let mut command: Command = lab.command(node, "/bin/bash").map_err(Failure::nothing)?;
    command.args(["-c", SCRIPT, "pipes.sh", role]).arg(file).args([next, PORT]);
    let block = lab.vintage(node).map_err(Failure::nothing)?.block;
    command.args(block.map(|block| block.to_string()));
    command.stdin(Stdio::null());
    signal::release_in(&mut command);
    command.spawn().or_nothing("cannot start the pipe script")
}
