//! One file to several nodes of one topology, by several tools: the table of 2005.

mod condition;
mod dolly;
mod job;
mod parts;
mod pipes;
mod shares;
mod table;
#[cfg(test)]
mod tests;

use std::path::Path;

use garland_core::units::bytes;
use garland_results::head::Phases;
use garland_terminal::failure::Failure;
use garland_topology::Topology;

use super::predicted::{self, NEXT_TO_NOTHING};
use super::sections::only;
use super::stage::Stage;
use crate::scenario_lab::ScenarioLab;
use condition::Setting;
pub use job::{Broadcast, Tool};
pub use table::Table;
use table::{Common, Row};
#[cfg(test)]
pub use tests::ideal;

/// The name of the file on the nodes.
const NAME: &str = "copy";

impl Broadcast {
    /// Runs the experiment: copies the file with every tool to every number of receivers.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let topology = only(stage.topologies, "a broadcast")?;
        let size = stage.scaled(&self.job.bytes, 1.0)?;
        let length = size.bytes;
        let room = length * topology.nodes.len() as u64;
        let Some(goodput) = ScenarioLab::spec(topology).goodput() else {
            let name = &topology.name;
            let problem = format!("topology {name} has no rate to compare a broadcast with");
            return Err(Failure::usage(problem).hint("add a `rate` to [topology]"));
        };
        let mut rows = stage.in_lab(topology, room, phases, |lab, phases| {
            self.rows(lab, topology, None, length, phases)
        })?;
        let mut refused = Vec::new();
        for setting in self.settings()? {
            stage.go_on()?;
            let topology = setting.applied(topology);
            match stage.lab(&topology, room) {
                Ok(lab) => {
                    rows.extend(self.rows(&lab, &topology, Some(&setting), length, phases)?);
                    lab.end()?;
                    phases.end("teardown");
                }
                Err(failure) => {
                    let name = setting.condition().name();
                    refused.push(format!("{name} is not in the lab: {}", failure.message()));
                }
            }
        }
        let limit_s = length as f64 / (goodput / 8.0);
        let common = Common { media: media(topology), size, limit_s, refused };
        Ok(Table::new(self, common, rows))
    }

    /// Copies in a lab of a topology: with every tool, or only the one that a condition of the
    /// time changes, if one is in it.
    fn rows(
        &self,
        lab: &ScenarioLab<'_>,
        topology: &Topology,
        setting: Option<&Setting>,
        length: u64,
        phases: &mut Phases,
    ) -> Result<Vec<Row>, Failure> {
        let nodes: Vec<String> = topology.nodes.iter().map(|node| node.name.clone()).collect();
        let source = lab.random_file("source", length)?;
        let nothing = lab.random_file("nothing", NEXT_TO_NOTHING)?;
        let short = self.job.short.as_ref().map(|text| {
            let length = bytes::parse(text).map_err(Failure::usage)?;
            lab.random_file("short", length)
        });
        let short = short.transpose()?;
        let places: Vec<usize> = (0..nodes.len()).collect();
        let processors = lab.processors()?;
        phases.end("set-up");
        let with = setting.map(|setting| setting.condition().name().to_owned());
        let is_run = |tool: &&Tool| setting.is_none_or(|setting| tool.is_changed_by(setting));
        let mut rows = Vec::new();
        for &tool in self.job.steps.iter().filter(is_run) {
            for receivers in self.receivers(tool) {
                lab.go_on()?;
                let words = with.as_ref().map_or_else(String::new, |with| format!(", {with}"));
                garland_terminal::errln!("{} to {receivers}{words} ...", tool.name());
                let used = &nodes[..=receivers as usize];
                let (start_ns, _) = copy(lab, tool, &nothing, used)?;
                let chain = &places[..=receivers as usize];
                let wires_s = predicted::chain(topology, processors, chain, length)?;
                let ((whole_ns, stream_ns), busy) = lab.watch(|| copy(lab, tool, &source, used))?;
                let mut equal = true;
                for node in &used[1..] {
                    equal &= lab.verify(node, NAME, &source)?;
                }
                let is_garland = matches!(tool, Tool::Cold | Tool::Up);
                let short_s = match short.as_ref().filter(|_| is_garland) {
                    Some(short) => {
                        let (short_ns, _) = copy(lab, tool, short, used)?;
                        for node in &used[1..] {
                            equal &= lab.verify(node, NAME, short)?;
                        }
                        Some(short_ns as f64 / 1e9)
                    }
                    None => None,
                };
                let whole_s = whole_ns as f64 / 1e9;
                let stream_s = stream_ns as f64 / 1e9;
                let sync_s = synced_s(tool, topology, length);
                let predicted_s = start_ns as f64 / 1e9 + wires_s + sync_s;
                let with = with.clone();
                rows.push(Row {
                    tool,
                    receivers,
                    with,
                    predicted_s,
                    whole_s,
                    stream_s,
                    short_s,
                    busy,
                    equal,
                });
            }
        }
        phases.end("copies");
        Ok(rows)
    }
}

/// Copies with one tool from the first of `nodes`, the head, to all others. Returns the nanoseconds
/// of the whole command, and those of the stream alone.
fn copy(
    lab: &ScenarioLab<'_>,
    tool: Tool,
    source: &Path,
    nodes: &[String],
) -> Result<(u64, u64), Failure> {
    let receivers: Vec<String> = nodes[1..].iter().map(|node| format!("lab:{node}")).collect();
    let receivers = receivers.join(",");
    let file = source.to_string_lossy();
    let target = format!("{receivers}:/{NAME}");
    let measure = || {
        let copied = lab.copy(&[&file, &target, "--no-fsync"])?;
        Ok((copied.whole_ns, copied.stream_ns))
    };
    match tool {
        Tool::Pipes => pipes::copy_by_pipes(lab, source, NAME, nodes),
        Tool::Dolly => dolly::copy_by_dolly(lab, source, NAME, nodes),
        Tool::Cold => measure(),
        Tool::Up => {
            lab.garland(&["up", &receivers])?;
            let measured = measure();
            lab.garland(&["down", &receivers])?;
            measured
        }
    }
}

/// Returns the seconds that the slowest disk needs for a `sync` of the file, which ends dolly's
/// chain.
fn synced_s(tool: Tool, topology: &Topology, length: u64) -> f64 {
    let disks = topology.nodes.iter().skip(1).filter_map(|node| node.disk);
    let seconds = disks.map(|rate| length as f64 / rate.bytes_per_second());
    if tool == Tool::Dolly { seconds.fold(0.0, f64::max) } else { 0.0 }
}

/// Returns a short description of the network, such as `switch at 12.5 MB/s (0.100 Gbit/s)` or `8
/// media`.
fn media(topology: &Topology) -> String {
    match &topology.media[..] {
        [one] => {
            one.rate.map_or_else(|| one.name.clone(), |rate| format!("{} at {rate}", one.name))
        }
        all => format!("{} media", all.len()),
    }
}
