//! The sections that the files of all experiments have.

use std::fmt;

use garland_analysis::grade::EmulationError;
use garland_terminal::failure::Failure;
use garland_topology::{NodeId, Topology, bounds};
use serde::{Deserialize, Serialize};

use crate::judged::Account;
use crate::line::{Constant, Law, Line};

/// A kind of experiment, by its name in `[job]`; see `Experiment` for descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Balance,
    Broadcast,
    Copy,
    Farm,
    Moves,
    Pairs,
    Ping,
    Placements,
    Scaling,
    Stripes,
}

/// The sections of an experiment's file; each kind of experiment has its own types for them.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Sections<Job, Row> {
    /// The job to run.
    pub job: Job,
    /// By how much the emulation may be wrong, and how that is known.
    pub emulation: EmulationError,
    /// The published figures that the job measures; empty if the file has none.
    #[serde(default = "Vec::new")]
    pub published: Vec<Row>,
    /// The published statements, each with the measurements that grade it; empty if the file has
    /// none.
    #[serde(default)]
    pub statement: Vec<Line>,
    /// The constants of the lab that were fitted on published figures; empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constant: Vec<Constant>,
    /// The laws that compute what the lab has not; empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub law: Vec<Law>,
}

impl<Job, Row> Sections<Job, Row> {
    /// Returns what the file of the scenario `name` says about statements and their grades.
    pub fn account<'a>(&'a self, name: &'a str) -> Account<'a> {
        Account {
            scenario: name,
            lines: &self.statement,
            constants: &self.constant,
            laws: &self.law,
            error: &self.emulation,
        }
    }
}

/// Returns whether every flow of a topology has a route whose wires have rates.
pub fn are_rated(topology: &Topology, flows: &[(NodeId, NodeId)]) -> bool {
    bounds::max_min(topology, flows).iter().all(|bound| bound.is_finite() && *bound > 0.0)
}

/// Finds the node `name` in a topology; an error if there is none.
pub fn place(topology: &Topology, name: &str) -> Result<NodeId, Failure> {
    match topology.node(name) {
        Some(node) => Ok(node),
        None => refuse(format!("{} has no node {name}", topology.name)),
    }
}

/// Finds the node `name`. It must not be the head, and the head must reach it over wires with
/// rates.
pub fn reached(topology: &Topology, name: &str) -> Result<NodeId, Failure> {
    match place(topology, name)? {
        node if node > 0 && are_rated(topology, &[(0, node)]) => Ok(node),
        _ => {
            let topology = &topology.name;
            refuse(format!("{topology} has no wire with a rate from its head to {name}"))
        }
    }
}

/// Returns the single element of `topologies`; an error if there are more. `what` names the kind of
/// experiment in the error.
pub fn only<'t>(topologies: &'t [Topology], what: &str) -> Result<&'t Topology, Failure> {
    match topologies {
        [topology] => Ok(topology),
        _ => refuse(format!("{what} must have exactly one topology")),
    }
}

/// Returns the error that `problem` is wrong with the file of a scenario.
pub fn refuse<T>(problem: impl fmt::Display) -> Result<T, Failure> {
    Err(Failure::usage(problem))
}
