//! An experiment and its table, of any kind.

use std::fmt;

use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use super::predicted::Prediction;
use super::sections::Kind;
use super::stage::Stage;
use super::{balance, broadcast, copy, farm, pairs, ping, placements, scaling, stripes};
use garland_results::head::Phases;
use garland_terminal::failure::Failure;

/// Evaluates an expression with the value inside an [`Experiment`] or a [`Table`], whatever the
/// variant.
macro_rules! of_each {
    ($value:expr, $one:ident => $done:expr) => {
        match $value {
            Self::Balance($one) => $done,
            Self::Broadcast($one) => $done,
            Self::Copy($one) => $done,
            Self::Farm($one) => $done,
            Self::Pairs($one) => $done,
            Self::Ping($one) => $done,
            Self::Placements($one) => $done,
            Self::Scaling($one) => $done,
            Self::Stripes($one) => $done,
        }
    };
}

/// An experiment, as the sections of its file describe it.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Experiment {
    /// Copies within and between pairs of nodes, over several topologies.
    Balance(Box<balance::Balance>),
    /// A file to several nodes, by several tools.
    Broadcast(broadcast::Broadcast),
    /// A file to one node, over several topologies.
    Copy(copy::CopyExperiment),
    /// Many jobs on a few nodes, over several topologies.
    Farm(Box<farm::Farm>),
    /// Several copies at once between pairs of nodes, over several topologies.
    Pairs(pairs::Pairs),
    /// Small gets between two nodes.
    Ping(ping::Ping),
    /// One list of jobs on nodes of unequal speed, with several placements.
    Placements(placements::Placements),
    /// One list of jobs on a growing number of nodes, forecast from few of them.
    Scaling(scaling::Scaling),
    /// A file to one server in operations, with injected pauses that `garland explain` must find.
    Stripes(stripes::Stripes),
}

/// The part of a file that says the experiment's kind.
#[derive(Deserialize)]
struct Kinds {
    job: KindOfJob,
}

#[derive(Deserialize)]
struct KindOfJob {
    kind: Kind,
}

impl Experiment {
    /// Parses the sections of an experiment out of the scenario file `path`.
    pub fn parse(text: &str, path: &str) -> Result<Self, Failure> {
        let wrong = |error: toml::de::Error| Failure::usage(format!("{path}: {error}"));
        let kinds: Kinds = toml::from_str(text).map_err(wrong)?;
        match kinds.job.kind {
            Kind::Balance => toml::from_str(text).map(Self::Balance),
            Kind::Broadcast => toml::from_str(text).map(Self::Broadcast),
            Kind::Copy => toml::from_str(text).map(Self::Copy),
            Kind::Farm => toml::from_str(text).map(Self::Farm),
            Kind::Pairs => toml::from_str(text).map(Self::Pairs),
            Kind::Ping => toml::from_str(text).map(Self::Ping),
            Kind::Placements => toml::from_str(text).map(Self::Placements),
            Kind::Scaling => toml::from_str(text).map(Self::Scaling),
            Kind::Stripes => toml::from_str(text).map(Self::Stripes),
        }
        .map_err(wrong)
    }

    /// Checks that the experiment can run in these topologies.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
        of_each!(self, experiment => experiment.check(topologies))
    }

    /// Runs the experiment, and records its phases in `phases`.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        match self {
            Self::Balance(one) => one.run(stage, phases).map(Box::new).map(Table::Balance),
            Self::Broadcast(one) => one.run(stage, phases).map(Table::Broadcast),
            Self::Copy(one) => one.run(stage, phases).map(Table::Copy),
            Self::Farm(one) => one.run(stage, phases).map(Box::new).map(Table::Farm),
            Self::Pairs(one) => one.run(stage, phases).map(Table::Pairs),
            Self::Ping(one) => one.run(stage, phases).map(Table::Ping),
            Self::Placements(one) => one.run(stage, phases).map(Table::Placements),
            Self::Scaling(one) => one.run(stage, phases).map(Table::Scaling),
            Self::Stripes(one) => one.run(stage, phases).map(Table::Stripes),
        }
    }
}

/// The measured rows, beside the published figures and the bounds of the wires.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Table {
    /// The table of [`Experiment::Balance`].
    Balance(Box<balance::Table>),
    /// The table of [`Experiment::Broadcast`].
    Broadcast(broadcast::Table),
    /// The table of [`Experiment::Copy`].
    Copy(copy::Table),
    /// The table of [`Experiment::Farm`].
    Farm(Box<farm::Table>),
    /// The table of [`Experiment::Pairs`].
    Pairs(pairs::Table),
    /// The table of [`Experiment::Ping`].
    Ping(ping::Table),
    /// The table of [`Experiment::Placements`].
    Placements(placements::Table),
    /// The table of [`Experiment::Scaling`].
    Scaling(scaling::Table),
    /// The table of [`Experiment::Stripes`].
    Stripes(stripes::Table),
}

impl Table {
    /// The predicted figures beside the emulated ones.
    pub fn predictions(&self) -> Vec<Prediction> {
        of_each!(self, table => table.predictions())
    }

    /// Describes the first result that is out of tolerance; none if all are within it.
    pub fn miss(&self) -> Option<String> {
        of_each!(self, table => table.miss())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        of_each!(self, table => table.fmt(f))
    }
}
