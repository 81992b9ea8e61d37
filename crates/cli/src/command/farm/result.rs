//! What a run of jobs has come to: `garland.farm/1`.

use std::fmt;

use garland_core::farm::Record;
use garland_core::units::bytes;
use serde::Serialize;

use super::driver::{Ending, NodeWas};
use super::settings::Settings;
use crate::args::{DataName, EngineName, PlacementName};
use crate::failure::Exit;
use crate::result::{Head, NodeEnd, Phases};
use crate::run::Run;
use crate::ui::verdicts::folded;

/// Jobs that are named as failed, at most.
const NAMED: usize = 20;

/// The result object `garland.farm/1`.
#[derive(Serialize)]
pub struct FarmResult {
    #[serde(flatten)]
    head: Head,
    engine: EngineName,
    placement: PlacementName,
    data: DataName,
    all_at_once: bool,
    /// From the run's beginning to the end of its last job, in seconds.
    total: f64,
    /// Jobs in the list.
    jobs: usize,
    done: usize,
    failed: usize,
    /// Jobs that nothing became of, since the run was ended before.
    open: usize,
    interrupted: bool,
    nodes: Vec<NodeResult>,
    records: Vec<Record>,
}

#[derive(Serialize)]
struct NodeResult {
    name: String,
    #[serde(flatten)]
    end: NodeEnd,
    cores: Option<u32>,
    memory: Option<u64>,
    mhz: Option<f64>,
    /// Jobs that it has done.
    done: usize,
}

impl FarmResult {
    /// Of a run whose jobs became these `records`.
    pub fn new(
        run: &Run,
        settings: &Settings,
        phases: Phases,
        ending: &Ending,
        records: Vec<Record>,
    ) -> Self {
        let done = records.iter().filter(|record| record.outcome.is_done()).count();
        let node = |was: &NodeWas| NodeResult {
            name: was.name.clone(),
            end: NodeEnd::new("dead", was.gone.clone()),
            cores: was.cores,
            memory: was.memory,
            mhz: was.mhz,
            done: records
                .iter()
                .filter(|it| it.outcome.is_done() && it.node.as_ref() == Some(&was.name))
                .count(),
        };
        let ends = records.iter().filter_map(|record| record.staged_out.or(record.ended));
        Self {
            head: Head::new("garland.farm/1", Some(run), phases),
            engine: settings.engine,
            placement: settings.placement,
            data: settings.data,
            all_at_once: settings.all_at_once,
            total: ends.fold(0.0, f64::max),
            jobs: settings.jobs,
            done,
            failed: records.len() - done,
            open: settings.jobs.saturating_sub(records.len()),
            interrupted: ending.interrupted,
            nodes: ending.nodes.iter().map(node).collect(),
            records,
        }
    }

    /// How the command ends.
    pub fn exit(&self) -> Exit {
        match self {
            _ if self.interrupted => Exit::Interrupted,
            _ if self.done == self.jobs => Exit::Done,
            _ if self.done == 0 => Exit::Nothing,
            _ => Exit::SomeFailed,
        }
    }
}

impl fmt::Display for FarmResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrong = self.records.iter().filter(|record| !record.outcome.is_done());
        for record in wrong.clone().take(NAMED) {
            let node = record.node.as_deref().unwrap_or("no node");
            let tries = if record.tries == 1 { "try" } else { "tries" };
            let Record { job, name, outcome, tries: count, .. } = record;
            writeln!(f, "failed  job {job} ({name}) on {node}: {outcome} ({count} {tries})")?;
        }
        if self.failed > NAMED {
            writeln!(f, "failed  {} more", self.failed - NAMED)?;
        }
        let nodes = self.nodes.iter().filter(|node| !node.end.is_ok());
        write!(f, "{}", folded(nodes.map(|node| node.end.of(&node.name))))?;
        let cpu: f64 = self.records.iter().filter_map(|record| record.cpu).sum();
        let moved: u64 = self.records.iter().map(|record| record.bytes_in + record.bytes_out).sum();
        write!(f, "{} of {} jobs done in {:.2} s", self.done, self.jobs, self.total)?;
        writeln!(f, ", {cpu:.2} s of CPU, {} of files", bytes::format(moved))?;
        if let (Some(run), true) = (&self.head.run, self.open > 0) {
            writeln!(f, "to go on: garland farm run --resume {run}")?;
        }
        writeln!(f, "run     {}", self.head.run.as_deref().unwrap_or_default())
    }
}
