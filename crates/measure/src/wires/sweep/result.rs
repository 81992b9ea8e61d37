//! The result object of `garland wires --sweep`: `garland.wires-sweep/2`.

use std::collections::BTreeMap;

use garland_analysis::conditions::Conditions;
use garland_results::head::{Head, NodeEnd, NodeVerdict};
use garland_terminal::failure::Exit;
use serde::Serialize;

use super::groups::Group;
use crate::wires::measured::{FailedPair, Measured};

/// The schema of the result, with its version.
pub const SCHEMA: &str = "garland.wires-sweep/2";

/// The result object `garland.wires-sweep/2`.
#[derive(Serialize)]
pub struct SweepResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The nodes, in the order of the node list.
    pub nodes: Vec<NodeResult>,
    /// For each kind of wire, its pairs.
    pub wires: Vec<WireResult>,
    /// The measured points, in order.
    pub points: Vec<PointResult>,
    /// The pairs that were left out, with the reasons.
    pub failed: Vec<FailedPair>,
    /// The circumstances of the measurement.
    #[serde(flatten)]
    pub measured: Measured,
}

/// The result of one node.
#[derive(Serialize)]
pub struct NodeResult {
    pub name: String,
    #[serde(flatten)]
    pub end: NodeEnd,
    /// Conditions that may influence rates, as names and values.
    pub conditions: Conditions,
}

/// A kind of wire and its pairs.
#[derive(Serialize)]
pub struct WireResult {
    /// The kind of wire: `local`, `remote`, or `any` if unknown.
    pub wire: &'static str,
    /// The sender and the receiver of each pair. A measurement of n pairs uses the first n.
    pub pairs: Vec<[String; 2]>,
}

/// The payload rates of a number of pairs at once, in bytes per second.
#[derive(Serialize)]
pub struct PointResult {
    pub wire: &'static str,
    /// The maximum packet size in bytes.
    pub packet: u16,
    /// The number of pairs measured at once.
    pub pairs: usize,
    /// The sum of the rates of all pairs.
    pub rate: f64,
    /// The rate of the slowest pair.
    pub lowest: f64,
    /// The rate that the wires allow to all pairs together; none if unknown.
    pub bound: Option<f64>,
}

impl NodeResult {
    /// Returns the results of all nodes. For each node, `absent` has the error if it has no agent.
    pub fn all(
        names: &[&str],
        absent: &[Option<String>],
        mut conditions: BTreeMap<usize, Conditions>,
    ) -> Vec<Self> {
        let node = |(at, name): (usize, &&str)| Self {
            name: (*name).to_owned(),
            end: NodeEnd::new(NodeVerdict::Failed, absent[at].clone()),
            conditions: conditions.remove(&at).unwrap_or_default(),
        };
        names.iter().enumerate().map(node).collect()
    }
}

impl WireResult {
    /// Creates the entry of a group; `names` are the names of all nodes.
    pub fn new(group: &Group, names: &[&str]) -> Self {
        let pairs = group.pairs.iter().map(|pair| pair.nodes().map(|node| names[node].to_owned()));
        Self { wire: group.wire, pairs: pairs.collect() }
    }
}

impl PointResult {
    /// Creates the point of the pairs with these `rates`.
    pub fn new(wire: &'static str, packet: u16, rates: &[f64], bound: Option<f64>) -> Self {
        let lowest = rates.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0);
        Self { wire, packet, pairs: rates.len(), rate: rates.iter().sum(), lowest, bound }
    }
}

impl SweepResult {
    /// Returns the exit code of the command, which depends on failed nodes and pairs, and on an
    /// interrupt.
    pub fn exit(&self) -> Exit {
        let any = !self.points.is_empty();
        let whole = self.failed.is_empty() && self.nodes.iter().all(|node| node.end.is_ok());
        Exit::of_work(any && whole, any, self.measured.interrupted)
    }
}
