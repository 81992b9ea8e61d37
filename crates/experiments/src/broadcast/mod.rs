//! One file to several nodes of one topology, by several tools: the table of 2005.

mod pipes;
mod table;

use std::path::Path;

use garland_core::units::bytes;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use super::experiment::{Kind, Stage};
use super::predicted::{self, NEXT_TO_NOTHING};
use super::sections::{Sections, only};
use crate::scenario_lab::ScenarioLab;
use garland_results::head::Phases;
use garland_terminal::failure::Failure;
pub use table::{Row, Table};

/// The name of the file on the nodes.
const NAME: &str = "copy";

/// What is done and compared.
pub type Broadcast = Sections<Job, Tolerance, Published>;

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `broadcast`.
    pub kind: Kind,
    /// The file's length.
    pub bytes: String,
    /// To how many nodes.
    pub receivers: Vec<u32>,
    /// By which tools.
    pub steps: Vec<Tool>,
}

/// What copies the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// The script of 2005, written anew: named pipes, tee and netcat.
    Pipes,
    /// Garland, its agents started for the copy.
    Cold,
    /// Garland with agents that stay.
    Up,
}

impl Tool {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pipes => "pipe script",
            Self::Cold => "garland, cold",
            Self::Up => "garland, up",
        }
    }
}

/// What counts as reproduced.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The most that a copy with agents up may take, as a multiple of the wire's own time.
    pub up_over_limit: f64,
}

/// A row as it was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// To how many nodes.
    pub receivers: u32,
    /// Seconds of the whole command, least and most.
    pub seconds: [f64; 2],
    /// MByte/s of the best.
    pub rate: f64,
}

impl Broadcast {
    /// Whether there are enough nodes, and the length is one.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        bytes::parse(&self.job.bytes).map_err(|error| error.to_string())?;
        let topology = only(topologies, "a broadcast")?;
        let others = topology.nodes.len() - 1;
        let beyond = |some: &&u32| !(1..=others).contains(&(**some as usize));
        match self.job.receivers.iter().find(beyond) {
            Some(some) => Err(format!(
                "a job for {some} receivers, but there are {others} nodes beside the head"
            )),
            None => Ok(()),
        }
    }

    /// Copies by every tool to every number of receivers.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let topology = only(stage.topologies, "a broadcast").map_err(Failure::usage)?;
        let (scale, length) = stage.scaled(&self.job.bytes, 1.0)?;
        let room = length * topology.nodes.len() as u64;
        let Some(goodput) = ScenarioLab::spec(topology).goodput() else {
            let name = &topology.name;
            let problem = format!("{name} has no rate, so nothing to compare with");
            return Err(Failure::usage(problem).hint("give [topology] a `rate`"));
        };
        let nodes: Vec<String> = topology.nodes.iter().map(|node| node.name.clone()).collect();
        let rows = stage.in_lab(topology, room, phases, |bench, phases| {
            let source = bench.random_file("source", length)?;
            let nothing = bench.random_file("nothing", NEXT_TO_NOTHING)?;
            let places: Vec<usize> = (0..nodes.len()).collect();
            phases.end("set-up");
            let mut rows = Vec::new();
            for &tool in &self.job.steps {
                for &receivers in &self.job.receivers {
                    bench.go_on()?;
                    garland_terminal::errln!("{} to {receivers} ...", tool.name());
                    let used = &nodes[..=receivers as usize];
                    let (start_ns, _) = copy(bench, tool, &nothing, used)?;
                    let wires_s =
                        predicted::chain(topology, &places[..=receivers as usize], length)?;
                    let (whole_ns, stream_ns) = copy(bench, tool, &source, used)?;
                    let mut equal = true;
                    for node in &used[1..] {
                        equal &= bench.verify(node, NAME, &source)?;
                    }
                    let (whole_s, stream_s) = (whole_ns as f64 / 1e9, stream_ns as f64 / 1e9);
                    let predicted_s = start_ns as f64 / 1e9 + wires_s;
                    rows.push(Row { tool, receivers, predicted_s, whole_s, stream_s, equal });
                }
            }
            phases.end("copies");
            Ok(rows)
        })?;
        Ok(Table::new(self, topology, (scale, length), goodput / 8.0, rows))
    }

    /// The published row for so many receivers.
    pub fn published(&self, receivers: u32) -> Option<&Published> {
        self.published.iter().find(|row| row.receivers == receivers)
    }
}

/// Copies by one tool from the first of these nodes, the head, to all others; nanoseconds of the
/// whole command and of the stream.
fn copy(
    bench: &ScenarioLab<'_>,
    tool: Tool,
    source: &Path,
    nodes: &[String],
) -> Result<(u64, u64), Failure> {
    let receivers: Vec<String> = nodes[1..].iter().map(|node| format!("lab:{node}")).collect();
    let receivers = receivers.join(",");
    let file = source.to_string_lossy();
    let target = format!("{receivers}:/{NAME}");
    let measure = || {
        let copied = bench.copy(&[&file, &target, "--no-fsync"])?;
        Ok((copied.whole_ns, copied.stream_ns))
    };
    match tool {
        Tool::Pipes => pipes::copy_by_pipes(bench, source, NAME, nodes),
        Tool::Cold => measure(),
        Tool::Up => {
            bench.garland(&["up", &receivers])?;
            let measured = measure();
            bench.garland(&["down", &receivers])?;
            measured
        }
    }
}
