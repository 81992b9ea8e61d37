//! The result object `garland.wires-sweep/2`.

use std::collections::BTreeMap;

use garland_analysis::conditions::Conditions;
use serde::Serialize;

use super::groups::Group;
use crate::wires::measured::{FailedPair, Measured};
use garland_results::head::{Head, NodeEnd, NodeVerdict};
use garland_terminal::failure::Exit;

/// Its kind and version.
pub const SCHEMA: &str = "garland.wires-sweep/2";

/// All of it.
#[derive(Serialize)]
pub struct SweepResult {
    /// What every result begins with.
    #[serde(flatten)]
    pub head: Head,
    /// What was measured.
    #[serde(flatten)]
    pub swept: Swept,
}

/// What was measured.
#[derive(Serialize)]
pub struct Swept {
    /// The nodes.
    pub nodes: Vec<NodeResult>,
    /// The wires, and the pairs that were measured on each.
    pub wires: Vec<WireResult>,
    /// The measurements.
    pub points: Vec<PointResult>,
    /// Pairs that were left out.
    pub failed: Vec<FailedPair>,
    /// How it was measured.
    #[serde(flatten)]
    pub measured: Measured,
}

/// A node.
#[derive(Serialize)]
pub struct NodeResult {
    pub name: String,
    #[serde(flatten)]
    pub end: NodeEnd,
    /// What about it may have an influence, as name and value.
    pub conditions: Conditions,
}

/// A wire.
#[derive(Serialize)]
pub struct WireResult {
    /// `local`, `remote` or `any`.
    pub wire: &'static str,
    /// Sender and receiver; so many pairs at once are the first so many.
    pub pairs: Vec<[String; 2]>,
}

/// So many pairs at once; rates are payload, in bytes per second.
#[derive(Serialize)]
pub struct PointResult {
    pub wire: &'static str,
    /// Bytes of the largest packet.
    pub packet: u16,
    /// How many pairs.
    pub pairs: usize,
    /// All of them together.
    pub rate: f64,
    /// The slowest of them.
    pub lowest: f64,
    /// What the wires allow to all of them together, where that is known.
    pub bound: Option<f64>,
}

impl NodeResult {
    /// All nodes; those without an agent have a reason for it in `absent`.
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
    /// A group's.
    pub fn new(group: &Group, names: &[&str]) -> Self {
        let pairs = group.pairs.iter().map(|&(a, b)| [names[a].to_owned(), names[b].to_owned()]);
        Self { wire: group.wire, pairs: pairs.collect() }
    }
}

impl PointResult {
    /// Of pairs that had `rates`.
    pub fn new(wire: &'static str, packet: u16, rates: &[f64], bound: Option<f64>) -> Self {
        let lowest = rates.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0);
        Self { wire, packet, pairs: rates.len(), rate: rates.iter().sum(), lowest, bound }
    }
}

impl Swept {
    /// The command's exit code.
    pub fn exit(&self) -> Exit {
        let some_failed =
            !self.failed.is_empty() || self.nodes.iter().any(|node| !node.end.is_ok());
        match () {
            () if self.measured.interrupted => Exit::Interrupted,
            () if self.points.is_empty() => Exit::Nothing,
            () if some_failed => Exit::SomeFailed,
            () => Exit::Done,
        }
    }
}
