//! A run's result, read again.

use std::fs;

use serde::Deserialize;

use crate::result::{OneMachine, SCHEMA, Summary};
use garland_results::places::Places;
use garland_results::run::Run;
use garland_terminal::failure::{Failure, OrFailure};

/// What is read of a `garland.farm/1`.
#[derive(Clone, Debug)]
pub struct FarmReport {
    /// The run's name.
    pub name: String,
    /// What the user called it.
    pub asked: String,
    /// How many nodes it had.
    pub nodes: usize,
    /// What it came to.
    pub summary: Summary,
}

#[derive(Deserialize)]
struct Read {
    schema: String,
    nodes: Vec<ReadNode>,
    #[serde(flatten)]
    summary: Summary,
}

#[derive(Deserialize)]
struct ReadNode {
    power: f64,
}

impl FarmReport {
    /// The run that `asked` names, and what it came to.
    pub fn find(places: &Places, asked: &str) -> Result<Self, Failure> {
        Self::with_power(places, asked).map(|(told, _)| told)
    }

    /// The same, as one machine that a cluster is compared with.
    pub fn one(places: &Places, asked: &str) -> Result<OneMachine, Failure> {
        let (told, power) = Self::with_power(places, asked)?;
        let Self { name, summary, .. } = told;
        if summary.jobs.done < summary.jobs.all {
            return Err(Failure::usage(format!("{name} hasn't done all of its jobs")));
        }
        Ok(OneMachine { seconds: summary.total, power, run: Some(name) })
    }

    fn with_power(places: &Places, asked: &str) -> Result<(Self, f64), Failure> {
        let run = Run::find(places, asked, "records.jsonl", "a farm's records")?;
        let path = run.folder().join("result.json");
        let reading = format!("reading {}", path.display());
        let text = fs::read(&path).or_nothing(&reading)?;
        let read: Read = serde_json::from_slice(&text).or_nothing(&reading)?;
        if read.schema != SCHEMA {
            let (name, schema) = (run.name(), read.schema);
            return Err(Failure::usage(format!("{name} is no farm's run but a {schema}")));
        }
        let power = read.nodes.iter().map(|node| node.power).sum();
        let told = Self {
            name: run.name().to_owned(),
            asked: asked.to_owned(),
            nodes: read.nodes.len(),
            summary: read.summary,
        };
        Ok((told, power))
    }
}
