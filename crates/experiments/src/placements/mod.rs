//! The same jobs on nodes of unlike speed, dealt out in several ways: as rooms get free, and all at
//! once.

mod table;

use std::collections::BTreeMap;

use garland_core::cluster::nodelist::fold;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use super::experiment::{Kind, Stage};
use super::sections::{Sections, only, place};
use crate::scenario_lab::ScenarioLab;
use garland_farm::result::Summary;
use garland_results::head::Phases;
use garland_terminal::failure::{Failure, OrFailure};
pub use table::{Row, Table};

/// The names that `garland farm run --placement` knows.
const KNOWN: [&str; 3] = ["pull", "turns", "mosix"];

/// The one that knows nothing of nodes and of how they stand.
const TURNS: &str = "turns";

/// The one that goes by cost.
const COST: &str = "mosix";

/// What is done and compared.
pub type Placements = Sections<Job, Tolerance, Published>;

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `placements`.
    pub kind: Kind,
    /// The nodes that work.
    pub nodes: Vec<String>,
    /// The placements, by their names.
    pub placements: Vec<String>,
    /// Turns of a shell's loop that the shortest job takes, unless `--scale` says another share of them.
    pub loops: u64,
    /// How many times that jobs take, one after another and from the beginning again.
    pub lengths: Vec<u64>,
    /// How many jobs.
    pub jobs: usize,
}

/// What counts as it should be.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The least share of what whole jobs allow that the best placement comes to, as rooms get free.
    pub of_bound: f64,
    /// The least factor by which the time in turn is above that by cost.
    pub turns: f64,
}

/// A figure as it was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Of which placement.
    pub placement: String,
    /// The mean slowdown.
    pub slowdown: f64,
}

/// What is read of a `garland.farm/1`.
#[derive(Deserialize)]
struct Report {
    run: String,
    nodes: Vec<NodeTold>,
    #[serde(flatten)]
    summary: Summary,
}

#[derive(Deserialize)]
struct NodeTold {
    name: String,
    done: usize,
}

impl Placements {
    /// Whether nodes and placements are there, and there are jobs.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        let topology = only(topologies, "a comparison of placements")?;
        let job = &self.job;
        job.nodes.iter().try_for_each(|node| place(topology, node).map(drop))?;
        if let Some(other) = job.placements.iter().find(|name| !KNOWN.contains(&name.as_str())) {
            return Err(format!("there is no placement {other}; there are {}", KNOWN.join(", ")));
        }
        if [TURNS, COST].iter().any(|wanted| job.placements.iter().all(|name| name != wanted)) {
            return Err(format!("`placements` has {TURNS} and {COST}, which are compared"));
        }
        if job.nodes.is_empty() || job.jobs == 0 || job.loops == 0 || job.lengths.contains(&0) {
            return Err("`nodes`, `jobs`, `loops` and `lengths` are one at least".to_owned());
        }
        if job.lengths.is_empty() {
            return Err("`lengths` names none".to_owned());
        }
        match self.published.iter().find(|row| !job.placements.contains(&row.placement)) {
            Some(row) => Err(format!("{} is published but not run", row.placement)),
            None => Ok(()),
        }
    }

    /// Runs the jobs by each placement, in both ways.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let topology = &stage.topologies[0];
        stage.in_lab(topology, 1 << 20, phases, |bench, phases| {
            let list = bench.folder().join("jobs");
            std::fs::write(&list, self.list(stage.scale.unwrap_or(1.0)))
                .or_nothing(format!("writing {}", list.display()))?;
            phases.end("set-up");
            let mut rows = Vec::new();
            for at_once in [false, true] {
                for placement in &self.job.placements {
                    let how = if at_once { "all at once" } else { "as rooms get free" };
                    garland_terminal::errln!("{placement}, {how} ...");
                    rows.push(self.farm(bench, placement, at_once, &list.to_string_lossy())?);
                }
            }
            phases.end("jobs");
            Ok(Table::new(self, rows))
        })
    }

    /// The list of jobs: loops of a shell, which need nothing but a processor.
    fn list(&self, scale: f64) -> String {
        let loops = ((self.job.loops as f64 * scale) as u64).max(1);
        let lengths = self.job.lengths.iter().cycle().take(self.job.jobs);
        let line = |length: &u64| {
            let turns = loops.saturating_mul(*length);
            format!("i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done\n")
        };
        lengths.map(line).collect()
    }

    fn farm(
        &self,
        bench: &ScenarioLab<'_>,
        placement: &str,
        at_once: bool,
        list: &str,
    ) -> Result<Row, Failure> {
        bench.go_on()?;
        let names: Vec<String> = self.job.nodes.iter().map(|name| format!("lab:{name}")).collect();
        let nodes = fold(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let mut words = vec!["farm", "run", list, &nodes, "--slots", "1"];
        words.extend(["--placement", placement]);
        words.extend(at_once.then_some("--all-at-once"));
        let Report { run, nodes, summary } = bench.ask_of_any(&words)?;
        if let Some(failed) = summary.jobs.failures.first() {
            let (job, reason) = (failed.job, &failed.reason);
            return Err(Failure::nothing(format!("{placement}: job {job}: {reason}")));
        }
        let done: BTreeMap<String, usize> =
            nodes.into_iter().map(|node| (node.name, node.done)).collect();
        Ok(Row {
            placement: placement.to_owned(),
            at_once,
            seconds: summary.total,
            bound_s: summary.losses.map(|losses| losses.whole_jobs),
            slowdown: summary.slowdown,
            spread: summary.spread,
            done: names.iter().map(|name| done.get(name).copied().unwrap_or(0)).collect(),
            run,
        })
    }

    /// The published figure of a placement.
    fn published(&self, placement: &str) -> Option<&Published> {
        self.published.iter().find(|row| row.placement == placement)
    }
}
