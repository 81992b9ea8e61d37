//! The result object of `garland wires --sweep`: `garland.wires-sweep/2`.

use std::collections::BTreeMap;

use garland_analysis::conditions::Conditions;
use serde::Serialize;

use super::groups::Group;
use crate::wires::measured::{FailedPair, Measured};
use garland_results::head::{Head, NodeEnd, NodeVerdict};
use garland_terminal::failure::Exit;

/// The schema of the result: kind and version.
pub const SCHEMA: &str = "garland.wires-sweep/2";

/// The result object `garland.wires-sweep/2`.
#[derive(Serialize)]
pub struct SweepResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The nodes.
    pub nodes: Vec<NodeResult>,
    /// The kinds of wire, and the pairs of each.
    pub wires: Vec<WireResult>,
    /// The measured points.
    pub points: Vec<PointResult>,
    /// Pairs that were left out.
    pub failed: Vec<FailedPair>,
    /// The circumstances of the measurement.
    #[serde(flatten)]
    pub measured: Measured,
}

/// A node.
#[derive(Serialize)]
pub struct NodeResult {
    pub name: String,
    #[serde(flatten)]
    pub end: NodeEnd,
    /// Conditions that may influence rates, as names and values.
    pub conditions: Conditions,
}

/// A kind of wire, and its pairs.
#[derive(Serialize)]
pub struct WireResult {
    /// `local`, `remote` or `any`.
    pub wire: &'static str,
    /// Sender and receiver; a measurement of n pairs uses the first n.
    pub pairs: Vec<[String; 2]>,
}

/// A number of pairs at once; rates are bytes of payload per second.
#[derive(Serialize)]
pub struct PointResult {
    pub wire: &'static str,
    /// Bytes of the largest packet.
    pub packet: u16,
    /// Number of pairs.
    pub pairs: usize,
    /// The sum of all pairs.
    pub rate: f64,
    /// The rate of the slowest pair.
    pub lowest: f64,
    /// The rate that the wires allow to all pairs together; none if unknown.
    pub bound: Option<f64>,
}

impl NodeResult {
    /// Returns all nodes; `absent` has the errors of those without an agent.
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
    /// Returns the wire and the pairs of a group.
    pub fn new(group: &Group, names: &[&str]) -> Self {
        let pairs = group.pairs.iter().map(|&(a, b)| [names[a].to_owned(), names[b].to_owned()]);
        Self { wire: group.wire, pairs: pairs.collect() }
    }
}

impl PointResult {
    /// Creates the point of pairs that had these `rates`.
    pub fn new(wire: &'static str, packet: u16, rates: &[f64], bound: Option<f64>) -> Self {
        let lowest = rates.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0);
        Self { wire, packet, pairs: rates.len(), rate: rates.iter().sum(), lowest, bound }
    }
}

impl SweepResult {
    /// Returns the exit code of the command.
    pub fn exit(&self) -> Exit {
        let any = !self.points.is_empty();
        let whole = self.failed.is_empty() && self.nodes.iter().all(|node| node.end.is_ok());
        Exit::of_work(any && whole, any, self.measured.interrupted)
    }
}
