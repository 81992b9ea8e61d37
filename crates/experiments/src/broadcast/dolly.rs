//! A chain that begins and ends as dolly 0.57 does, in the words of its source (`dolly.c`): what it
//! counts, and what it does not.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use garland_lab::Lab;
use garland_sys::{clock, signal};
use garland_terminal::failure::{Failure, OrFailure};

use super::parts::{await_end, start_from_tail};
use crate::scenario_lab::ScenarioLab;

/// The program of the chain.
const PROGRAM: &str = include_str!("../../../../bench/peers/dolly.pl");

/// The ports of dolly: that of data, and that of control.
const DATA_PORT: &str = "9998";
const CONTROL_PORT: &str = "9997";

/// Copies `source` from the first of `nodes`, the head, to all others, where the file is named
/// `name`. Returns the nanoseconds of the head's command, as `time` showed it, and those of the
/// transfer, as dolly reports it. The other nodes' programs run before, as they did.
pub fn copy_by_dolly(
    lab: &ScenarioLab<'_>,
    source: &Path,
    name: &str,
    nodes: &[String],
) -> Result<(u64, u64), Failure> {
    let inner = lab.lab()?;
    let parts = start_from_tail(inner, nodes, name, CONTROL_PORT, |node, file, next| {
        start(inner, node, "node", file, next)
    })?;
    let first = inner.address(&nodes[1]).map_err(Failure::nothing)?.to_string();
    let began = clock::now_ns();
    let mut head = start(inner, &nodes[0], "head", source, &first)?;
    let told = head.stdout.take();
    await_end(lab, head, "dolly's chain", began)?;
    let whole_ns = clock::now_ns() - began;
    for child in parts {
        await_end(lab, child, "dolly's chain", began)?;
    }
    let mut text = String::new();
    if let Some(mut told) = told {
        told.read_to_string(&mut text).or_nothing("cannot read what dolly's chain reports")?;
    }
    let seconds = text.lines().find_map(|line| line.strip_prefix("Time: ")?.parse::<f64>().ok());
    let seconds = seconds
        .ok_or_else(|| Failure::nothing(format!("dolly's chain reports no time: {text}")))?;
    Ok((whole_ns, (seconds * 1e9) as u64))
}

fn start(lab: &Lab, node: &str, role: &str, file: &Path, next: &str) -> Result<Child, Failure> {
    let mut command: Command = lab.command(node, "perl").map_err(Failure::nothing)?;
    command.args(["-e", PROGRAM, "--", role]).arg(file).args([next, DATA_PORT, CONTROL_PORT]);
    let disk = lab.disk(node).map_err(Failure::nothing)?;
    command.args(disk.map(|rate| rate.to_string()));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    signal::release_in(&mut command);
    command.spawn().or_nothing("cannot start dolly's chain")
}
