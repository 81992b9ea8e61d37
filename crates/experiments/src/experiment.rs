//! What is done in a scenario, by its kind.

use std::fmt;

use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use super::predicted::Prediction;
use super::sections::Kind;
use super::stage::Stage;
use super::{balance, broadcast, copy, farm, pairs, ping, placements, scaling, stripes};
use garland_commands::result::Phases;
use garland_results::failure::Failure;

/// What is done in topologies, and compared.
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
    /// The same jobs on nodes of unlike speed, dealt out in several ways.
    Placements(placements::Placements),
    /// The same jobs on more and more nodes, forecast from few of them.
    Scaling(scaling::Scaling),
    /// A file to one server in operations, with pauses whose makers are to be found.
    Stripes(stripes::Stripes),
}

/// The part of `[job]` that says which kind it is.
#[derive(Deserialize)]
struct Kinds {
    job: KindOfJob,
}

#[derive(Deserialize)]
struct KindOfJob {
    kind: Kind,
}

impl Experiment {
    /// Reads the experiment's sections of the file `path`; the others were read already.
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

    /// Whether it can be done in these topologies; says why not.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        match self {
            Self::Balance(balance) => balance.check(topologies),
            Self::Broadcast(broadcast) => broadcast.check(topologies),
            Self::Copy(copy) => copy.check(topologies),
            Self::Farm(farm) => farm.check(topologies),
            Self::Pairs(pairs) => pairs.check(topologies),
            Self::Ping(ping) => ping.check(topologies),
            Self::Placements(placements) => placements.check(topologies),
            Self::Scaling(scaling) => scaling.check(topologies),
            Self::Stripes(stripes) => stripes.check(topologies),
        }
    }

    /// Does it, and tells `phases` how long its parts took.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        match self {
            Self::Balance(balance) => {
                let table = balance.run(stage, phases)?;
                Ok(Table::Balance(Box::new(table)))
            }
            Self::Broadcast(broadcast) => broadcast.run(stage, phases).map(Table::Broadcast),
            Self::Copy(copy) => copy.run(stage, phases).map(Table::Copy),
            Self::Farm(farm) => {
                let table = farm.run(stage, phases)?;
                Ok(Table::Farm(Box::new(table)))
            }
            Self::Pairs(pairs) => pairs.run(stage, phases).map(Table::Pairs),
            Self::Ping(ping) => ping.run(stage, phases).map(Table::Ping),
            Self::Placements(placements) => placements.run(stage, phases).map(Table::Placements),
            Self::Scaling(scaling) => scaling.run(stage, phases).map(Table::Scaling),
            Self::Stripes(stripes) => stripes.run(stage, phases).map(Table::Stripes),
        }
    }
}

/// What was measured, beside what was published and what the wires allow.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Table {
    /// Of [`Experiment::Balance`].
    Balance(Box<balance::Table>),
    /// Of [`Experiment::Broadcast`].
    Broadcast(broadcast::Table),
    /// Of [`Experiment::Copy`].
    Copy(copy::Table),
    /// Of [`Experiment::Farm`].
    Farm(Box<farm::Table>),
    /// Of [`Experiment::Pairs`].
    Pairs(pairs::Table),
    /// Of [`Experiment::Ping`].
    Ping(ping::Table),
    /// Of [`Experiment::Placements`].
    Placements(placements::Table),
    /// Of [`Experiment::Scaling`].
    Scaling(scaling::Table),
    /// Of [`Experiment::Stripes`].
    Stripes(stripes::Table),
}

impl Table {
    /// What was predicted, and what came of it.
    pub fn predictions(&self) -> Vec<Prediction> {
        match self {
            Self::Balance(table) => table.predictions(),
            Self::Broadcast(table) => table.predictions(),
            Self::Copy(table) => table.predictions(),
            Self::Farm(table) => table.predictions(),
            Self::Pairs(table) => table.predictions(),
            Self::Ping(table) => table.predictions(),
            // How long a shell's loop takes nobody knows before.
            Self::Placements(_) => Vec::new(),
            Self::Scaling(table) => table.predictions(),
            Self::Stripes(table) => table.predictions(),
        }
    }

    /// The first row that isn't as it should be, and why.
    pub fn miss(&self) -> Option<String> {
        match self {
            Self::Balance(table) => table.miss(),
            Self::Broadcast(table) => table.miss(),
            Self::Copy(table) => table.miss(),
            Self::Farm(table) => table.miss(),
            Self::Pairs(table) => table.miss(),
            Self::Ping(table) => table.miss(),
            Self::Placements(table) => table.miss(),
            Self::Scaling(table) => table.miss(),
            Self::Stripes(table) => table.miss(),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Balance(table) => table.fmt(f),
            Self::Broadcast(table) => table.fmt(f),
            Self::Copy(table) => table.fmt(f),
            Self::Farm(table) => table.fmt(f),
            Self::Pairs(table) => table.fmt(f),
            Self::Ping(table) => table.fmt(f),
            Self::Placements(table) => table.fmt(f),
            Self::Scaling(table) => table.fmt(f),
            Self::Stripes(table) => table.fmt(f),
        }
    }
}
