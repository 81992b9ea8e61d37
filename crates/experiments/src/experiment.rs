//! What is done in a scenario, by its kind.

use std::fmt;

use garland_core::units::bytes;
use garland_sys::signal::Interrupts;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use super::predicted::Prediction;
use super::{balance, broadcast, copy, farm, pairs, ping, placements, scaling, stripes};
use crate::scenario_lab::ScenarioLab;
use garland_results::head::Phases;
use garland_results::run::Run;
use garland_terminal::failure::Failure;

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

/// The kinds, by the names they have in a file's `[job]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// [`Experiment::Balance`].
    Balance,
    /// [`Experiment::Broadcast`].
    Broadcast,
    /// [`Experiment::Copy`].
    Copy,
    /// [`Experiment::Farm`].
    Farm,
    /// [`Experiment::Pairs`].
    Pairs,
    /// [`Experiment::Ping`].
    Ping,
    /// [`Experiment::Placements`].
    Placements,
    /// [`Experiment::Scaling`].
    Scaling,
    /// [`Experiment::Stripes`].
    Stripes,
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

/// What an experiment is run with.
pub struct Stage<'a> {
    /// The run, whose folder everything is in.
    pub run: &'a Run,
    /// What is emulated, one after the other.
    pub topologies: &'a [Topology],
    /// The file's length as a share of the published one; the scenario's own without one.
    pub scale: Option<f64>,
    /// Requests to end, which are held back while a lab is up.
    pub interrupts: &'a Interrupts,
}

impl Stage<'_> {
    /// What share of a published file is copied, `usual` unless the user says another, and its length.
    pub fn scaled(&self, bytes: &str, usual: f64) -> Result<(f64, u64), Failure> {
        let scale = self.scale.unwrap_or(usual);
        let length = bytes::parse(bytes).map_err(Failure::usage)?;
        Ok((scale, ((length as f64 * scale) as u64).max(1)))
    }

    /// Builds the lab of a topology with room for so many bytes, has `work` done in it, which ends
    /// its own phases, and takes the lab down.
    pub fn in_lab<T>(
        &self,
        topology: &Topology,
        room: u64,
        phases: &mut Phases,
        work: impl FnOnce(&ScenarioLab<'_>, &mut Phases) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let bench =
            ScenarioLab::build(self.run, self.interrupts, ScenarioLab::spec(topology), room)?;
        let done = work(&bench, phases)?;
        bench.end()?;
        phases.end("teardown");
        Ok(done)
    }
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
