//! Reads back the result of a farm run.

use garland_core::farm::Record;
use serde::Deserialize;

use super::summary::{OneMachine, Summary};
use super::traffic::NicTraffic;
use super::value::SCHEMA;
use garland_results::places::Places;
use garland_results::run::Run;
use garland_terminal::failure::{Failure, OrFailure};

/// A result `garland.farm/2` that was read back.
#[derive(Clone, Debug, Deserialize)]
pub struct FarmReport {
    schema: String,
    /// The run's name.
    pub run: String,
    /// All nodes.
    pub nodes: Vec<NodeReport>,
    /// The figures.
    #[serde(flatten)]
    pub summary: Summary,
    /// The jobs' records.
    pub records: Vec<Record>,
}

/// A node of a [`FarmReport`].
#[derive(Clone, Debug, Deserialize)]
pub struct NodeReport {
    /// The node's name.
    pub name: String,
    /// Power in the unit of the summary.
    pub power: f64,
    /// Number of jobs done.
    pub done: usize,
    /// Traffic of the NICs during the run.
    pub nics: Vec<NicTraffic>,
}

impl FarmReport {
    /// Finds the run that `asked` names, and reads its result.
    pub fn find(places: &Places, asked: &str) -> Result<Self, Failure> {
        let run = Run::find(places, asked, "records.jsonl", "the records of farm jobs")?;
        let path = run.folder().join("result.json");
        let reading = format!("cannot read {}", path.display());
        let text = std::fs::read(&path).or_nothing(&reading)?;
        let report: Self = serde_json::from_slice(&text).or_nothing(&reading)?;
        if report.schema != SCHEMA {
            let (name, schema) = (run.name(), report.schema);
            return Err(Failure::usage(format!(
                "{name} is not a farm run: its result is a {schema}"
            )));
        }
        Ok(Self { run: run.name().to_owned(), ..report })
    }

    /// Converts a run on one machine to the base that a cluster is compared with. Fails unless all of its
    /// jobs are done.
    pub fn as_one_machine(self) -> Result<OneMachine, Failure> {
        let Self { run, nodes, summary, .. } = self;
        if summary.jobs.done < summary.jobs.all {
            return Err(Failure::usage(format!("{run} has not done all of its jobs")));
        }
        let power = nodes.iter().map(|node| node.power).sum();
        Ok(OneMachine { seconds: summary.total, power, run: Some(run) })
    }
}
